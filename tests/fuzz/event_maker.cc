#include "tests/fuzz/event_maker.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

namespace muster::fuzz {
namespace {

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

/// The first half is what people ask for: else hardly anything would be taken.
constexpr std::array<std::int64_t, 16> amounts = {0,
                                                  1,
                                                  2,
                                                  4,
                                                  500,
                                                  1000,
                                                  2000,
                                                  8000,
                                                  -1,
                                                  least,
                                                  most,
                                                  1001,
                                                  1500,
                                                  100,
                                                  model::amount_max + 1,
                                                  model::amount_max};
constexpr std::array<int, 16> counts = {
    1, 2, 3, 1, 2, 4, 1, 8, -1, 0, 16, 17, 99, 100000, 100'001, std::numeric_limits<int>::max()};

template <typename Number, std::size_t n>
Number one_of(const std::array<Number, n>& numbers, std::size_t byte) {
  return numbers[byte % n];
}

}  // namespace

// ----------------------------------------------------------------------------------------------
// words and numbers

std::string EventMaker::job() {
  constexpr std::array<const char*, 8> names = {"j0", "j1", "j2", "j3", "j4", "j5", "nobody", ""};
  return one_of(names, take(bytes_));
}

std::string EventMaker::cluster() {
  constexpr std::array<const char*, 8> names = {"a", "a", "a", "b", "b", "a", "nowhere", ""};
  return one_of(names, take(bytes_));
}

std::string EventMaker::node() {
  constexpr std::array<const char*, 8> names = {"n1", "n2", "n3", "n1", "n2", "n1", "unseen", ""};
  return one_of(names, take(bytes_));
}

std::string EventMaker::queue() {
  constexpr std::array<const char*, 8> names = {"q", "q", "r", "s", "q", "r", "unknown", ""};
  return one_of(names, take(bytes_));
}

std::int64_t EventMaker::amount() { return one_of(amounts, take(bytes_)); }
int EventMaker::count() { return one_of(counts, take(bytes_)); }

Time EventMaker::time() {
  const std::array<Time, 8> times = {
      now_,          now_ + minutes(1), Time{0},   now_ + hours(1), now_ - minutes(1),
      Time::never(), Time{least},       Time{most}};
  return one_of(times, take(bytes_));
}

Duration EventMaker::duration() {
  constexpr std::array<Duration, 8> durations = {Duration{0},     minutes(1),    minutes(5),
                                                 hours(1),        Duration{-1},  Duration{1},
                                                 Duration{least}, Duration{most}};
  return one_of(durations, take(bytes_));
}

/// Mostly the newest one.
std::uint32_t EventMaker::attempt_of(const std::string& job) {
  const sched::JobSlot slot = world_.find_job(job);
  const std::uint32_t now = slot.is_none() ? 1 : world_.job(slot).attempt;
  const std::array<std::uint32_t, 8> attempts = {
      now, now, now, now, now, now + 1, now - 1, std::numeric_limits<std::uint32_t>::max()};
  return one_of(attempts, take(bytes_));
}

// ----------------------------------------------------------------------------------------------
// specs

model::Resources EventMaker::resources() {
  model::Resources r;
  r.cpu.v = amount();
  r.memory.v = amount();
  if (one_in(4)) r.extended["nic"] = amount();
  return r;
}

model::PodShape EventMaker::pod() {
  model::PodShape pod;
  pod.requests = resources();
  constexpr std::array<int, 8> gpus = {1, 2, 0, 1, 1, 16, 17, -1};
  pod.gpu.count = one_of(gpus, take(bytes_));
  if (one_in(4)) pod.gpu.each.v = amount();
  if (one_in(8)) pod.gpu.memory_each.v = amount();
  if (one_in(8)) pod.gpu_types = {"T4"};
  if (one_in(8)) pod.node_selector["rack"] = "r1";
  if (one_in(8)) pod.labels["app"] = "web";
  const model::LabelSelector web{{{"app", "web"}}, {}};
  if (one_in(8)) pod.pod_affinity.push_back({web, "rack"});
  if (one_in(8)) pod.pod_anti_affinity.push_back({web, one_in(2) ? "rack" : ""});
  if (one_in(8)) pod.spread.push_back({count(), "rack", web, one_in(2)});
  if (one_in(8)) pod.host_ports = {count(), count()};
  return pod;
}

model::JobSpec EventMaker::spec() {
  model::JobSpec spec;
  spec.id = job();
  spec.name = "train";
  spec.user = one_in(4) ? "" : "u";
  spec.queue = queue();
  if (one_in(8)) spec.extra_queues = {queue(), queue()};
  constexpr std::array<int, 8> priorities = {50,
                                             50,
                                             10,
                                             90,
                                             model::priority_max,
                                             model::priority_min,
                                             std::numeric_limits<int>::min(),
                                             std::numeric_limits<int>::max()};
  spec.priority = one_of(priorities, take(bytes_));
  for (std::size_t sets = below(8) % 4; spec.gang.sets.size() < sets;) {
    model::PodSet set;
    set.name = std::to_string(spec.gang.sets.size());
    set.count = count();
    if (one_in(4)) set.min_count = count();
    if (one_in(8)) set.pods_per_node = count();
    set.pod = pod();
    spec.gang.sets.push_back(std::move(set));
  }
  if (one_in(8)) spec.gang.topology = model::TopologyDomain{one_in(2) ? "" : "rack", one_in(2)};
  if (one_in(8)) spec.gang.pool = one_in(2) ? "f" : "p";
  if (one_in(8)) spec.gang.clusters = {cluster()};
  if (one_in(8)) spec.gang.kinds = {"k"};
  spec.gang.preemptible = !one_in(8);
  if (one_in(8)) spec.gang.min_runtime = duration();
  if (one_in(4)) spec.gang.on_cluster_loss = model::OnClusterLoss::Rerun;
  if (one_in(4)) spec.gang.max_retries = count();
  if (one_in(4)) spec.run_limit = duration();
  if (one_in(8)) spec.start_after = time();
  if (one_in(8)) spec.deadline = time();
  if (one_in(8)) spec.depends_on = {job(), job()};
  spec.held = one_in(8);
  return spec;
}

model::QueueSpec EventMaker::queue_spec() {
  model::QueueSpec spec;
  spec.name = queue();
  if (one_in(2)) spec.parent = queue();
  if (one_in(8)) spec.tree = "other";
  constexpr std::array<std::uint32_t, 4> weights = {1, 2, 0,
                                                    std::numeric_limits<std::uint32_t>::max()};
  spec.weight = one_of(weights, take(bytes_));
  constexpr std::array<const char*, 4> resources = {"gpu", "cpu", "gpu.T4", ""};
  for (std::size_t limits = below(4); limits > 0; --limits) {
    model::Limit& limit = spec.limits[one_of(resources, take(bytes_))];
    if (one_in(2)) limit.guaranteed = amount();
    if (one_in(2)) limit.maximum = amount();
    if (one_in(4)) limit.borrow = amount();
    if (one_in(4)) limit.lend = amount();
  }
  spec.strategy = static_cast<model::Strategy>(below(3));
  if (one_in(4)) spec.priority_cap = count();
  return spec;
}

model::NodeSpec EventMaker::node_spec() {
  model::NodeSpec spec;
  spec.name = node();
  spec.labels["rack"] = one_in(2) ? "r2" : "r1";
  if (one_in(8)) spec.taints.push_back({"dedicated", "", model::TaintEffect::NoSchedule});
  spec.allocatable = resources();
  if (one_in(4)) spec.pods_max = count();
  constexpr std::array<int, 8> gpus = {4, 2, 0, 8, 1, 16, 33, -1};
  spec.gpu_count = one_of(gpus, take(bytes_));
  spec.gpu_type = one_in(4) ? "" : "T4";
  if (one_in(4)) spec.gpu_memory.v = amount();
  spec.ready = !one_in(8);
  spec.cordoned = one_in(8);
  return spec;
}

model::ForeignPod EventMaker::foreign_pod() {
  model::ForeignPod pod;
  pod.uid = one_in(2) ? "f1" : "f2";
  pod.node = node();
  pod.requests = resources();
  pod.gpus = count();
  if (one_in(4)) pod.labels["app"] = "web";
  if (one_in(4)) pod.host_ports = {count()};
  return pod;
}

/// Those of the whole gang, but for a byte here and there.
std::vector<model::PodPlace> EventMaker::places(const std::string& job) {
  std::vector<model::PodPlace> places;
  const sched::JobSlot slot = world_.find_job(job);
  constexpr std::array<std::uint32_t, 8> masks = {1, 2, 3, 0, 1, 4, 0xffff, 0xffffffff};
  constexpr std::array<std::uint16_t, 8> shares = {1000, 1000, 500, 1000, 0, 1, 1001, 65535};
  const auto add = [&](std::uint32_t set) {
    if (one_in(16)) set = one_in(2) ? 7 : std::numeric_limits<std::uint32_t>::max();
    const std::uint32_t devices = one_of(masks, take(bytes_));
    places.push_back({set, node(), one_in(4) ? "" : "T4", devices, one_of(shares, take(bytes_))});
  };
  if (!slot.is_none()) {
    constexpr int enough = 8;
    const auto& sets = world_.shapes[world_.job(slot).shape].sets;
    for (std::uint32_t set = 0; set < sets.size(); ++set) {
      for (int pod = 0; pod < std::min(sets[set].count, enough); ++pod) add(set);
    }
  }
  if (one_in(8)) add(0);
  if (one_in(8) && !places.empty()) places.pop_back();
  return places;
}

// ----------------------------------------------------------------------------------------------
// events

model::EventBody EventMaker::asked(std::size_t which) {
  switch (which) {
    case 0:
      return model::JobCancelled{job()};
    case 1:
      return model::JobHeld{job(), one_in(2)};
    case 2:
      return model::JobReleased{job()};
    case 3:
      return model::PriorityChanged{job(), count()};
    case 4:
      return model::QueueChanged{job(), queue()};
    case 5:
      return model::QueueSet{queue_spec()};
    case 6:
      return model::QueueRemoved{queue()};
    case 7:
      return model::PoolSet{{one_in(4) ? "" : "p", cluster(), {}, {}}};
    case 8:
      return model::FleetPoolSet{{"f", {one_in(2) ? "f" : "p", "p"}}};
    case 9: {
      model::ClusterSpec spec{cluster(), {}, {}, minutes(5)};
      if (one_in(4)) spec.grace = duration();
      if (one_in(4)) spec.gpu_price_milli["T4"] = amount();
      return model::ClusterSet{spec};
    }
    case 10:
      return model::ClusterLeft{cluster()};
    default: {
      const std::uint64_t seq = one_in(8) ? static_cast<std::uint64_t>(amount()) : ++seq_;
      return model::JobSubmitted{spec(), seq};
    }
  }
}

model::EventBody EventMaker::decided(std::size_t which) {
  const std::string id = job();
  switch (which) {
    case 0: {
      // The one after the newest.
      const std::uint32_t attempt = attempt_of(id) + (one_in(8) ? 0 : 1);
      return model::Placed{id, attempt, cluster(), "", places(id)};
    }
    case 1:
      return model::Stopped{id, attempt_of(id), static_cast<model::StopWhy>(below(5)),
                            one_in(2) ? "" : job()};
    case 2: {
      const std::string where = cluster();
      std::map<std::string, std::int64_t> charges;
      if (one_in(2)) charges[one_in(8) ? "" : "gpu"] = amount();
      return model::Reserved{id, where, time(), one_in(2), {node(), node()}, std::move(charges)};
    }
    case 3:
      return model::ReservationDropped{id};
    default:
      return model::GivenUp{id};
  }
}

model::EventBody EventMaker::came_of_it(std::size_t which) {
  const std::string id = job();
  const std::uint32_t attempt = attempt_of(id);
  switch (which) {
    case 0:
      return model::Started{id, attempt};
    case 1:
      return model::Finished{id, attempt, one_in(2), count()};
    case 2:
      return model::StartFailed{id, attempt, time(), "", one_in(4) ? ~0U : 0U};
    case 3:
      return model::Gone{id, attempt};
    case 4:
      return model::PodsBound{id, attempt, places(id)};
    case 5:
      return model::Ailing{id, attempt, {model::Ailment::TooFewPods, one_in(2), 1, 1, ""}};
    default:
      return model::Checkpointed{id};
  }
}

model::EventBody EventMaker::seen(std::size_t which) {
  switch (which) {
    case 0:
      return model::NodeSeen{cluster(), node_spec()};
    case 1:
      return model::NodeGone{cluster(), node()};
    case 2:
      return model::ForeignPodSeen{cluster(), foreign_pod()};
    case 3:
      return model::ForeignPodGone{cluster(), one_in(2) ? "f1" : "f2"};
    case 4:
      return model::ClusterHealth{cluster(), static_cast<model::Health>(below(5))};
    case 5:
      return model::ClusterKinds{cluster(), {"k"}, one_in(2)};
    case 6:
      return model::FinishedForgotten{time(), time()};
    default:
      return model::Ticked{};
  }
}

model::Event EventMaker::next() {
  constexpr std::array<Duration, 4> steps = {Duration{0}, seconds(1), minutes(1), hours(2)};
  if (one_in(4)) now_ = now_ + one_of(steps, take(bytes_));
  const Time at = one_in(32) ? time() : now_;
  const std::size_t which = below(48);
  if (which < 16) return {at, asked(which)};
  if (which < 24) return {at, decided(which % 5)};
  if (which < 36) return {at, came_of_it(which % 7)};
  return {at, seen(which % 8)};
}

}  // namespace muster::fuzz
