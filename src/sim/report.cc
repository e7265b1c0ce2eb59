#include "sim/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "sim/chart.h"

namespace muster::sim {
namespace {

constexpr std::size_t steps = 240;
constexpr std::size_t gantt_rows = 36;
const std::string other_queue = "other";

constexpr const char* style = R"(
:root {
  --bg: #f6f7f9; --card: #fff; --ink: #1c2430; --soft: #667085; --line: #e4e7ec;
  --c0: #3366cc; --c1: #e07b39; --c2: #2a9d6f; --c3: #a84fb0;
  --c4: #c9a227; --c5: #4aa3c7; --c6: #c2475b; --c7: #7a8290;
}
@media (prefers-color-scheme: dark) {
  :root {
    --bg: #12161c; --card: #1a2029; --ink: #e6e9ee; --soft: #98a2b3; --line: #2b3440;
    --c0: #6d9bff; --c1: #f0995c; --c2: #4cc795; --c3: #cc7fd3;
    --c4: #e0bf4d; --c5: #74c4e4; --c6: #e8798a; --c7: #9aa3b2;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--bg); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
}
main { max-width: 1040px; margin: 0 auto; padding: 32px 20px 60px; }
h1 { font-size: 26px; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 0 0 2px; }
.sub { color: var(--soft); margin: 2px 0 22px; }
.note { color: var(--soft); font-size: 13px; margin: 0 0 10px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; }
.tile, .card {
  background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px;
}
.card { margin-top: 16px; padding: 18px 20px; }
.tile b {
  display: block; font-size: 23px; font-weight: 650; font-variant-numeric: tabular-nums;
}
.tile span { color: var(--soft); font-size: 13px; }
.bad { border-color: var(--c6); color: var(--c6); }
svg { width: 100%; height: auto; display: block; }
.tick { fill: var(--soft); font-size: 11px; }
.grid { stroke: var(--line); stroke-width: 1; }
.wait { stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 2 3; opacity: .7; }
.soft { opacity: .13; }
.cut { opacity: .4; }
polyline { fill: none; stroke-width: 2; stroke-linejoin: round; }
.dashed { stroke-dasharray: 7 5; }
.legend {
  display: flex; flex-wrap: wrap; gap: 4px 16px; font-size: 13px; color: var(--soft);
  margin: 0 0 8px;
}
.legend i {
  display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 6px;
}
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 5px 10px; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 500; }
th:first-child, td:first-child { text-align: left; }
ul { margin: 0; padding-left: 0; list-style: none; }
li { display: flex; gap: 14px; padding: 2px 0; }
li time { color: var(--soft); font-variant-numeric: tabular-nums; }
)";

std::string colours() {
  std::string css;
  for (int i = 0; i < 8; ++i)
    css += fmt::format(
        ".f{0}{{fill:var(--c{0})}}.s{0}{{stroke:var(--c{0})}}.b{0}{{background:var(--c{0})}}\n", i);
  return css;
}

std::string short_time(Duration d) {
  const std::int64_t s = d.ms / 1000;
  if (d.ms == 0) return "0";
  if (d.ms < 1000) return fmt::format("{} ms", d.ms);
  if (s < 120) return fmt::format("{} s", s);
  if (s < 7200) return fmt::format("{} min", s / 60);
  if (s < 172'800) return fmt::format("{}.{} h", s / 3600, s % 3600 / 360);
  return fmt::format("{}.{} days", s / 86'400, s % 86'400 / 8640);
}

/// Five to ten round times over the whole width.
std::vector<Tick> time_ticks(Time end) {
  constexpr std::array<std::int64_t, 14> nice = {
      1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 21600, 86'400, 604'800, 1'209'600, 2'592'000};
  const std::int64_t span = std::max<std::int64_t>(1, end.ms / 1000);
  std::int64_t each = nice.back();
  for (const std::int64_t candidate : nice) {
    if (span / candidate <= 9) {
      each = candidate;
      break;
    }
  }
  std::vector<Tick> ticks;
  for (std::int64_t t = 0; t <= span; t += each)
    ticks.push_back({static_cast<double>(t) / static_cast<double>(span), short_time(seconds(t))});
  return ticks;
}

struct Picture {
  const Workload& workload;
  const Outcome& outcome;
  Summary summary;
  std::map<std::string, std::string> top;
  std::vector<std::string> queues;  // top queues, by name; last "other", if a job is in none
  std::vector<Tick> ticks;

  std::size_t queue_of(std::uint32_t job) const {
    const auto it = top.find(workload.jobs[job].spec.queue);
    const auto found =
        std::find(queues.begin(), queues.end(), it == top.end() ? other_queue : it->second);
    return static_cast<std::size_t>(found - queues.begin());
  }
  double weight_of(const std::string& queue) const {
    const auto& all = workload.queues;
    const auto it = std::find_if(all.begin(), all.end(),
                                 [&](const model::QueueSpec& spec) { return spec.name == queue; });
    return it == all.end() ? 0 : it->weight;
  }
  double share_of(Time t) const {
    return static_cast<double>(t.ms) /
           static_cast<double>(std::max<std::int64_t>(1, outcome.end.ms));
  }
};

/// Adds amount x time of a run to the steps it covers.
void spread(std::vector<double>& into, double from, double to, double held) {
  const double scale = static_cast<double>(into.size());
  const double a = from * scale;
  const double b = to * scale;
  for (auto i = static_cast<std::size_t>(a); i < into.size() && static_cast<double>(i) < b; ++i) {
    const double start = std::max(a, static_cast<double>(i));
    const double stop = std::min(b, static_cast<double>(i + 1));
    into[i] += held * (stop - start);
  }
}

template <typename GroupOf>
std::vector<std::vector<double>> over_time(const Picture& p, std::size_t groups, GroupOf group_of) {
  std::vector<std::vector<double>> sums(groups, std::vector<double>(steps, 0.0));
  for (const Run& run : p.outcome.runs) {
    const std::size_t group = group_of(run);
    if (group < groups)
      spread(sums[group], p.share_of(run.created), p.share_of(std::min(run.ended, p.outcome.end)),
             static_cast<double>(amount(run, p.summary.by_gpu)));
  }
  return sums;
}

std::string card(const std::string& title, const std::string& note, const std::string& body) {
  return fmt::format("<section class=\"card\"><h2>{}</h2><p class=\"note\">{}</p>{}</section>\n",
                     title, note, body);
}

std::string utilisation(const Picture& p) {
  const std::size_t n = p.workload.clusters.size();
  auto sums = over_time(p, n, [](const Run& run) { return std::size_t{run.cluster}; });
  std::vector<Series> series;
  std::vector<std::string> names;
  for (std::size_t c = 0; c < n; ++c) {
    double capacity = 0;
    for (const Machine& machine : p.workload.machines) {
      if (machine.cluster != p.workload.clusters[c].name) continue;
      capacity += p.summary.by_gpu ? machine.node.gpu_count * 1000.0
                                   : static_cast<double>(machine.node.allocatable.cpu.v);
    }
    for (double& value : sums[c]) value = capacity > 0 ? value / capacity : 0;
    names.push_back(p.workload.clusters[c].name);
    series.push_back({names.back(), std::move(sums[c])});
  }
  return card(p.summary.by_gpu ? "GPUs in use" : "Cores in use", "of each cluster, over time",
              legend(names) + line_chart(series, p.ticks));
}

/// What each queue may have by its weight, among those that want something at that time: whose
/// jobs have come and not ended.
std::vector<std::vector<double>> entitled(const Picture& p) {
  std::vector<Time> over(p.workload.jobs.size(), p.outcome.end);
  for (const Run& run : p.outcome.runs) {
    const bool last = run.how == End::Succeeded || run.how == End::Failed;
    if (last) over[run.job] = std::min(run.ended, p.outcome.end);
  }
  std::vector<std::vector<double>> shares(p.queues.size(), std::vector<double>(steps, 0.0));
  for (std::uint32_t job = 0; job < p.workload.jobs.size(); ++job) {
    const std::size_t queue = p.queue_of(job);
    if (queue < shares.size())
      spread(shares[queue], p.share_of(p.workload.jobs[job].submit), p.share_of(over[job]), 1);
  }
  for (std::size_t i = 0; i < steps; ++i) {
    double total = 0;
    for (std::size_t q = 0; q < shares.size(); ++q) {
      shares[q][i] = shares[q][i] > 0 ? p.weight_of(p.queues[q]) : 0;
      total += shares[q][i];
    }
    for (auto& share : shares) share[i] = total > 0 ? share[i] / total : 0;
  }
  return shares;
}

std::string fairness(const Picture& p) {
  auto sums = over_time(p, p.queues.size(), [&](const Run& run) { return p.queue_of(run.job); });
  for (std::size_t i = 0; i < steps; ++i) {
    double total = 0;
    for (const auto& sum : sums) total += sum[i];
    for (auto& sum : sums) sum[i] = total > 0 ? sum[i] / total : 0;
  }
  std::vector<Series> series;
  for (std::size_t q = 0; q < p.queues.size(); ++q)
    series.push_back({p.queues[q], std::move(sums[q])});
  auto shares = entitled(p);
  std::vector<Series> lines;
  for (std::size_t q = 0; q < p.queues.size(); ++q)
    lines.push_back({p.queues[q] + " is entitled to", std::move(shares[q])});
  std::string table = fmt::format(
      "<table><tr><th>queue</th><th>jobs</th><th>{}-hours</th><th>median wait</th>"
      "<th>90% waited less than</th></tr>",
      p.summary.by_gpu ? "GPU" : "core");
  for (const QueueSummary& q : p.summary.queues)
    table += fmt::format("<tr><td>{}</td><td>{}</td><td>{:.1f}</td><td>{}</td><td>{}</td></tr>",
                         escape(q.name), q.jobs, q.hours, short_time(q.wait_median),
                         short_time(q.wait_p90));
  return card("Who uses the fleet", "share of what is in use, by top queue",
              legend(p.queues) + stacked_chart(series, p.ticks) +
                  "<p class=\"note\">the same as lines; dashed: what a queue is entitled to by its "
                  "weight, among those that want something</p>" +
                  line_chart(series, p.ticks, lines) + table + "</table>");
}

std::string waiting(const Picture& p) {
  constexpr std::array<std::int64_t, 11> edges_s = {1,    5,    30,    60,     300,   900,
                                                    1800, 3600, 14400, 43'200, 86'400};
  std::vector<Bar> bars;
  std::size_t at = 0;
  for (std::size_t i = 0; i <= edges_s.size(); ++i) {
    const bool last = i == edges_s.size();
    std::size_t count = 0;
    while (at < p.summary.waits.size() && (last || p.summary.waits[at] < seconds(edges_s[i]))) {
      ++at;
      ++count;
    }
    const std::string label = last ? "more" : "< " + short_time(seconds(edges_s[i]));
    bars.push_back({label, static_cast<double>(count), fmt::format("{}: {}", label, count)});
  }
  while (bars.size() > 1 && bars.back().height == 0) bars.pop_back();
  return card("Waiting time", "jobs by the time from submit to first start",
              bar_chart(bars, "jobs"));
}

std::string gangs(const Picture& p) {
  std::map<std::uint32_t, std::vector<const Run*>> runs;
  for (const Run& run : p.outcome.runs) runs[run.job].push_back(&run);
  std::vector<std::pair<std::int64_t, std::uint32_t>> order;  // largest first
  for (const auto& [job, list] : runs)
    order.emplace_back(-amount(*list.front(), p.summary.by_gpu), job);
  std::sort(order.begin(), order.end());
  if (order.size() > gantt_rows) order.resize(gantt_rows);
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<GanttRow> rows;
  for (const auto& [size, job] : order) {
    const SimJob& spec = p.workload.jobs[job];
    GanttRow row{spec.spec.id, p.share_of(spec.submit), {}};
    for (const Run* run : runs[job]) {
      const Time end = std::min(run->ended, p.outcome.end);
      const bool cut = run->how == End::Removed || run->how == End::Lost;
      row.bars.push_back({p.share_of(run->created), p.share_of(end), p.queue_of(run->job), cut,
                          fmt::format("{} attempt {} in {}: {:.1f} {}, {} nodes, {}{}", row.label,
                                      run->attempt, p.workload.clusters[run->cluster].name,
                                      static_cast<double>(amount(*run, p.summary.by_gpu)) / 1000.0,
                                      p.summary.by_gpu ? "GPUs" : "cores", run->nodes.size(),
                                      short_time(end - run->created), cut ? ", cut short" : "")});
    }
    rows.push_back(std::move(row));
  }
  return card("The largest gangs",
              "dotted: waiting; pale: an attempt that made room or lost its node; colour: queue",
              legend(p.queues) + gantt_chart(rows, p.ticks));
}

std::string estimates(const Picture& p) {
  const sched::EstimateScore& e = p.outcome.estimates;
  if (e.scored == 0) return "";
  std::vector<Bar> bars;
  for (std::size_t i = 2; i < e.ratio.size() - 1; ++i) {
    const int power = static_cast<int>(i) - 8;
    const std::string label =
        power < 0 ? fmt::format("1/{}", 1 << -power) : fmt::format("{}x", 1 << power);
    bars.push_back(
        {label, static_cast<double>(e.ratio[i]), fmt::format("{}: {}", label, e.ratio[i])});
  }
  const auto percent = [&](std::uint64_t n) {
    return 100.0 * static_cast<double>(n) / static_cast<double>(e.scored);
  };
  return card(
      "Were the estimates right?",
      fmt::format("the start promised at submit against the real one, {} jobs: {:.0f}% inside "
                  "the band, {:.0f}% earlier, {:.0f}% later; off by {} on average. Bars: real "
                  "wait as a multiple of the promised one",
                  e.scored, percent(e.inside_band), percent(e.early), percent(e.late),
                  short_time(Duration{e.error_sum_ms / static_cast<std::int64_t>(e.scored)})),
      bar_chart(bars, "jobs"));
}

std::string moments(const Picture& p) {
  if (p.outcome.moments.empty()) return "";
  std::string list = "<ul>";
  for (const Moment& moment : p.outcome.moments) {
    list += fmt::format("<li><time>{}</time><span>{}</span></li>", clock_text(moment.at),
                        escape(moment.what));
  }
  const std::size_t kept = p.outcome.moments.size();
  const std::string note =
      p.outcome.moments_more == 0
          ? fmt::format("{} moments", kept)
          : fmt::format("the first {} of {} moments", kept, kept + p.outcome.moments_more);
  return card("What happened", note, list + "</ul>");
}

std::string tiles(const Picture& p) {
  const Summary& s = p.summary;
  std::string html = "<div class=\"tiles\">";
  const auto tile = [&](const std::string& value, const std::string& what) {
    html += fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>", value, what);
  };
  const auto succeeded = p.outcome.states.find("Succeeded");
  tile(fmt::format("{}/{}", succeeded == p.outcome.states.end() ? 0 : succeeded->second, s.jobs),
       "jobs succeeded");
  tile(fmt::format("{:.1f}%", s.use * 100),
       s.by_gpu ? "of GPUs in use while jobs arrived" : "of cores in use while jobs arrived");
  tile(short_time(s.wait(50)), "median wait");
  tile(short_time(s.wait(90)), "90% waited less");
  tile(fmt::format("{}", s.stopped), "attempts made room");
  tile(fmt::format("{:.1f}%", s.hours > 0 ? 100 * s.hours_lost / s.hours : 0),
       "of work lost to that and failures");
  return html + "</div>";
}

}  // namespace

std::string html_report(const Workload& workload, const Outcome& outcome, std::uint64_t seed) {
  Picture p{workload, outcome, summarize(workload, outcome), top_queues(workload), {}, {}};
  bool others = false;
  for (const QueueSummary& queue : p.summary.queues) {
    // Names of queues that the workload does not have stand in the table, not in the pictures.
    const bool known = p.top.contains(queue.name);
    if (known) p.queues.push_back(queue.name);
    others = others || !known;
  }
  if (others) p.queues.push_back(other_queue);
  p.ticks = time_ticks(outcome.end);
  std::string html = fmt::format(
      "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>Muster: "
      "{0}</title><style>{1}{2}</style><main><h1>{0}</h1>"
      "<p class=\"sub\">{3} jobs on {4} nodes with {5:.0f} {6} in {7} clusters, {8} of virtual "
      "time. Seed {9}, "
      "trace {10:016x}.</p>",
      escape(workload.name), style, colours(), p.summary.jobs, p.summary.nodes,
      static_cast<double>(p.summary.capacity_milli) / 1000.0, p.summary.by_gpu ? "GPUs" : "cores",
      workload.clusters.size(), short_time(Duration{outcome.end.ms}), seed, outcome.hash);
  if (!outcome.violation.empty())
    html += fmt::format("<div class=\"card bad\">A rule was broken: {}</div>",
                        escape(outcome.violation));
  html +=
      tiles(p) + utilisation(p) + fairness(p) + waiting(p) + gangs(p) + estimates(p) + moments(p);
  return html + "</main></html>\n";
}

}  // namespace muster::sim
