// What a scenario prints: decisions, waiting jobs, usage, tables. Short, one line each, in a fixed
// order.
#include <fmt/format.h>

#include <algorithm>

#include "sched/estimate.h"
#include "sched/whatif.h"
#include "sim/scenario.h"
#include "sim/scenario_specs.h"
#include "view/explain.h"

namespace muster::sim {
namespace {

/// "0-3,5" for bits 0 1 2 3 5.
std::string devices_text(std::uint32_t devices) {
  std::string out;
  for (int d = 0; d < 32; ++d) {
    if (((devices >> d) & 1u) == 0) continue;
    int last = d;
    while (last + 1 < 32 && ((devices >> (last + 1)) & 1u) != 0) ++last;
    if (!out.empty()) out += ",";
    out += last == d ? fmt::format("{}", d) : fmt::format("{}-{}", d, last);
    d = last;
  }
  return out;
}

std::string_view why_text(model::StopWhy why) {
  switch (why) {
    case model::StopWhy::Priority:
      return "priority";
    case model::StopWhy::Reclaim:
      return "reclaim";
    case model::StopWhy::Drain:
      return "drain";
    case model::StopWhy::RunLimit:
      return "run-limit";
    case model::StopWhy::ClusterLost:
      return "cluster-lost";
  }
  return "";
}

std::string_view why_text(model::FailWhy why) {
  switch (why) {
    case model::FailWhy::DependencyFailed:
      return "dependency-failed";
    case model::FailWhy::DeadlinePassed:
      return "deadline-passed";
    case model::FailWhy::RetriesExhausted:
      return "retries-exhausted";
  }
  return "";
}

}  // namespace

std::string Scenario::since_now(Time t) const {
  if (t.is_never()) return "never";
  return fmt::format("{}{}", t >= now_ ? "+" : "", to_text(t - now_));
}

std::string Scenario::show(const model::Decision& decision) const {
  if (const auto* placed = std::get_if<model::Placed>(&decision)) {
    std::string out = fmt::format("place {} {}", placed->job, placed->cluster);
    if (!placed->pool.empty()) out += "/" + placed->pool;
    const sched::Job& job = world_.job(world_.find_job(placed->job));
    const auto& sets = world_.shapes[job.shape].gang.sets;
    for (const model::PodPlace& pod : placed->pods) {
      out += " ";
      if (sets.size() > 1) out += sets[pod.set].name + "@";
      out += pod.node;
      if (pod.devices != 0) out += ":" + devices_text(pod.devices);
    }
    return out;
  }
  if (const auto* stopped = std::get_if<model::Stopped>(&decision)) {
    return fmt::format("stop  {} {}{}", stopped->job, why_text(stopped->why),
                       stopped->beneficiary.empty() ? "" : " for " + stopped->beneficiary);
  }
  if (const auto* reserved = std::get_if<model::Reserved>(&decision)) {
    std::string nodes;
    for (const auto& node : reserved->nodes) nodes += (nodes.empty() ? "" : ",") + node;
    return fmt::format("keep  {} {} {}{} {}", reserved->job, reserved->cluster,
                       since_now(reserved->start), reserved->preempting ? " preempting" : "",
                       nodes);
  }
  if (const auto* dropped = std::get_if<model::ReservationDropped>(&decision)) {
    return fmt::format("drop  {}", dropped->job);
  }
  const auto& given_up = std::get<model::GivenUp>(decision);
  return fmt::format("give-up {} {}", given_up.job, why_text(given_up.why));
}

std::string Scenario::show_waiting() {
  std::vector<sched::JobSlot> waiting;
  for (std::uint32_t i = 0; i < world_.job_count(); ++i) {
    const model::JobState state = world_.job(sched::JobSlot{i}).state;
    if (state == model::JobState::Waiting || state == model::JobState::Held)
      waiting.push_back(sched::JobSlot{i});
  }
  std::sort(waiting.begin(), waiting.end(), [&](sched::JobSlot a, sched::JobSlot b) {
    const sched::Job& x = world_.job(a);
    const sched::Job& y = world_.job(b);
    return std::tie(x.seq, x.id) < std::tie(y.seq, y.id);
  });
  std::string out;
  for (const sched::JobSlot slot : waiting) {
    const sched::Why why = sched::fresh_verdict(world_, agenda_, policy_, slot, now_);
    out += fmt::format("wait  {} {}\n", world_.job(slot).id, view::verdict_line(world_, why, now_));
  }
  return out;
}

Result<std::string> Scenario::jobs(Args& args) {
  if (const Status ok = args.finish(); !ok) return ok.error();
  std::vector<std::string> lines;
  for (std::uint32_t i = 0; i < world_.job_count(); ++i) {
    const sched::Job& job = world_.job(sched::JobSlot{i});
    std::string where = job.active ? " " + world_.fleet.cluster(job.active->cluster).spec.name : "";
    lines.push_back(
        fmt::format("{} {}{} attempt={}\n", job.id, model::to_text(job.state), where, job.attempt));
  }
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const auto& line : lines) out += line;
  return out;
}

Result<std::string> Scenario::usage(Args& args) {
  const bool shares = args.flag("shares");
  if (const Status ok = args.finish(); !ok) return ok.error();
  std::string out;
  for (const sched::QueueId id : world_.quota.by_name()) {
    const sched::QueueNode& queue = world_.quota[id];
    out += queue.name;
    for (std::size_t r = 0; r < queue.use.size(); ++r) {
      const sched::ResourceId resource{static_cast<std::uint16_t>(r)};
      const std::string& name = world_.quota.resource_name(resource);
      const sched::LimitRec limit = queue.limits[r];
      if (queue.use[r] == 0 && limit.guaranteed == sched::unset && limit.maximum == sched::unset)
        continue;
      const model::Scale scale = scale_of(name);
      out += fmt::format(" {}={}", name, model::quantity_text(queue.use[r], scale));
      if (limit.guaranteed != sched::unset)
        out += "/" + model::quantity_text(limit.guaranteed, scale);
      if (limit.maximum != sched::unset)
        out += " max=" + model::quantity_text(limit.maximum, scale);
    }
    if (shares) {
      // Thousandths of the fleet, weighted.
      const std::uint64_t share = world_.quota.share(id, world_.capacity(policy_), now_, policy_);
      out += queue.weight == 0 ? " share=last" : fmt::format(" share={}", (share * 1000) >> 32);
    }
    out += "\n";
  }
  return out;
}

Result<std::string> Scenario::score(Args& args) {
  const std::string id = args.word();
  if (const Status ok = args.finish(); !ok) return ok.error();
  const auto it = scores_.find(id);
  if (it == scores_.end()) return invalid(fmt::format("score: job '{}' was not placed", id));
  std::string out;
  for (const sched::ClusterScore& row : it->second.rows) {
    out += fmt::format("{} {}", world_.fleet.cluster(row.cluster).spec.name, row.total);
    for (std::size_t p = 0; p < sched::part_count; ++p) {
      out += fmt::format(" {}={}", sched::to_text(static_cast<sched::Part>(p)), row.points[p]);
    }
    out += "\n";
  }
  return out;
}

Result<std::string> Scenario::explain(Args& args) {
  const std::string id = args.word();
  if (const Status ok = args.finish(); !ok) return ok.error();
  const sched::JobSlot slot = world_.find_job(id);
  if (slot.is_none()) return invalid(fmt::format("unknown job '{}'", id));
  std::string out =
      view::verdict_line(world_, sched::fresh_verdict(world_, agenda_, policy_, slot, now_), now_) +
      "\n";
  for (const auto& change : sched::what_if(world_, agenda_, policy_, slot, now_)) {
    out += "  " + view::counterfactual_line(world_, change, now_) + "\n";
  }
  return out;
}

Result<std::string> Scenario::estimate(Args& args) {
  const std::string id = args.word();
  if (const Status ok = args.finish(); !ok) return ok.error();
  const sched::JobSlot slot = world_.find_job(id);
  if (slot.is_none()) return invalid(fmt::format("unknown job '{}'", id));
  const sched::Estimate e = sched::expected_start(world_, agenda_, policy_, slot, now_);
  return fmt::format("{} {} between {} and {}\n", id, since_now(e.expected), since_now(e.low),
                     since_now(e.high));
}

Result<std::string> Scenario::estimates(Args& args) {
  if (const Status ok = args.finish(); !ok) return ok.error();
  const sched::EstimateScore& s = world_.estimate_score;
  return fmt::format("scored={} inside={} early={} late={}\n", s.scored, s.inside_band, s.early,
                     s.late);
}

Result<std::string> Scenario::check(Args& args) {
  if (const Status ok = args.finish(); !ok) return ok.error();
  const std::string wrong = sched::check(world_);
  if (!wrong.empty()) return invalid("check: " + wrong);
  return std::string("ok\n");
}

}  // namespace muster::sim
