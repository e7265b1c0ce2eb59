// Which Kubernetes answers, and as whom it knows us. Every user whom it knows may ask both.
#pragma once

#include <functional>
#include <string>

#include "kube/client.h"

namespace muster::kube {

struct Whoami {
  std::string version = {};  // "v1.34.4"; "": it did not say
  std::string user = {};     // "system:serviceaccount:team:bot"; "": likewise
  friend bool operator==(const Whoami&, const Whoami&) = default;
};

void whoami_later(Client& client, std::function<void(Whoami)> done);
/// Waits.
Whoami whoami(Client& client);

}  // namespace muster::kube
