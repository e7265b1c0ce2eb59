#include "api/appwrapper/expiry.h"

#include <fmt/format.h>

#include <boost/json/value.hpp>

#include "kube/json.h"
#include "kube/requests.h"
#include "kube/timestamp.h"

namespace muster::api {

namespace json = boost::json;

Time succeeded_at(const json::object& status) {
  const json::value all(status);
  if (kube::text_at(all, {"phase"}) != "Succeeded") return Time::never();
  for (const json::value& one : kube::items_at(all, {"conditions"})) {
    if (kube::text_at(one, {"type"}) != "QuotaReserved") continue;
    const auto read = kube::parse_timestamp(kube::text_at(one, {"lastTransitionTime"}), "");
    if (read) return *read;
  }
  return Time::never();
}

void WrapperExpiry::set(const std::string& job, Entry entry) {
  forget(job);
  due_.insert({entry.at, job});
  entries_[job] = std::move(entry);
}

void WrapperExpiry::forget(const std::string& job) {
  const auto at = entries_.find(job);
  if (at == entries_.end()) return;
  due_.erase({at->second.at, job});
  entries_.erase(at);
}

void WrapperExpiry::delete_due(Time now) {
  constexpr Duration try_again = minutes(1);
  while (!due_.empty() && due_.begin()->first <= now) {
    const std::string job = due_.begin()->second;
    Entry entry = entries_.at(job);
    entry.at = now + try_again;
    kube::DeleteOptions options;
    options.uid = entry.uid;
    options.propagation = "Background";
    client_.send_later(
        kube::delete_request(appwrappers(entry.key.group), entry.key.ns, entry.key.name, options),
        [say = say_, key = entry.key](const kube::Reply<json::value>& gone) {
          if (gone || gone.error().is_not_found()) return;
          say(fmt::format("AppWrapper {}/{} succeeded long ago and cannot be deleted: {}", key.ns,
                          key.name, gone.error().message));
        });
    set(job, std::move(entry));
  }
}

}  // namespace muster::api
