#include "cli/follow_log.h"

#include <fmt/format.h>

#include <utility>

#include "cli/words.h"

namespace muster::cli {

void LogPrinter::print(const json::value& line) {
  const bool to_err = !options_.all_to_out && text(line, "stream") == "err";
  const std::string source = text(line, "pod") + "/" + text(line, "stream");
  const std::string written = text(line, "text");
  std::string out;
  const bool marked = options_.pods || options_.times;
  if (marked && open_ != source) {
    if (!open_.empty()) out += "\n";
    if (options_.times) out += moment(time_of(line, "at_ms")) + " ";
    if (options_.pods) out += text(line, "pod") + " | ";
  }
  out += written;
  open_ = written.empty() || written.ends_with('\n') ? "" : source;
  to_err ? host_->err(out) : host_->out(out);
}

void LogPrinter::finish() {
  // What a program wrote is passed on to the byte, but a marked line is ours and has an end.
  if (!open_.empty() && (options_.pods || options_.times)) host_->out("\n");
  open_.clear();
}

Result<std::optional<json::value>> follow_log(Api& api, LogPrinter& printer, LogFollower follower) {
  std::optional<json::value> end;
  Follower each;
  each.on_pause = follower.on_pause;
  each.on_event = [&](const net::SseEvent& event) {
    const auto data = parse_json(event.data);
    if (!data) return Next::GoOn;
    if (event.type == "end") {
      end = *data;
      return Next::Stop;
    }
    if (event.type != "line") return Next::GoOn;
    if (follower.on_line) follower.on_line();
    follower.write ? follower.write(*data) : printer.print(*data);
    return Next::GoOn;
  };
  follower.query.emplace_back("follow", "true");
  const Status read =
      api.follow({.path = follower.path + "/logs", .query = std::move(follower.query)}, each);
  printer.finish();
  if (!read) return read.error();
  return end;
}

}  // namespace muster::cli
