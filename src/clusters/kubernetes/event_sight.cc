#include "clusters/kubernetes/event_sight.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "kube/json.h"
#include "kube/timestamp.h"

namespace muster::clusters {

namespace {

/// Normal ones of every gang that starts and ends.
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

bool is_worth_telling(const EventSight& event) {
  return event.is_warning ||
         std::find(expected.begin(), expected.end(), event.reason) == expected.end();
}

}  // namespace muster::clusters
