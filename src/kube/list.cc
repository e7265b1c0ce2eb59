#include "kube/list.h"

#include <utility>

#include "kube/json.h"

namespace muster::kube {

Reply<ObjectList> list_all(Client& client, const Resource& resource, std::string_view ns,
                           ListOptions options) {
  ObjectList all;
  while (true) {
    auto page = client.send(list_request(resource, ns, options));
    if (!page) {
      if (!page.error().is_gone() || options.continue_token.empty()) return page.error();
      options.continue_token.clear();
      options.limit = 0;
      all = {};
      continue;
    }
    for (const boost::json::value& item : items_at(*page, {"items"})) all.items.push_back(item);
    all.resource_version = version_of(*page);
    options.continue_token = text_at(*page, {"metadata", "continue"});
    if (options.continue_token.empty()) return all;
  }
}

}  // namespace muster::kube
