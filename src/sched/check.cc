// What must hold of a world after every step, computed a second time from the facts: from node
// specs, foreign pods, jobs and limits, never from the sums it is compared with. Slow on purpose;
// runs in tests and simulation, sampled in production.
//
// A node may shrink under running pods, so that our own pods exceed its cpu or memory is not looked
// at here (the property tests look at it whenever something is placed); that two of them share a
// device beyond the whole of it can only be our own mistake.
#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "sched/world.h"

namespace muster::sched {
namespace {

using model::JobState;

template <typename IdType>
IdType id_at(std::size_t index) {
  IdType id;
  id.v = static_cast<decltype(id.v)>(index);
  return id;
}

template <typename Amount>
std::int64_t at(const std::vector<Amount>& amounts, std::size_t i) {
  return i < amounts.size() ? std::int64_t{amounts[i]} : 0;
}

/// First thing found wrong; later ones are not looked for.
class Finding {
 public:
  template <typename... Args>
  bool expect(bool holds, fmt::format_string<Args...> format, Args&&... args) {
    if (!holds && text_.empty()) text_ = fmt::format(format, std::forward<Args>(args)...);
    return holds;
  }
  bool any() const { return !text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// ----------------------------------------------------------------------------------------------
// nodes

struct Free {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  std::int64_t pod_slots = 0;
  std::map<std::string, std::int64_t> extended;
  DeviceFree devices{};
};

void take(Free& free, const model::Resources& requests) {
  free.cpu -= requests.cpu.v;
  free.memory -= requests.memory.v;
  --free.pod_slots;
  for (const auto& [name, amount] : requests.extended) free.extended[name] -= amount;
}

/// Free amounts of a node from its spec, our pods and the pods of others.
Free free_of(const World& world, const Node& node) {
  Free free;
  const int gpus = node.seen ? node.spec.gpu_count : 0;
  if (node.seen) {
    free.cpu = node.spec.allocatable.cpu.v;
    free.memory = node.spec.allocatable.memory.v;
    free.pod_slots = node.spec.pods_max;
    free.extended = node.spec.allocatable.extended;
    std::fill_n(free.devices.begin(), gpus, std::uint16_t{1000});
  }
  for (const PodOn& on : node.pods) {
    take(free, world.shapes.pod(on.pod).spec.requests);
    for (int d = 0; d < gpus; ++d) {
      auto& device = free.devices[static_cast<std::size_t>(d)];
      if ((on.devices >> d) & 1u)
        device = static_cast<std::uint16_t>(device - std::min(device, on.each));
    }
  }
  take_loose(loose_shares(node), free.devices, gpus);
  if (!world.fleet.rules().has(Rule::ForeignPods)) return free;
  std::int64_t left = gpus - node.gpus_told;  // those that are not planned with hold theirs first
  for (const auto& [uid, pod] : node.foreign) {
    take(free, pod.requests);
    left += pod.gpus;
  }
  for (int d = gpus - 1; d >= 0 && left > 0; --d) {
    auto& device = free.devices[static_cast<std::size_t>(d)];
    if (device != 1000) continue;
    device = 0;
    --left;
  }
  return free;
}

void check_amounts(const World& world, const Node& node, Finding& found) {
  const Free free = free_of(world, node);
  const std::string& name = node.spec.name;
  found.expect(node.cpu == free.cpu, "node {}: free cpu {} is {}", name, node.cpu, free.cpu);
  found.expect(node.memory == free.memory, "node {}: free memory {} is {}", name, node.memory,
               free.memory);
  found.expect(node.pod_slots == free.pod_slots, "node {}: free pods {} is {}", name,
               node.pod_slots, free.pod_slots);
  found.expect(node.devices == free.devices, "node {}: free devices differ", name);
  const auto& names = world.shapes.extended_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto it = free.extended.find(names[i]);
    const std::int64_t amount = it == free.extended.end() ? 0 : it->second;
    found.expect(at(node.extended, i) == amount, "node {}: free {} {} is {}", name, names[i],
                 at(node.extended, i), amount);
  }
  std::array<int, 32> taken{};
  for (const PodOn& on : node.pods) {
    for (std::size_t d = 0; d < taken.size(); ++d) {
      if ((on.devices >> d) & 1u) taken[d] += on.each;
    }
  }
  for (std::size_t d = 0; d < taken.size(); ++d) {
    found.expect(taken[d] <= 1000, "node {}: our pods take {} thousandths of device {}", name,
                 taken[d], d);
  }
}

auto pod_key(const PodOn& on) {
  return std::make_tuple(on.node, on.job, on.set, on.devices, on.each);
}

/// The pods on nodes are exactly those of active jobs and of orphans.
void check_pods(const World& world, Finding& found) {
  std::vector<PodOn> booked;
  for (std::size_t i = 0; i < world.job_count(); ++i) {
    const Job& job = world.job(id_at<JobSlot>(i));
    if (job.active) booked.insert(booked.end(), job.active->pods.begin(), job.active->pods.end());
  }
  for (const Orphan& orphan : world.orphans())
    booked.insert(booked.end(), orphan.active.pods.begin(), orphan.active.pods.end());
  std::vector<PodOn> standing;
  for (std::size_t i = 0; i < world.fleet.node_count(); ++i) {
    const Node& node = world.fleet.node(id_at<NodeId>(i));
    for (const PodOn& on : node.pods) {
      found.expect(on.node.index() == i, "node {}: has a pod of another node", node.spec.name);
      standing.push_back(on);
    }
  }
  const auto before = [](const PodOn& a, const PodOn& b) { return pod_key(a) < pod_key(b); };
  std::sort(booked.begin(), booked.end(), before);
  std::sort(standing.begin(), standing.end(), before);
  for (std::size_t i = 0; i < std::max(booked.size(), standing.size()); ++i) {
    const bool same =
        i < booked.size() && i < standing.size() && pod_key(booked[i]) == pod_key(standing[i]);
    if (same) continue;
    const PodOn& odd = i < standing.size() ? standing[i] : booked[i];
    found.expect(false, "node {}: pods of job {} do not match the job's own list",
                 world.fleet.node(odd.node).spec.name, world.job(odd.job).id);
    return;
  }
}

// ----------------------------------------------------------------------------------------------
// classes

void check_profile(const World& world, const Node& node, Finding& found) {
  const Profile& p = world.fleet.profile(node.profile);
  const std::string& name = node.spec.name;
  const std::string type = node.spec.gpu_count > 0 ? node.spec.gpu_type : "";
  found.expect(p.cluster == node.cluster && p.taints == node.spec.taints &&
                   p.cpu == node.spec.allocatable.cpu.v &&
                   p.memory == node.spec.allocatable.memory.v &&
                   p.pod_slots == node.spec.pods_max && p.gpus == node.spec.gpu_count &&
                   p.gpu_memory == node.spec.gpu_memory.v && world.fleet.type_name(p.type) == type,
               "node {}: its profile is of another node", name);
  for (const auto& [key, value] : p.labels) {
    const auto it = node.spec.labels.find(key);
    found.expect(it != node.spec.labels.end() && it->second == value,
                 "node {}: its profile says {}={}", name, key, value);
  }
}

/// The node's class has its state as key and knows the node.
void check_membership(const World& world, NodeId id, Finding& found) {
  const Node& node = world.fleet.node(id);
  const NodeClass& c = world.fleet.node_class(node.cls);
  const std::string& name = node.spec.name;
  DeviceFree sorted = node.devices;
  std::sort(sorted.begin(), sorted.begin() + node.spec.gpu_count, std::greater<>());
  const GpuState& gpu = world.fleet.gpu(c.gpu);
  found.expect(c.cluster == node.cluster && c.profile == node.profile && c.cpu == node.cpu &&
                   c.memory == node.memory && c.pod_slots == node.pod_slots &&
                   c.reserved == node.reserved && c.extended == node.extended &&
                   gpu.free == sorted && gpu.count == node.spec.gpu_count,
               "node {}: the key of its class is not its state", name);
  const bool listed = std::any_of(c.members.begin(), c.members.end(),
                                  [&](const auto& member) { return member.second == id; });
  found.expect(listed, "node {}: its class does not list it", name);
  if (world.fleet.cluster(node.cluster).ranks_stale) return;
  for (const auto& [rank, member] : c.members) {
    found.expect(member != id || rank == node.rank, "node {}: its class lists it with rank {}",
                 name, rank);
  }
}

struct Counted {
  std::vector<std::uint32_t> class_size;
  std::vector<int> profile_nodes;
  Fleet::Totals totals;
  /// By cluster, type and idle devices: nodes, and those not reserved.
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::pair<int, int>> buckets;
  std::map<std::size_t, std::pair<Sum, Sum>> cpu;  // by cluster: idle, all
};

template <typename Amount>
void add(std::vector<Amount>& into, std::size_t i, std::int64_t amount) {
  if (into.size() <= i) into.resize(i + 1);
  into[i] += amount;
}

void count(const World& world, const Node& node, Counted& counted) {
  const NodeClass& c = world.fleet.node_class(node.cls);
  const Profile& p = world.fleet.profile(c.profile);
  const GpuState& gpu = world.fleet.gpu(c.gpu);
  ++counted.class_size[node.cls.index()];
  ++counted.profile_nodes[node.profile.index()];
  auto& [all, unreserved] =
      counted.buckets[{node.cluster.index(), p.type.index(), std::size_t{gpu.whole}}];
  ++all;
  if (node.reserved.is_none()) ++unreserved;
  auto& [idle_cpu, cpu] = counted.cpu[node.cluster.index()];
  idle_cpu += std::max<std::int64_t>(node.cpu, 0);
  cpu += p.cpu;
  counted.totals.cpu += p.cpu;
  counted.totals.memory += p.memory;
  add(counted.totals.gpu_milli, p.type.index(), std::int64_t{p.gpus} * 1000);
  for (std::size_t i = 0; i < p.extended.size(); ++i)
    add(counted.totals.extended, i, p.extended[i]);
  counted.totals.idle_gpu_milli += gpu.total;
}

void check_seen(const World& world, Finding& found) {
  for (std::size_t c = 0; c < world.fleet.cluster_count(); ++c) {
    const Cluster& cluster = world.fleet.cluster(id_at<ClusterId>(c));
    std::vector<std::int32_t> seen(cluster.seen.size(), 0);
    for (const NodeId id : cluster.nodes) {
      if (world.fleet.node(id).profile.is_none()) continue;
      const std::size_t type = world.fleet.type_of(id).index();
      found.expect(type < seen.size(), "cluster {}: GPU type {} is not counted", cluster.spec.name,
                   type);
      if (type < seen.size()) ++seen[type];
    }
    found.expect(seen == cluster.seen, "cluster {}: nodes by GPU type are counted wrongly",
                 cluster.spec.name);
  }
}

void check_buckets(const World& world, const Counted& counted, Finding& found) {
  std::size_t listed = 0;
  for (std::size_t c = 0; c < world.fleet.cluster_count(); ++c) {
    const Cluster& cluster = world.fleet.cluster(id_at<ClusterId>(c));
    const auto cpu = counted.cpu.find(c);
    found.expect(std::pair(cluster.idle_cpu, cluster.cpu) ==
                     (cpu == counted.cpu.end() ? std::pair<Sum, Sum>() : cpu->second),
                 "cluster {}: idle cpu {} of {} is counted wrongly", cluster.spec.name,
                 std::int64_t{cluster.idle_cpu}, std::int64_t{cluster.cpu});
    for (std::size_t type = 0; type < cluster.buckets.size(); ++type) {
      for (std::size_t whole = 0; whole < cluster.buckets[type].size(); ++whole) {
        const auto it = counted.buckets.find({c, type, whole});
        const auto [all, unreserved] =
            it == counted.buckets.end() ? std::pair<int, int>() : it->second;
        found.expect(
            cluster.all[type][whole] == all && cluster.unreserved[type][whole] == unreserved,
            "cluster {}: {}/{} nodes of type {} with {} idle devices are {}/{}", cluster.spec.name,
            cluster.all[type][whole], cluster.unreserved[type][whole], type, whole, all,
            unreserved);
        const auto& bucket = cluster.buckets[type][whole];
        found.expect(((cluster.filled[type] >> whole & 1) != 0) == !bucket.empty(),
                     "bucket {} of type {} is wrongly marked as filled or empty", whole, type);
        for (std::size_t i = 0; i < bucket.size(); ++i) {
          const NodeClass& cls = world.fleet.node_class(bucket[i].id);
          found.expect(cls.size > 0 && cls.cluster.index() == c && cls.bucket_at == i &&
                           world.fleet.profile(cls.profile).type.index() == type &&
                           world.fleet.gpu(cls.gpu).whole == whole && bucket[i].whole == whole,
                       "cluster {}: class {} is in the wrong bucket", cluster.spec.name,
                       bucket[i].id.v);
          found.expect(
              bucket[i].generation == cls.generation && bucket[i].first_rank == cls.first_rank,
              "cluster {}: class {} is not what its bucket says", cluster.spec.name,
              bucket[i].id.v);
          ++listed;
        }
      }
    }
  }
  found.expect(listed == world.fleet.class_count(), "{} classes are in buckets, {} exist", listed,
               world.fleet.class_count());
}

void check_totals(const World& world, const Counted& counted, Finding& found) {
  const Fleet::Totals& t = world.fleet.totals();
  const Fleet::Totals& n = counted.totals;
  found.expect(t.cpu == n.cpu && t.memory == n.memory,
               "fleet: total cpu {} and memory {} are {}, {}", std::int64_t{t.cpu},
               std::int64_t{t.memory}, std::int64_t{n.cpu}, std::int64_t{n.memory});
  found.expect(t.idle_gpu_milli == n.idle_gpu_milli, "fleet: idle GPUs {} are {}", t.idle_gpu_milli,
               n.idle_gpu_milli);
  for (std::size_t i = 0; i < std::max(t.gpu_milli.size(), n.gpu_milli.size()); ++i) {
    found.expect(at(t.gpu_milli, i) == at(n.gpu_milli, i),
                 "fleet: total GPUs of type {}: {} are {}", i, at(t.gpu_milli, i),
                 at(n.gpu_milli, i));
  }
  for (std::size_t i = 0; i < std::max(t.extended.size(), n.extended.size()); ++i) {
    found.expect(at(t.extended, i) == at(n.extended, i), "fleet: total of extended {}: {} is {}", i,
                 at(t.extended, i), at(n.extended, i));
  }
}

void check_fleet(const World& world, Finding& found) {
  Counted counted;
  counted.class_size.resize(world.fleet.class_slots());
  counted.profile_nodes.resize(world.fleet.profile_count());
  for (std::size_t i = 0; i < world.fleet.node_count() && !found.any(); ++i) {
    const NodeId id = id_at<NodeId>(i);
    const Node& node = world.fleet.node(id);
    found.expect(!node.hidden, "node {}: hidden outside of a trial", node.spec.name);
    found.expect(world.fleet.find_node(node.cluster, node.spec.name) == id,
                 "node {}: not found by its name", node.spec.name);
    check_amounts(world, node, found);
    if (!found.expect(world.fleet.usable(node) == !node.cls.is_none(), "node {}: {} usable and {}",
                      node.spec.name, world.fleet.usable(node) ? "is" : "is not",
                      node.cls.is_none() ? "in no class" : "in a class") ||
        node.cls.is_none()) {
      continue;
    }
    check_profile(world, node, found);
    check_membership(world, id, found);
    count(world, node, counted);
  }
  for (std::size_t i = 0; i < counted.class_size.size(); ++i) {
    const std::uint32_t size = world.fleet.node_class(id_at<ClassId>(i)).size;
    found.expect(size == counted.class_size[i], "class {}: size {} is {}", i, size,
                 counted.class_size[i]);
  }
  for (std::size_t i = 0; i < counted.profile_nodes.size(); ++i) {
    const int nodes = world.fleet.profile(id_at<ProfileId>(i)).nodes;
    found.expect(nodes == counted.profile_nodes[i], "profile {}: {} nodes are {}", i, nodes,
                 counted.profile_nodes[i]);
  }
  check_buckets(world, counted, found);
  check_seen(world, found);
  check_totals(world, counted, found);
}

// ----------------------------------------------------------------------------------------------
// quota

void check_held(const World& world, QueueId id, Finding& found) {
  const QueueNode& queue = world.quota[id];
  for (std::size_t r = 0; r < world.quota.resource_count(); ++r) {
    const auto resource = world.quota.resource_name(id_at<ResourceId>(r));
    std::int64_t below = 0;
    for (const QueueId child : queue.children) below += at(world.quota[child].held, r);
    found.expect(at(queue.held_below, r) == below, "queue {}: {} held below {} is {}", queue.name,
                 resource, at(queue.held_below, r), below);
    const LimitRec limit = r < queue.limits.size() ? queue.limits[r] : LimitRec{};
    std::int64_t own = 0;
    if (limit.guaranteed != unset && limit.lend != unset)
      own = std::max<std::int64_t>(0, limit.guaranteed - limit.lend - at(queue.use, r));
    std::int64_t held = std::max(own, below);
    if (limit.maximum != unset)
      held = std::min(held, std::max<std::int64_t>(0, limit.maximum - at(queue.use, r)));
    found.expect(at(queue.held, r) == held, "queue {}: {} held {} is {}", queue.name, resource,
                 at(queue.held, r), held);
  }
}

/// Use of each queue is what the active jobs below it charge and what is kept for jobs whose
/// victims are leaving; what is held follows from it.
void check_quota(const World& world, Finding& found) {
  std::vector<std::map<ResourceId, std::int64_t>> use(world.quota.size());
  const auto charge = [&](QueueId queue, const Charges& charges) {
    for (QueueId id = queue; !id.is_none(); id = world.quota[id].parent) {
      for (const Charge& c : charges) use[id.index()][c.resource] += c.amount;
    }
  };
  for (std::size_t i = 0; i < world.job_count(); ++i) {
    const Job& job = world.job(id_at<JobSlot>(i));
    if (!job.active) continue;
    charge(job.queue, job.active->charges);
    for (const QueueId extra : job.extra_queues) charge(extra, job.active->charges);
  }
  for (const Reservation& r : world.reservations()) {
    if (r.job.is_none() || !r.preempting) continue;
    charge(world.job(r.job).queue, r.charges);
    for (const QueueId extra : world.job(r.job).extra_queues) charge(extra, r.charges);
  }
  for (std::size_t q = 0; q < world.quota.size() && !found.any(); ++q) {
    const QueueId id = id_at<QueueId>(q);
    const QueueNode& queue = world.quota[id];
    for (std::size_t r = 0; r < world.quota.resource_count(); ++r) {
      const ResourceId resource = id_at<ResourceId>(r);
      found.expect(at(queue.use, r) == use[q][resource], "queue {}: use of {} {} is {}", queue.name,
                   world.quota.resource_name(resource), at(queue.use, r), use[q][resource]);
    }
    for (const QueueId child : queue.children) {
      found.expect(world.quota[child].parent == id, "queue {}: child {} has another parent",
                   queue.name, world.quota[child].name);
    }
    if (!queue.parent.is_none()) {
      const auto& siblings = world.quota[queue.parent].children;
      found.expect(std::count(siblings.begin(), siblings.end(), id) == 1,
                   "queue {}: not exactly once below its parent", queue.name);
    }
    check_held(world, id, found);
  }
  Guarantees anew;
  anew.rebuild(world);
  found.expect(anew.same_as(world.guarantees), "jobs inside guarantees are others");
}

// ----------------------------------------------------------------------------------------------
// jobs

void check_active(const World& world, JobSlot slot, Finding& found) {
  const Job& job = world.job(slot);
  const Active& active = *job.active;
  const Shape& shape = world.shapes[job.shape];
  found.expect(job.attempt >= 1, "job {}: active without an attempt", job.id);
  found.expect(active.stopping == (job.state == JobState::Stopping), "job {}: {} and {} stopping",
               job.id, model::to_text(job.state), active.stopping ? "is" : "is not");
  found.expect(!active.held || (active.stopping && !active.cancelled),
               "job {}: is to be held, but not being stopped for that", job.id);
  const auto& peers = world.active_in(active.cluster);
  found.expect(active.at_in_cluster < peers.size() && peers[active.at_in_cluster] == slot,
               "job {}: not in the list of its cluster", job.id);
  found.expect(world.stays_in(active.cluster)[active.at_in_cluster] == stay_of(job),
               "job {}: its stay is out of date", job.id);
  found.expect(world.stakes_in(active.cluster)[active.at_in_cluster] == stake_of(job, shape.gang),
               "job {}: its stake is out of date", job.id);
  std::vector<int> pods(shape.sets.size(), 0);
  for (const PodOn& on : active.pods) {
    if (!found.expect(on.set < pods.size() && on.job == slot, "job {}: has a pod of another job",
                      job.id)) {
      return;
    }
    ++pods[on.set];
    found.expect(world.fleet.node(on.node).cluster == active.cluster,
                 "job {}: a pod on node {} of another cluster", job.id,
                 world.fleet.node(on.node).spec.name);
  }
  if (!world.fleet.rules().has(Rule::GangWhole)) return;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    found.expect(pods[i] >= shape.sets[i].least && pods[i] <= shape.sets[i].count,
                 "job {}: set {} has {} pods, not {} to {}", job.id, i, pods[i],
                 shape.sets[i].least, shape.sets[i].count);
  }
}

void check_waiting(const World& world, JobSlot slot, Finding& found) {
  const Job& job = world.job(slot);
  const bool not_yet = world.eligible_at.contains({job.eligible_at, slot});
  if (job.line.is_none()) {
    found.expect(not_yet || !job.depends_on.empty(), "job {}: waits in no line", job.id);
  } else {
    found.expect(!not_yet && job.depends_on.empty(), "job {}: in a line, but may not start yet",
                 job.id);
    const Line& line = world.line(job.line);
    const auto it = line.jobs.find({job.seq, job.id});
    found.expect(it != line.jobs.end() && it->second == slot, "job {}: its line does not list it",
                 job.id);
    found.expect(line.queue == job.queue && line.shape == job.shape &&
                     line.priority == job.priority && line.run_limit == job.run_limit &&
                     line.extra_queues == job.extra_queues,
                 "job {}: stands in a line of others", job.id);
  }
  if (job.attempt == 0 && !job.deadline.is_never()) {
    found.expect(world.deadlines.contains({job.deadline, slot}), "job {}: its deadline is not set",
                 job.id);
  }
}

void check_job(const World& world, JobSlot slot, Finding& found) {
  const Job& job = world.job(slot);
  if (world.is_free(slot)) return;
  found.expect(world.find_job(job.id) == slot, "job {}: not found by its id", job.id);
  found.expect(model::is_final(job.state) == world.finished.contains({job.finished, slot}),
               "job {}: {}, but the list of finished ones says otherwise", job.id,
               model::to_text(job.state));
  found.expect(model::is_active(job.state) == (job.active != nullptr), "job {}: {} and {} nodes",
               job.id, model::to_text(job.state), job.active ? "holds" : "holds no");
  if (job.active) check_active(world, slot, found);
  if (job.state == JobState::Waiting) {
    check_waiting(world, slot, found);
  } else {
    found.expect(job.line.is_none(), "job {}: {} and in a line", job.id, model::to_text(job.state));
    found.expect(job.reservation.is_none(), "job {}: {} and has a reservation", job.id,
                 model::to_text(job.state));
  }
  if (!job.reservation.is_none()) {
    found.expect(job.reservation.index() < world.reservations().size() &&
                     world.reservation(job.reservation).job == slot,
                 "job {}: its reservation is of another job", job.id);
  }
  if (model::is_final(job.state) || world.doomed.contains(slot)) return;
  for (const std::string& id : job.depends_on) {
    const auto it = world.dependents.find(id);
    found.expect(it != world.dependents.end() &&
                     std::find(it->second.begin(), it->second.end(), slot) != it->second.end(),
                 "job {}: {} will not wake it", job.id, id);
  }
}

/// Who may be evicted where, counted again from the jobs.
void check_evictable(const World& world, Finding& found) {
  std::map<std::pair<ClusterId, TypeId>, std::int64_t> milli;
  std::size_t running = 0;
  for (std::size_t i = 0; i < world.job_count(); ++i) {
    const Job& job = world.job(id_at<JobSlot>(i));
    if (!job.active || job.active->stopping || !world.shapes[job.shape].gang.preemptible) continue;
    ++running;
    for (std::size_t p = 0; p < job.active->pods.size(); ++p) {
      const PodOn& pod = job.active->pods[p];
      milli[{job.active->cluster, job.active->counted[p]}] +=
          std::int64_t{pod.each} * __builtin_popcount(pod.devices);
    }
  }
  std::size_t listed = 0;
  for (const auto& [priority, jobs] : world.running_by_class()) listed += jobs.size();
  found.expect(listed == running, "{} jobs may be evicted, {} are listed", running, listed);
  for (const auto& [place, sum] : milli) {
    const Evictable counted =
        world.evictable_below(place.first, place.second, std::numeric_limits<int>::max());
    found.expect(counted.gpu_milli == sum, "cluster {}: {} thousandths may be evicted, {} counted",
                 world.fleet.cluster(place.first).spec.name, sum, counted.gpu_milli);
  }
}

/// Jobs, the pods they have on nodes and the number of jobs that a shape knows of.
void check_shapes(const World& world, Finding& found) {
  std::vector<std::size_t> jobs(world.shapes.size(), 0);
  for (std::size_t i = 0; i < world.job_count(); ++i) {
    const Job& job = world.job(id_at<JobSlot>(i));
    if (job.id.empty()) continue;
    ++jobs[job.shape.index()];
    const Shape& shape = world.shapes[job.shape];
    found.expect((model::is_final(job.state) && !job.active) ||
                     !job.spare.has_some(world.shapes.asked_labels()),
                 "job {}: its shape lacks labels that somebody asks for", job.id);
    const bool is_hashed =
        job.gang_hash == (job.spare.empty() ? shape.hash : hash_of(whole(shape.gang, job.spare)));
    found.expect(is_hashed, "job {}: its shape and labels are not what was asked for", job.id);
    if (!job.active) continue;
    for (const PodOn& pod : job.active->pods) {
      found.expect(pod.pod == world.shapes[job.shape].sets[pod.set].pod,
                   "job {}: a pod of another shape", job.id);
    }
  }
  std::size_t idle = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Shape& shape = world.shapes[id_at<ShapeId>(i)];
    found.expect(shape.jobs == jobs[i], "shape {}: {} jobs are counted, {} have it", i, shape.jobs,
                 jobs[i]);
    idle += jobs[i] == 0 ? 1 : 0;
  }
  found.expect(world.shapes.idle() == idle, "{} shapes without jobs are {}", world.shapes.idle(),
               idle);
}

void check_lines(const World& world, Finding& found) {
  std::size_t waiting = 0;
  std::size_t ranked = 0;
  std::size_t filled = 0;
  std::set<ShapeId> with_lines;
  for (std::size_t i = 0; i < world.line_slots(); ++i) {
    const LineId id = id_at<LineId>(i);
    const Line& line = world.line(id);
    waiting += line.jobs.size();
    for (const auto& [key, slot] : line.jobs) {
      found.expect(world.job(slot).line == id, "line {}: lists job {} of another place", i,
                   world.job(slot).id);
    }
    if (line.jobs.empty()) continue;
    ++filled;
    with_lines.insert(line.shape);
    const auto& peers = world.lines_of_shape(line.shape);
    found.expect(line.at_in_shape < peers.size() && peers[line.at_in_shape] == id,
                 "line {}: its shape does not list it", i);
    found.expect(line.history == world.job(world.first_of(id)).history,
                 "line {}: is listed under another job than its first", i);
    const auto before = [&](const LineRank& a, const LineRank& b) {
      return world.ranks_before(a, b);
    };
    found.expect(world.lines_of(line.queue).contains(world.rank_of(id), before),
                 "line {}: queue {} does not rank it", i, world.quota[line.queue].name);
  }
  for (std::size_t q = 0; q < world.quota.size(); ++q)
    ranked += world.lines_of(id_at<QueueId>(q)).size();
  std::int64_t backlog = 0;
  for (std::size_t q = 0; q < world.quota.size(); ++q) {
    for (const auto& [priority, b] : world.backlog(id_at<QueueId>(q))) backlog += b.jobs;
  }
  found.expect(backlog == static_cast<std::int64_t>(world.waiting()),
               "{} jobs in backlogs, {} counted", backlog, world.waiting());
  found.expect(waiting == world.waiting(), "{} jobs stand in lines, {} counted", waiting,
               world.waiting());
  found.expect(ranked == filled, "{} lines are ranked, {} have jobs", ranked, filled);
  const auto& listed = world.shapes_with_lines();
  found.expect(listed.size() == with_lines.size() &&
                   std::set<ShapeId>(listed.begin(), listed.end()) == with_lines,
               "{} shapes have lines, {} are listed", with_lines.size(), listed.size());
}

void check_timers(const World& world, Finding& found) {
  for (const auto& [when, slot] : world.eligible_at) {
    const Job& job = world.job(slot);
    found.expect(job.state == JobState::Waiting && job.eligible_at == when,
                 "job {}: a timer of its start that is not its own", job.id);
  }
  for (const auto& [when, slot] : world.deadlines) {
    const Job& job = world.job(slot);
    found.expect(job.state == JobState::Waiting && job.deadline == when,
                 "job {}: a deadline that is not its own", job.id);
  }
  std::size_t limited = 0;
  for (std::size_t i = 0; i < world.job_count(); ++i) {
    const Job& job = world.job(id_at<JobSlot>(i));
    if (!job.active || job.active->started_at.is_never() || job.run_limit.ms == 0) continue;
    if (job.active->stopping) continue;
    ++limited;
    found.expect(
        world.run_limits.contains({job.active->started_at + job.run_limit, id_at<JobSlot>(i)}),
        "job {}: nothing will stop it at its run limit", job.id);
  }
  found.expect(limited == world.run_limits.size(), "{} run limits are set, {} jobs run with one",
               world.run_limits.size(), limited);
  for (const auto& [when, slot] : world.finished) {
    found.expect(!world.is_free(slot), "a forgotten job is listed as finished at {}", when.ms);
  }
  for (const JobSlot slot : world.doomed) {
    const Job& job = world.job(slot);
    found.expect(!job.active && !model::is_final(job.state) && !job.depends_on.empty(),
                 "job {}: doomed, but {}", job.id, model::to_text(job.state));
  }
}

void check_jobs(const World& world, Finding& found) {
  std::size_t active = 0;
  std::size_t unplaced = 0;
  for (std::size_t i = 0; i < world.job_count() && !found.any(); ++i) {
    check_job(world, id_at<JobSlot>(i), found);
    const Job& job = world.job(id_at<JobSlot>(i));
    if (job.active) ++active;
    if (!world.is_free(id_at<JobSlot>(i)) && !job.active && !model::is_final(job.state)) ++unplaced;
  }
  std::size_t listed = 0;
  for (std::size_t c = 0; c < world.fleet.cluster_count(); ++c)
    listed += world.active_in(id_at<ClusterId>(c)).size();
  found.expect(active == listed, "{} jobs are active, {} in the lists of clusters", active, listed);
  found.expect(unplaced == world.unplaced(), "{} jobs are not placed, {} counted", unplaced,
               world.unplaced());
}

void check_reservations(const World& world, Finding& found) {
  std::size_t marked = 0;
  for (std::size_t i = 0; i < world.reservations().size(); ++i) {
    const Reservation& r = world.reservations()[i];
    if (r.job.is_none()) continue;
    const Job& job = world.job(r.job);
    found.expect(job.state == JobState::Waiting && job.reservation.index() == i,
                 "reservation {}: of job {} in state {}", i, job.id, model::to_text(job.state));
    for (const NodeId id : r.nodes) {
      const Node& node = world.fleet.node(id);
      found.expect(node.reserved.index() == i && node.cluster == r.cluster,
                   "reservation {} of job {}: node {} is not marked", i, job.id, node.spec.name);
      ++marked;
    }
  }
  std::size_t reserved = 0;
  bool all_usable = true;
  for (std::size_t i = 0; i < world.fleet.node_count(); ++i) {
    const Node& node = world.fleet.node(id_at<NodeId>(i));
    if (node.reserved.is_none()) continue;
    ++reserved;
    all_usable = all_usable && world.fleet.usable(node);
  }
  found.expect(all_usable == world.fleet.all_reserved_usable(),
               "that all reserved nodes are usable is {}, but said to be {}", all_usable,
               !all_usable);
  found.expect(marked == reserved, "{} nodes are marked as reserved, reservations have {}",
               reserved, marked);
}

}  // namespace

std::string check(const World& world) {
  Finding found;
  for (const auto part : {check_jobs, check_shapes, check_lines, check_evictable, check_timers,
                          check_reservations, check_pods, check_fleet, check_quota}) {
    part(world, found);
    if (found.any()) break;
  }
  return found.text();
}

}  // namespace muster::sched
