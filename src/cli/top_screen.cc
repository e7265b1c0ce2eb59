#include "cli/top_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "cli/gpus.h"
#include "cli/jobs.h"
#include "cli/table.h"
#include "cli/words.h"

namespace muster::cli {
namespace {

struct Gpus {
  double total = 0;
  double idle = 0;
};

double as_number(const std::string& text) {
  double value = 0;
  const auto parsed = parse_json(text);
  if (parsed && parsed->is_number()) value = parsed->to_number<double>();
  return value;
}

Gpus all_gpus(const json::array& clusters) {
  Gpus sum;
  for (const json::value& cluster : clusters) {
    for (const auto& member : members(cluster, "gpus")) {
      sum.total += as_number(text(member.value(), "total"));
      sum.idle += as_number(amount(field(member.value(), "idle")));
    }
  }
  return sum;
}

std::string bar(double part, std::size_t width) {
  const auto filled =
      static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * static_cast<double>(width));
  return "[" + std::string(filled, '|') + std::string(width - filled, ' ') + "]";
}

std::vector<std::string> head(const TopView& view, const Screen& screen, Time now) {
  std::map<std::string, int> states;
  for (const json::value& job : view.jobs) ++states[lower(text(job, "state"))];
  std::int64_t waiting = 0;
  for (const json::value& queue : view.queues) waiting += number(queue, "waiting").value_or(0);
  const Gpus gpus = all_gpus(view.clusters);
  const double used = gpus.total - gpus.idle;
  std::vector<std::string> lines;
  lines.push_back(painted("muster", Paint::Bold, screen.color) +
                  fmt::format("  {}  {}", view.url, moment({now.ms / 1000 * 1000})));
  if (!view.trouble.empty())
    lines.push_back(painted(cut(one_line(view.trouble), static_cast<std::size_t>(screen.columns)),
                            Paint::Bad, screen.color));
  std::string jobs = fmt::format("jobs  {} waiting", waiting);
  for (const char* state : {"starting", "running", "stopping", "held"}) {
    if (states[state] > 0)
      jobs += fmt::format(", {}{} {}", states[state], view.more ? "+" : "", state);
  }
  lines.push_back(jobs);
  if (gpus.total > 0)
    lines.push_back(fmt::format("GPUs  {} {:.1f}% of {:.0f}", bar(used / gpus.total, 30),
                                100 * used / gpus.total, gpus.total));
  return lines;
}

void add_lines(std::vector<std::string>& lines, const std::string& text) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end == std::string::npos ? text.size() : end + 1;
  }
}

std::string clusters_text(const TopView& view, const Layout& layout) {
  Table table(
      {{"CLUSTER"}, {"HEALTH"}, {"NODES", true}, {"JOBS", true}, {"GPUS IDLE", false, true}});
  for (const json::value& cluster : view.clusters) {
    const std::string health = text(cluster, "health");
    table.add({text(cluster, "name"), Cell(health, paint_of_health(health)),
               fmt::format("{}/{}", text(cluster, "nodes_usable"), text(cluster, "nodes")),
               text(cluster, "jobs"), gpus_text(cluster)});
  }
  return table.to_text(layout);
}

std::string queues_text(const TopView& view, const Layout& layout) {
  std::vector<json::value> busy;
  for (const json::value& queue : view.queues) {
    if (number(queue, "waiting").value_or(0) > 0 || !members(queue, "use").empty())
      busy.push_back(queue);
  }
  std::sort(busy.begin(), busy.end(), [](const json::value& a, const json::value& b) {
    const auto first = number(a, "waiting").value_or(0);
    const auto second = number(b, "waiting").value_or(0);
    return first != second ? first > second : text(a, "name") < text(b, "name");
  });
  if (busy.size() > 6) busy.resize(6);
  Table table({{"QUEUE"}, {"WAITING", true}, {"RUNNING", true}, {"USE", false, true}});
  for (const json::value& queue : busy)
    table.add({text(queue, "name"), text(queue, "waiting"), text(queue, "running"),
               amounts(members(queue, "use"))});
  return table.to_text(layout);
}

bool is_active_job(const json::value& job) {
  const std::string state = text(job, "state");
  return state != "Waiting" && state != "Held";
}

std::string jobs_text(const TopView& view, const Layout& layout, Time now) {
  Table table({{"JOB"},
               {"NAME", false, true},
               {"USER", false, true},
               {"QUEUE"},
               {"STATE"},
               {"GPUS", true},
               {"FOR", true},
               {"WHERE", false, true}});
  // Those that run come first: they are what a screen is looked at for.
  std::vector<const json::value*> rows;
  for (const bool active : {true, false}) {
    for (const json::value& job : view.jobs) {
      if (is_active_job(job) == active) rows.push_back(&job);
    }
  }
  for (const json::value* job : rows) {
    const std::string state = text(*job, "state");
    const Time started = time_of(*job, "started_ms");
    const bool is_active = is_active_job(*job);
    const Time since = is_active && !started.is_never() ? started : time_of(*job, "submitted_ms");
    const std::string why = text(field(*job, "verdict"), "text");
    table.add({text(*job, "id"), text(*job, "name"), text(*job, "user"), text(*job, "queue"),
               Cell(lower(state), paint_of_state(state)), amount(field(*job, "gpus")),
               since.is_never() ? "" : rough(now - since),
               is_active ? text(*job, "cluster") : why});
  }
  return table.to_text(layout);
}

}  // namespace

std::string top_screen(const TopView& view, const Screen& screen, Time now) {
  const Layout layout{screen.columns, screen.color, true};
  std::vector<std::string> lines = head(view, screen, now);
  for (const std::string& part :
       {clusters_text(view, layout), queues_text(view, layout), jobs_text(view, layout, now)}) {
    if (part.empty()) continue;
    lines.emplace_back();
    add_lines(lines, part);
  }
  const auto rows = static_cast<std::size_t>(std::max(1, screen.rows));
  if (lines.size() > rows) lines.resize(rows);
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

}  // namespace muster::cli
