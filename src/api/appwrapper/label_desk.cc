#include "api/appwrapper/label_desk.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <string_view>
#include <utility>

#include "kube/json.h"
#include "kube/requests.h"

namespace muster::api {

namespace {

namespace json = boost::json;

constexpr std::string_view field_manager = "muster";
constexpr Duration first_pause = seconds(5);
constexpr Duration pause_most = minutes(5);

kube::ApiRequest patch_of(const LabelDesk::Wanted& wanted) {
  json::object labels;
  for (const auto& [name, value] : wanted.labels) labels[name] = value;
  const json::value patch = {
      {"metadata",
       {{"uid", wanted.uid}, {"resourceVersion", wanted.version}, {"labels", std::move(labels)}}}};
  return kube::patch_request(appwrappers(wanted.key.group), wanted.key.ns, wanted.key.name,
                             kube::Patch::Merge, patch,
                             {.field_manager = std::string(field_manager)});
}

}  // namespace

void LabelDesk::put(Wanted wanted) {
  if (wanted.labels.empty() || !jobs_.insert(wanted.job).second) return;
  write(std::move(wanted), first_pause);
}

void LabelDesk::write(Wanted wanted, Duration pause) {
  const kube::ApiRequest request = patch_of(wanted);
  parts_.client.send_later(kube::unread(request), [this, wanted = std::move(wanted),
                                                   pause](const kube::Reply<json::value>& put) {
    // What the API server does not take as a label it never takes.
    const bool is_over = put || put.error().is_not_found() || put.error().is_invalid();
    if (is_over) return parts_.later([this, job = wanted.job] { end(job); });
    again(wanted, pause);
  });
}

void LabelDesk::again(Wanted wanted, Duration pause) {
  parts_.later_after(pause, [this, wanted = std::move(wanted), pause] {
    if (!parts_.is_open(wanted.job)) return end(wanted.job);
    read(wanted, std::min(pause + pause, pause_most));
  });
}

/// Minutes may be over since they were wanted.
void LabelDesk::read(Wanted wanted, Duration pause) {
  const kube::ApiRequest request =
      kube::get_request(appwrappers(wanted.key.group), wanted.key.ns, wanted.key.name);
  parts_.client.send_later(
      request, [this, wanted = std::move(wanted), pause](const kube::Reply<json::value>& found) {
        if (!found && !found.error().is_not_found()) return again(wanted, pause);
        Wanted left = wanted;
        const bool is_it = found && kube::uid_of(*found) == wanted.uid;
        left.version = is_it ? kube::version_of(*found) : "";
        std::erase_if(left.labels, [&](const auto& label) {
          return !is_it || kube::find(*found, {"metadata", "labels", label.first}) != nullptr;
        });
        parts_.later([this, left = std::move(left), pause] {
          if (left.labels.empty()) return end(left.job);
          write(left, pause);
        });
      });
}

void LabelDesk::end(const std::string& job) { jobs_.erase(job); }

}  // namespace muster::api
