#include "sim/scenario.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "sched/estimate.h"
#include "sim/scenario_specs.h"
#include "view/explain.h"

namespace muster::sim {
namespace {

/// Where a scenario's clock ends: a thousand years, far below Time::never().
constexpr Time last_time{hours(1000 * 366 * 24).ms};

}  // namespace

Scenario::Scenario(const sched::Rules& rules) {
  policy_.rules = rules;
  policy_.half_life = Duration{0};  // memory is switched on where a scenario is about it
  world_.fleet.set_rules(rules);
}

bool Scenario::apply(model::EventBody body) {
  history_.push_back({now_, std::move(body)});
  return sched::apply(world_, history_.back(), policy_);
}

const std::map<std::string, Scenario::Verb, std::less<>>& Scenario::table() {
  static const std::map<std::string, Verb, std::less<>> verbs = {
      {"cluster", &Scenario::cluster},
      {"cluster-left", &Scenario::cluster_left},
      {"health", &Scenario::health},
      {"kinds", &Scenario::kinds},
      {"node", &Scenario::node},
      {"nodes", &Scenario::nodes},
      {"node-down", &Scenario::node_change},
      {"node-up", &Scenario::node_change},
      {"cordon", &Scenario::node_change},
      {"uncordon", &Scenario::node_change},
      {"node-gone", &Scenario::node_gone},
      {"foreign", &Scenario::foreign},
      {"foreign-gone", &Scenario::foreign_gone},
      {"pool", &Scenario::pool},
      {"fleet-pool", &Scenario::fleet_pool},
      {"queue", &Scenario::queue},
      {"queue-removed", &Scenario::queue_removed},
      {"policy", &Scenario::set_policy},
      {"submit", &Scenario::submit},
      {"set", &Scenario::add_set},
      {"cancel", &Scenario::job_verb},
      {"hold", &Scenario::job_verb},
      {"release", &Scenario::job_verb},
      {"started", &Scenario::job_verb},
      {"finish", &Scenario::job_verb},
      {"fail", &Scenario::job_verb},
      {"gone", &Scenario::job_verb},
      {"checkpoint", &Scenario::job_verb},
      {"start-failed", &Scenario::start_failed},
      {"bound", &Scenario::bound},
      {"priority", &Scenario::priority},
      {"move", &Scenario::move_queue},
      {"advance", &Scenario::advance},
      {"plan", &Scenario::do_plan},
      {"jobs", &Scenario::jobs},
      {"usage", &Scenario::usage},
      {"score", &Scenario::score},
      {"explain", &Scenario::explain},
      {"estimate", &Scenario::estimate},
      {"estimates", &Scenario::estimates},
      {"check", &Scenario::check},
  };
  return verbs;
}

std::vector<std::string_view> Scenario::verbs() {
  std::vector<std::string_view> names;
  for (const auto& [name, verb] : table()) names.push_back(name);
  return names;
}

Result<std::string> Scenario::flush() {
  if (!pending_) return std::string();
  Pending job = std::move(*pending_);
  pending_.reset();
  if (const Status valid = model::validate(job.spec); !valid) return valid.error();
  if (!world_.find_job(job.spec.id).is_none()) {
    return invalid(fmt::format("submit: job '{}' exists already", job.spec.id));
  }
  apply(model::JobSubmitted{std::move(job.spec), job.seq});
  return std::string();
}

Result<std::string> Scenario::run(std::string_view line) {
  constexpr std::string_view expect = "expect-error ";
  if (line.starts_with(expect)) {
    const std::string_view command = trim(line.substr(expect.size()));
    if (command.starts_with(expect)) return invalid("expect-error: stands once in a line");
    auto result = run(command);
    if (result) result = flush();
    if (result) return invalid(fmt::format("'{}' was expected to fail and did not", command));
    return fmt::format("error: {}\n", result.error().message);
  }
  Args args(line);
  if (args.verb() != "set") {
    if (auto submitted = flush(); !submitted) return submitted;
  }
  const auto it = table().find(args.verb());
  if (it == table().end()) {
    const auto known = verbs();
    const std::string near = nearest(args.verb(), known);
    return invalid(fmt::format("unknown verb '{}'{}", args.verb(),
                               near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  }
  return (this->*it->second)(args);
}

Result<std::string> Scenario::finished(const Args& args, std::string output) {
  const Status status = args.finish();
  if (!status) return status.error();
  return output;
}

// ----------------------------------------------------------------------------------------------
// facts

std::pair<std::string, std::string> Scenario::cluster_and_node(Args& args,
                                                               const std::string& word) {
  const std::size_t slash = word.find('/');
  if (slash == std::string::npos) {
    args.fail(fmt::format("{}: write CLUSTER/NODE, not '{}'", args.verb(), word));
    return {word, ""};
  }
  const std::string cluster = word.substr(0, slash);
  if (world_.fleet.find_cluster(cluster).is_none())
    args.fail(fmt::format("unknown cluster '{}'", cluster));
  return {cluster, word.substr(slash + 1)};
}

Result<std::string> Scenario::cluster(Args& args) {
  const model::ClusterSpec spec = read_cluster(args);
  if (const Status ok = args.finish(); !ok) return ok.error();
  apply(model::ClusterSet{spec});
  return std::string();
}

Result<std::string> Scenario::cluster_left(Args& args) {
  const std::string name = args.word();
  if (const Status ok = args.finish(); !ok) return ok.error();
  if (!apply(model::ClusterLeft{name})) return invalid(fmt::format("unknown cluster '{}'", name));
  return std::string();
}

Result<std::string> Scenario::health(Args& args) {
  const std::string name = args.word();
  const std::string state = args.word();
  const std::map<std::string, model::Health> known = {{"ready", model::Health::Ready},
                                                      {"degraded", model::Health::Degraded},
                                                      {"unreachable", model::Health::Unreachable},
                                                      {"draining", model::Health::Draining},
                                                      {"cordoned", model::Health::Cordoned}};
  const auto it = known.find(state);
  if (it == known.end()) args.fail(fmt::format("health: unknown state '{}'", state));
  if (world_.fleet.find_cluster(name).is_none())
    args.fail(fmt::format("unknown cluster '{}'", name));
  if (const Status ok = args.finish(); !ok) return ok.error();
  apply(model::ClusterHealth{name, it->second});
  return std::string();
}

/// kinds CLUSTER serves=g/v1/Kind,...
Result<std::string> Scenario::kinds(Args& args) {
  const std::string name = args.word();
  std::vector<std::string> served = args.list("serves");
  std::sort(served.begin(), served.end());
  if (world_.fleet.find_cluster(name).is_none())
    args.fail(fmt::format("unknown cluster '{}'", name));
  if (const Status ok = args.finish(); !ok) return ok.error();
  apply(model::ClusterKinds{name, std::move(served)});
  return std::string();
}

Result<std::string> Scenario::node(Args& args) {
  const auto [cluster, name] = cluster_and_node(args, args.word());
  model::NodeSpec spec = read_node(args);
  spec.name = name;
  if (const Status ok = args.finish(); !ok) return ok.error();
  apply(model::NodeSeen{cluster, spec});
  return std::string();
}

Result<std::string> Scenario::nodes(Args& args) {
  const auto [cluster, prefix] = cluster_and_node(args, args.word());
  const std::int64_t count = args.number("count", 1, 1, 100'000);
  model::NodeSpec spec = read_node(args);
  if (const Status ok = args.finish(); !ok) return ok.error();
  for (std::int64_t i = 1; i <= count; ++i) {
    spec.name = fmt::format("{}{}", prefix, i);
    apply(model::NodeSeen{cluster, spec});
  }
  return std::string();
}

Result<std::string> Scenario::node_change(Args& args) {
  const auto [cluster, name] = cluster_and_node(args, args.word());
  if (const Status ok = args.finish(); !ok) return ok.error();
  const sched::NodeId id = world_.fleet.find_node(world_.fleet.find_cluster(cluster), name);
  if (id.is_none()) return invalid(fmt::format("unknown node '{}/{}'", cluster, name));
  model::NodeSpec spec = world_.fleet.node(id).spec;
  if (args.verb() == "node-down") spec.ready = false;
  if (args.verb() == "node-up") spec.ready = true;
  if (args.verb() == "cordon") spec.cordoned = true;
  if (args.verb() == "uncordon") spec.cordoned = false;
  apply(model::NodeSeen{cluster, spec});
  return std::string();
}

Result<std::string> Scenario::node_gone(Args& args) {
  const auto [cluster, name] = cluster_and_node(args, args.word());
  if (const Status ok = args.finish(); !ok) return ok.error();
  apply(model::NodeGone{cluster, name});
  return std::string();
}

Result<std::string> Scenario::foreign(Args& args) {
  const auto [cluster, name] = cluster_and_node(args, args.word());
  const std::string uid = args.word();
  model::ForeignPod pod = read_foreign(args);
  pod.node = name;
  pod.uid = uid;
  if (const Status ok = args.finish(); !ok) return ok.error();
  apply(model::ForeignPodSeen{cluster, pod});
  return std::string();
}

Result<std::string> Scenario::foreign_gone(Args& args) {
  const std::string cluster = args.word();
  const std::string uid = args.word();
  if (world_.fleet.find_cluster(cluster).is_none())
    args.fail(fmt::format("unknown cluster '{}'", cluster));
  if (const Status ok = args.finish(); !ok) return ok.error();
  apply(model::ForeignPodGone{cluster, uid});
  return std::string();
}

Result<std::string> Scenario::pool(Args& args) {
  const model::PoolSpec spec = read_pool(args);
  if (const Status ok = args.finish(); !ok) return ok.error();
  apply(model::PoolSet{spec});
  return std::string();
}

Result<std::string> Scenario::fleet_pool(Args& args) {
  model::FleetPoolSpec spec;
  spec.name = args.word();
  spec.pools = args.list("pools");
  if (const Status ok = args.finish(); !ok) return ok.error();
  apply(model::FleetPoolSet{spec});
  return std::string();
}

Result<std::string> Scenario::queue(Args& args) {
  const model::QueueSpec spec = read_queue(args);
  if (const Status ok = args.finish(); !ok) return ok.error();
  apply(model::QueueSet{spec});
  return std::string();
}

Result<std::string> Scenario::queue_removed(Args& args) {
  const std::string name = args.word();
  if (const Status ok = args.finish(); !ok) return ok.error();
  apply(model::QueueRemoved{name});
  return std::string();
}

Result<std::string> Scenario::set_policy(Args& args) {
  manual_start_ = args.flag("manual-start") || manual_start_;
  policy_.reservation_depth =
      static_cast<int>(args.number("depth", policy_.reservation_depth, 0, 10'000));
  policy_.evictions_per_round =
      static_cast<int>(args.number("evictions", policy_.evictions_per_round, 0, 10'000));
  policy_.half_life = args.duration("half-life", policy_.half_life);
  policy_.share_tick = args.duration("share-tick", policy_.share_tick);
  policy_.default_run_time = args.duration("default-run", policy_.default_run_time);
  for (const auto& [type, value] : args.named("weight")) {
    constexpr std::int64_t most = 1'000'000;  // as in the configuration of a server
    const auto weight = model::parse_quantity(value, "weight", model::Scale::Milli);
    if (!weight)
      args.fail(weight.error().message);
    else if (*weight < 1 || *weight > most)
      args.fail(fmt::format("weight:{}={}: is outside 1m to 1k", type, value));
    else
      policy_.gpu_weight_milli[type] = *weight;
  }
  const std::map<std::string, sched::NodeChoice> choices = {
      {"worth", sched::NodeChoice::Worth},
      {"fgd", sched::NodeChoice::Fgd},
      {"best-fit", sched::NodeChoice::BestFit},
      {"spread", sched::NodeChoice::Spread},
      {"random", sched::NodeChoice::Random}};
  if (const auto choice = args.text("choice")) {
    const auto it = choices.find(*choice);
    if (it == choices.end())
      args.fail(fmt::format("choice: unknown policy '{}'", *choice));
    else
      policy_.node_choice = it->second;
  }
  sched::ClusterWeights& weights = policy_.cluster_weights;
  const std::map<std::string, std::int64_t*> parts = {
      {"fit", &weights.fit},      {"fragmentation", &weights.fragmentation},
      {"price", &weights.price},  {"wait", &weights.wait},
      {"data", &weights.data},    {"spread", &weights.spread},
      {"damage", &weights.damage}};
  for (const auto& [part, value] : args.named("score")) {
    const auto it = parts.find(part);
    const auto number = parse_int(value, "score", 0, 1'000'000);
    if (it == parts.end() || !number)
      args.fail(fmt::format("score: write score:PART=POINTS, not '{}={}'", part, value));
    else
      *it->second = *number;
  }
  return finished(args, "");
}

// ----------------------------------------------------------------------------------------------
// jobs

Result<std::string> Scenario::submit(Args& args) {
  Pending job;
  job.seq = static_cast<std::uint64_t>(
      args.number("seq", static_cast<std::int64_t>(next_seq_), 0, 1'000'000'000));
  next_seq_ = std::max(next_seq_, job.seq) + 1;
  job.spec = read_job(args, now_);
  if (const Status ok = args.finish(); !ok) return ok.error();
  pending_ = std::move(job);
  return std::string();
}

Result<std::string> Scenario::add_set(Args& args) {
  if (!pending_) return invalid("set: stands below the submit it belongs to");
  const std::string name = args.word();
  model::PodSet set = read_set(args);
  set.name = name;
  if (const Status ok = args.finish(); !ok) return ok.error();
  if (!pending_->has_sets) {
    Args nothing("");
    if (pending_->spec.gang.sets != std::vector<model::PodSet>{read_set(nothing)})
      return invalid("set: the submit above asks for pods itself: write them in a set, too");
    pending_->spec.gang.sets.clear();
  }
  pending_->has_sets = true;
  pending_->spec.gang.sets.push_back(std::move(set));
  return std::string();
}

Result<std::string> Scenario::apply_known(const Args& args, const std::string& job,
                                          model::EventBody body) {
  if (const Status ok = args.finish(); !ok) return ok.error();
  if (world_.find_job(job).is_none()) return invalid(fmt::format("unknown job '{}'", job));
  if (!apply(std::move(body))) return fmt::format("{} {}: nothing to do\n", args.verb(), job);
  return std::string();
}

Result<std::string> Scenario::job_verb(Args& args) {
  const std::string id = args.word();
  const sched::JobSlot slot = world_.find_job(id);
  std::uint32_t attempt = slot.is_none() ? 0 : world_.job(slot).attempt;
  attempt = static_cast<std::uint32_t>(args.number("attempt", attempt, 0, 1'000'000));
  const std::string& verb = args.verb();
  if (verb == "cancel") return apply_known(args, id, model::JobCancelled{id});
  if (verb == "hold") {
    const bool stops = args.flag("stop");
    return apply_known(args, id, model::JobHeld{id, stops});
  }
  if (verb == "release") return apply_known(args, id, model::JobReleased{id});
  if (verb == "started") return apply_known(args, id, model::Started{id, attempt});
  if (verb == "finish") return apply_known(args, id, model::Finished{id, attempt, true});
  if (verb == "fail") return apply_known(args, id, model::Finished{id, attempt, false});
  if (verb == "checkpoint") return apply_known(args, id, model::Checkpointed{id});
  return apply_known(args, id, model::Gone{id, attempt});
}

Result<std::string> Scenario::start_failed(Args& args) {
  const std::string id = args.word();
  const Duration pause = args.duration("pause", Duration{0});
  const auto requeues = static_cast<std::uint32_t>(args.number("requeues", 0, 0, 1000));
  const sched::JobSlot slot = world_.find_job(id);
  const std::uint32_t attempt = slot.is_none() ? 0 : world_.job(slot).attempt;
  return apply_known(args, id, model::StartFailed{id, attempt, now_ + pause, "", requeues});
}

/// `bound JOB NODE...`: where its pods are, in the order in which they were placed; those that are
/// not named are where they were.
Result<std::string> Scenario::bound(Args& args) {
  const std::string id = args.word();
  const sched::JobSlot slot = world_.find_job(id);
  if (slot.is_none()) return invalid(fmt::format("unknown job '{}'", id));
  const sched::Active* active = world_.job(slot).active.get();
  model::PodsBound said{id, world_.job(slot).attempt, {}};
  if (active != nullptr) said.pods = sched::places_of(world_, *active);
  std::size_t pod = 0;
  for (std::string name = args.word(); !name.empty(); name = args.word(), ++pod) {
    if (active == nullptr) continue;
    if (pod >= said.pods.size())
      return invalid(fmt::format("bound: job '{}' has {} pods", id, said.pods.size()));
    model::PodPlace& place = said.pods[pod];
    place.node = name;
    const sched::NodeId node = world_.fleet.find_node(active->cluster, name);
    if (place.devices != 0 && !node.is_none())
      place.gpu_type = world_.fleet.node(node).spec.gpu_type;
  }
  return apply_known(args, id, std::move(said));
}

Result<std::string> Scenario::priority(Args& args) {
  const std::string id = args.word();
  const std::string text = args.word();
  const auto number = parse_int(text, "priority", model::priority_min, model::priority_max);
  if (!number) return number.error();
  return apply_known(args, id, model::PriorityChanged{id, static_cast<int>(*number)});
}

Result<std::string> Scenario::move_queue(Args& args) {
  const std::string id = args.word();
  const std::string queue = args.word();
  return apply_known(args, id, model::QueueChanged{id, queue});
}

// ----------------------------------------------------------------------------------------------
// time, plan

Result<std::string> Scenario::advance(Args& args) {
  const auto duration = parse_duration(args.word(), "advance");
  if (!duration) return duration.error();
  if (now_ + *duration > last_time) return invalid("advance: beyond the end of time");
  now_ = now_ + *duration;
  apply(model::Ticked{});
  return finished(args, "");
}

sched::Plan Scenario::plan() {
  sched::Plan plan = sched::plan(world_, agenda_, policy_, now_);
  for (const model::Decision& decision : plan.decisions) {
    apply(model::to_event(decision));
    const auto* placed = std::get_if<model::Placed>(&decision);
    if (placed != nullptr && !manual_start_) apply(model::Started{placed->job, placed->attempt});
  }
  for (const auto& score : plan.scores) scores_[score.job] = score;
  return plan;
}

Result<std::string> Scenario::do_plan(Args& args) {
  const bool quiet = args.flag("quiet");
  if (const Status ok = args.finish(); !ok) return ok.error();
  const sched::Plan made = plan();
  std::string out;
  if (quiet) return out;
  for (const model::Decision& decision : made.decisions) out += show(decision) + "\n";
  out += show_waiting();
  return out.empty() ? "nothing\n" : out;
}

}  // namespace muster::sim
