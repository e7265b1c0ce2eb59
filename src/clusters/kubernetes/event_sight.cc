#include "clusters/kubernetes/event_sight.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "kube/json.h"
#include "kube/timestamp.h"

namespace muster::clusters {

namespace {

/// Of every gang that starts and ends; none of these reasons is that of a warning.
constexpr std::array<std::string_view, 9> expected = {
    "Scheduled", "Created",   "Started", "SuccessfulCreate", "SuccessfulDelete",
    "Completed", "Suspended", "Resumed", "Killing"};

/// The first of these that is there.
Time first_time(const boost::json::value& event) {
  for (const std::string_view text :
       {kube::text_at(event, {"firstTimestamp"}), kube::text_at(event, {"eventTime"}),
        kube::text_at(event, {"metadata", "creationTimestamp"})}) {
    if (text.empty()) continue;
    if (const auto at = kube::parse_timestamp(text, "at")) return *at;
  }
  return {};
}

}  // namespace

EventSight event_sight_of(const boost::json::value& event) {
  EventSight sight;
  sight.uid = kube::uid_of(event);
  sight.kind = kube::text_at(event, {"involvedObject", "kind"});
  sight.ns = kube::text_at(event, {"involvedObject", "namespace"});
  sight.name = kube::text_at(event, {"involvedObject", "name"});
  sight.reason = kube::text_at(event, {"reason"});
  sight.message = kube::text_at(event, {"message"});
  sight.is_warning = kube::text_at(event, {"type"}) == "Warning";
  sight.at = first_time(event);
  return sight;
}

std::string worth_telling_selector() {
  std::string selector;
  for (const std::string_view reason : expected)
    selector += fmt::format("{}reason!={}", selector.empty() ? "" : ",", reason);
  return selector;
}

}  // namespace muster::clusters
