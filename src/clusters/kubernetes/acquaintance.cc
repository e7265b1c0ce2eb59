#include "clusters/kubernetes/acquaintance.h"

#include <utility>

#include "clusters/kubernetes/join_check.h"
#include "kube/json.h"
#include "kube/requests.h"
#include "kube/whoami.h"

namespace muster::clusters {

namespace {

constexpr Duration pause = minutes(5);

void take(std::string& ours, std::string said) {
  if (!said.empty()) ours = std::move(said);
}

}  // namespace

void Acquaintance::pass(kube::Client& client, bool is_reached, Time now) {
  if (!is_reached) next_ = now;  // it may come back as another version
  if (!is_reached || now < next_) return;
  next_ = now + pause;
  if (identity().empty()) ask_identity(client);
  kube::whoami_later(client, [this](kube::Whoami said) {
    const std::lock_guard lock(mutex_);
    take(about_.version, std::move(said.version));
    take(about_.user, std::move(said.user));
  });
}

void Acquaintance::ask_identity(kube::Client& client) {
  client.send_later(kube::get_request(kube::resources::namespaces(), "", identity_namespace),
                    [this](const kube::Reply<boost::json::value>& found) {
                      if (!found) return;
                      const std::lock_guard lock(mutex_);
                      identity_ = kube::uid_of(*found);
                    });
}

std::string Acquaintance::identity() const {
  const std::lock_guard lock(mutex_);
  return identity_;
}

ports::ClusterAbout Acquaintance::about() const {
  const std::lock_guard lock(mutex_);
  return about_;
}

}  // namespace muster::clusters
