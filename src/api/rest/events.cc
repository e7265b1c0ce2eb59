// GET /events.
#include <algorithm>
#include <utility>
#include <vector>

#include "api/rest/answers.h"
#include "api/rest/api.h"
#include "base/text.h"
#include "view/event_json.h"

namespace muster::api {
namespace {

constexpr std::int64_t sequence_most = std::int64_t{1} << 60;

Result<Listen> listen_of(const net::Request& request) {
  if (Status known = only_query(request, {"from", "job", "kind", "follow"}); !known)
    return known.error();
  Listen what;
  what.filter.job = request.query_value("job");
  if (const std::string_view kinds = request.query_value("kind"); !kinds.empty()) {
    const std::vector<std::string_view> known = view::event_kinds();
    for (const std::string_view kind : split(kinds, ',')) {
      if (std::find(known.begin(), known.end(), kind) == known.end()) {
        const std::string near = nearest(kind, known);
        return invalid(fmt::format("kind: there is no kind \"{}\"{}", kind,
                                   near.empty() ? "" : fmt::format("; did you mean {}?", near)));
      }
      what.filter.kinds.emplace(kind);
    }
  }
  const auto follow = query_bool(request, "follow", true);
  if (!follow) return follow.error();
  what.follow = *follow;
  const auto from = query_int(request, "from", 1, sequence_most, 0);
  if (!from) return from.error();
  if (*from > 0) what.from = static_cast<std::uint64_t>(*from);
  if (const std::string_view last = request.headers.get("Last-Event-ID"); !last.empty()) {
    const auto after = parse_int(last, "last_event_id", 0, sequence_most);
    if (!after) return after.error();
    what.from = static_cast<std::uint64_t>(*after) + 1;
  }
  return what;
}

}  // namespace

void add_event_routes(net::Router& router, Backend& backend) {
  add_route(router, "GET", "/events", [&backend](const CallPtr& call) {
    auto what = listen_of(call->request);
    if (!what) {
      call->answer(what.error());
      return;
    }
    backend.events.listen(
        std::move(*what), [call] { return call->responder.event_stream(); },
        [call](const Error& error) {
          if (error.fault != Fault::NotFound) {
            call->answer(error);
            return;
          }
          call->responder.send(fail(call->request, {.status = 410,
                                                    .message = error.message,
                                                    .field = "from",
                                                    .fix = "list the jobs, then listen from now "
                                                           "on"}));
        });
  });
}

}  // namespace muster::api
