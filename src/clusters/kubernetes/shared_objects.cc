#include "clusters/kubernetes/shared_objects.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "clusters/clock.h"
#include "clusters/kubernetes/names.h"
#include "kube/json.h"
#include "kube/requests.h"

namespace muster::clusters {

namespace {

namespace json = boost::json;
using kube::Reply;

constexpr Duration answered_within = seconds(3);

/// Of a priority class, which matters whoever made it; "": it is none.
std::string_view policy_of(const json::value& object) {
  return kube::text_at(object, {"preemptionPolicy"});
}

/// Whether what is there does as `wanted` would. One that does not say pushes pods away.
Reply<Ok> judged(const json::value& wanted, const json::value& there) {
  if (policy_of(wanted) == policy_of(there)) return Ok{};
  const std::string_view has = policy_of(there);
  kube::ApiError wrong;
  wrong.code = 403;
  wrong.reason = "Forbidden";
  wrong.message = fmt::format(
      "the priority class {} of this cluster has the preemptionPolicy {}: pods with it would push "
      "others away; delete it, and it is made again with {}",
      kube::name_of(wanted), has.empty() ? "PreemptLowerPriority" : has, policy_of(wanted));
  return wrong;
}

}  // namespace

class SharedObjects::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(kube::Client& client, Duration trusted_for) : client_(client), trusted_for_(trusted_for) {}

  struct How {
    bool may_be_old = false;
    bool is_patient = false;
  };
  void need(const kube::Resource& resource, const json::value& object, How how, const Then& then) {
    const std::string key = resource.plural + "/" + kube::key_of(object);
    bool is_to_ask = false;
    bool is_there = false;
    {
      const std::lock_guard lock(mutex_);
      Known& known = known_[key];
      const bool is_fresh = known.is_there && steady_now() < known.until;
      is_there = is_fresh || (how.may_be_old && known.is_there);
      is_to_ask = !is_fresh && !std::exchange(known.is_asked, !is_fresh);
      if (!is_there) known.waiting.push_back(then);
    }
    if (is_there) then(Ok{});
    if (!is_to_ask) return;
    kube::ApiRequest request = kube::unread(kube::create_request(
        resource, kube::namespace_of(object), object, {.field_manager = field_manager}));
    request.is_patient = how.is_patient;
    create(key, resource, object, std::move(request));
  }

 private:
  struct Known {
    bool is_there = false;
    bool is_asked = false;  // the answer is to come
    Time until;
    std::vector<Then> waiting;
  };

  void create(const std::string& key, const kube::Resource& resource, const json::value& object,
              kube::ApiRequest request) {
    client_.send_later(std::move(request), [self = shared_from_this(), key, resource,
                                            object](const Reply<json::value>& made) {
      if (made) return self->answer(key, Ok{});
      const bool is_there = made.error().is_already_exists();
      if (is_there && policy_of(object).empty()) return self->answer(key, Ok{});
      if (!is_there && !made.error().is_forbidden()) return self->answer(key, made.error());
      self->look(key, resource, object, made.error());
    });
  }

  /// Somebody else made it, or has to.
  void look(const std::string& key, const kube::Resource& resource, const json::value& object,
            const kube::ApiError& why) {
    client_.send_later(
        kube::get_request(resource, std::string(kube::namespace_of(object)),
                          std::string(kube::name_of(object))),
        [self = shared_from_this(), key, object, why](const Reply<json::value>& found) {
          if (found && policy_of(object).empty()) return self->answer(key, Ok{});
          if (found) return self->answer(key, judged(object, *found));
          self->answer(key, why.is_forbidden() ? why : found.error());
        });
  }

  void answer(const std::string& key, const Reply<Ok>& there) {
    std::vector<Then> waiting;
    {
      const std::lock_guard lock(mutex_);
      Known& known = known_[key];
      known.is_there = there.ok();
      known.is_asked = false;
      known.until = steady_now() + trusted_for_;
      waiting.swap(known.waiting);
    }
    for (const Then& then : waiting) then(there);
  }

  kube::Client& client_;
  const Duration trusted_for_;
  std::mutex mutex_;
  std::map<std::string, Known> known_;  // guarded by mutex_
};

SharedObjects::SharedObjects(kube::Client& client, Duration trusted_for)
    : core_(std::make_shared<Core>(client, trusted_for)) {}
SharedObjects::~SharedObjects() = default;
void SharedObjects::need(const kube::Resource& resource, const json::value& object,
                         const Then& then) {
  core_->need(resource, object, {}, then);
}
void SharedObjects::rely_on(const kube::Resource& resource, const json::value& object,
                            const Then& then) {
  core_->need(resource, object, {.may_be_old = true}, then);
}
void SharedObjects::need_last(const kube::Resource& resource, const json::value& object,
                              const Then& then) {
  core_->need(resource, object, {.may_be_old = true, .is_patient = true}, then);
}

void remove_peers(kube::Client& client, const std::string& ns, const std::string& server) {
  const auto soon = [](kube::ApiRequest request) {
    request.timeout = answered_within;
    request.may_retry = false;
    return request;
  };
  const auto services = client.send(soon(kube::list_request(
      kube::resources::services(), ns, {.label_selector = peers_selector(server)})));
  if (!services) return;
  std::map<std::string, std::vector<std::string>> by_namespace;
  for (const json::value& service : kube::items_at(*services, {"items"}))
    by_namespace[std::string(kube::namespace_of(service))].emplace_back(kube::name_of(service));
  for (const auto& [home, names] : by_namespace) {
    const auto pods = client.send(
        soon(kube::list_request(kube::resources::pods(), home,
                                {.label_selector = server_selector(server),
                                 .field_selector = "status.phase!=Succeeded,status.phase!=Failed",
                                 .limit = 1})));
    if (!pods) return;
    if (!kube::items_at(*pods, {"items"}).empty()) continue;
    for (const std::string& name : names) {
      const auto gone =
          client.send(soon(kube::delete_request(kube::resources::services(), home, name)));
      if (!gone && !gone.error().is_not_found()) return;  // no contact, or no permission
    }
  }
}

}  // namespace muster::clusters
