// All objects of a list, read page by page.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <vector>

#include "kube/client.h"

namespace muster::kube {

struct ObjectList {
  std::vector<boost::json::value> items = {};
  std::string resource_version = {};  // from which a watch goes on
};

/// Waits. The limit of the options is the size of a page. When the server forgets the list in the
/// middle (410), it is read again in one piece.
Reply<ObjectList> list_all(Client& client, const Resource& resource, std::string_view ns,
                           ListOptions options = ListOptions{.limit = 500});

}  // namespace muster::kube
