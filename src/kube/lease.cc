#include "kube/lease.h"

#include <future>
#include <utility>

#include "kube/json.h"
#include "kube/timestamp.h"

namespace muster::kube {

namespace {

namespace json = boost::json;

LeaseView view_of(const json::value& lease, const std::string& identity) {
  LeaseView view;
  view.holder = text_at(lease, {"spec", "holderIdentity"});
  view.is_held = view.holder == identity;
  view.transitions = integer_at(lease, {"spec", "leaseTransitions"});
  return view;
}

}  // namespace

json::value Lease::wanted(Time wall, const json::value* current, bool is_ours) const {
  json::value lease = current == nullptr ? json::value(json::object()) : *current;
  if (current == nullptr) {
    set_at(lease, {"apiVersion"}, "coordination.k8s.io/v1");
    set_at(lease, {"kind"}, "Lease");
    set_at(lease, {"metadata", "name"}, json::string(options_.name));
    set_at(lease, {"metadata", "namespace"}, json::string(options_.ns));
  }
  const json::string at(to_micro_timestamp(wall));
  set_at(lease, {"spec", "holderIdentity"}, json::string(options_.identity));
  set_at(lease, {"spec", "leaseDurationSeconds"}, options_.duration.ms / 1000);
  set_at(lease, {"spec", "renewTime"}, at);
  if (!is_ours) {
    set_at(lease, {"spec", "acquireTime"}, at);
    const std::int64_t transitions = integer_at(lease, {"spec", "leaseTransitions"});
    set_at(lease, {"spec", "leaseTransitions"}, current == nullptr ? 0 : transitions + 1);
  }
  return lease;
}

void Lease::try_later(Time now, Time wall, Done done) {
  ApiRequest request = get_request(resources::leases(), options_.ns, options_.name);
  request.timeout = options_.duration;
  request.may_retry = false;  // the caller's clock decides
  client_.send_later(request,
                     [this, now, wall, done = std::move(done)](const Reply<json::value>& found) {
                       take(now, wall, found, done);
                     });
}

void Lease::take(Time now, Time wall, const Reply<json::value>& found, const Done& done) {
  if (!found && !found.error().is_not_found()) return done(found.error());
  const LeaseView view = found ? view_of(*found, options_.identity) : LeaseView{};
  if (found && !view.is_held && !view.holder.empty()) {
    const std::string_view version = version_of(*found);
    if (version != seen_version_) {
      seen_version_ = version;
      seen_at_ = now;
    }
    const Duration theirs = seconds(integer_at(*found, {"spec", "leaseDurationSeconds"}, 15));
    if (now - seen_at_ < theirs) return done(view);
  }
  const json::value lease = wanted(wall, found ? &*found : nullptr, view.is_held);
  ApiRequest request = found
                           ? replace_request(resources::leases(), options_.ns, options_.name, lease)
                           : create_request(resources::leases(), options_.ns, lease);
  request.timeout = options_.duration;
  request.may_retry = false;
  client_.send_later(request, [identity = options_.identity, done](const Reply<json::value>& made) {
    // Another was faster: it has it, as far as we know.
    if (!made && made.error().code == 409) return done(LeaseView{});
    if (!made) return done(made.error());
    done(view_of(*made, identity));
  });
}

Reply<LeaseView> Lease::try_once(Time now, Time wall) {
  std::promise<Reply<LeaseView>> promise;
  try_later(now, wall, [&](Reply<LeaseView> view) { promise.set_value(std::move(view)); });
  return promise.get_future().get();
}

Reply<LeaseView> Lease::release() {
  const auto found = client_.send(get_request(resources::leases(), options_.ns, options_.name));
  if (!found) return found.error();
  const LeaseView view = view_of(*found, options_.identity);
  if (!view.is_held) return view;
  json::value lease = *found;
  set_at(lease, {"spec", "holderIdentity"}, "");
  set_at(lease, {"spec", "leaseDurationSeconds"}, 1);
  const auto made =
      client_.send(replace_request(resources::leases(), options_.ns, options_.name, lease));
  if (!made) return made.error();
  return view_of(*made, options_.identity);
}

}  // namespace muster::kube
