// Hashes of a world. Sums of per-item hashes do not depend on the order of the tables.
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "sched/world.h"

namespace muster::sched {
namespace {

std::uint64_t hash_of(const World& world, const Active& active) {
  Hasher h;
  h.add(world.fleet.cluster(active.cluster).spec.name)
      .add(active.placed_at.ms)
      .add(active.started_at.ms)
      .add(active.checkpoint_at.ms)
      .add(active.stopping)
      .add(active.cancelled);
  if (active.stopping) h.add(static_cast<int>(active.stop));
  if (active.held) h.add(std::string_view("held"));  // older books keep their hash
  if (const model::Demise& d = active.demise; d.ailment != model::Ailment::None)
    h.add(static_cast<int>(d.ailment)).add(d.fails).add(d.exit_code).add(d.requeues).add(d.reason);
  if (!active.beneficiary.is_none()) h.add(world.job(active.beneficiary).id);
  std::uint64_t pods = 0;
  for (const PodOn& pod : active.pods) {
    pods += Hasher()
                .add(world.fleet.node(pod.node).spec.name)
                .add(pod.set)
                .add(pod.devices)
                .add(std::uint32_t{pod.each})
                .value();
  }
  return h.add(pods).value();
}

/// A million jobs share a few names of queues: those are hashed once.
std::vector<std::uint64_t> queue_names(const QuotaTree& quota) {
  std::vector<std::uint64_t> hashes;
  for (std::size_t q = 0; q < quota.size(); ++q)
    hashes.push_back(Hasher().add(quota[QueueId{static_cast<std::uint32_t>(q)}].name).value());
  return hashes;
}

std::uint64_t hash_of(const World& world, const Job& job,
                      const std::vector<std::uint64_t>& queues) {
  Hasher h;
  h.add(job.id)
      .add(job.seq)
      .add(queues[job.queue.index()])
      .add(job.gang_hash)
      .add(job.priority)
      .add(job.attempt)
      .add(job.failures)
      .add(static_cast<int>(job.state))
      .add(job.ran)
      .add(job.submitted.ms)
      .add(job.eligible_at.ms)
      .add(job.deadline.ms)
      .add(job.finished.ms)
      .add(job.run_limit.ms)
      .add(job.reservation.is_none());
  for (const QueueId extra : job.extra_queues) h.add(queues[extra.index()]);
  for (const std::string& id : job.depends_on) h.add(id);
  if (job.active) h.add(hash_of(world, *job.active));
  if (job.requeues > 0) h.add(job.requeues);  // snapshots from before it was counted have the rest
  for (const ClusterId cluster : job.failed_in) h.add(world.fleet.cluster(cluster).spec.name);
  return h.value();
}

std::uint64_t hash_of(const World& world, const Reservation& r) {
  std::uint64_t nodes = 0;
  for (const NodeId node : r.nodes) nodes += Hasher().add(world.fleet.node(node).spec.name).value();
  return Hasher()
      .add(world.job(r.job).id)
      .add(world.fleet.cluster(r.cluster).spec.name)
      .add(r.start.ms)
      .add(nodes)
      .add(r.preempting)
      .value();
}

/// Nothing is on it and nobody has seen it: as if it were not there.
bool is_nothing(const Node& node) {
  return !node.seen && node.pods.empty() && node.foreign.empty() && node.reserved.is_none();
}

}  // namespace

std::uint64_t World::books_hash() const {
  std::uint64_t sum = 0;
  const std::vector<std::uint64_t> queues = queue_names(quota);
  for (const Job& job : jobs_) {
    if (!job.id.empty()) sum += hash_of(*this, job, queues);
  }
  for (const Orphan& orphan : orphans_) {
    sum += Hasher()
               .add(jobs_[orphan.job.index()].id)
               .add(orphan.attempt)
               .add(hash_of(*this, orphan.active))
               .value();
  }
  for (const Reservation& r : reservations_) {
    if (!r.job.is_none()) sum += hash_of(*this, r);
  }
  for (std::size_t q = 0; q < quota.size(); ++q) {
    const QueueNode& n = quota[QueueId{static_cast<std::uint32_t>(q)}];
    Hasher h;
    h.add(n.name).add(n.tree).add(n.alive).add(n.weight).add(n.priority_cap);
    if (!n.parent.is_none()) h.add(quota[n.parent].name);
    sum += h.add(static_cast<int>(n.strategy)).value();
  }
  for (const History& history : histories_) {
    if (history.recent_ms.empty()) continue;
    Hasher h;
    h.add(texts_[history.user.index()]).add(texts_[history.name.index()]);
    for (const std::int64_t ms : history.recent_ms) h.add(ms);
    sum += h.add(std::uint64_t{history.next}).value();
  }
  return sum + Hasher().add(newest_submit).value();
}

std::uint64_t World::hash() const {
  std::uint64_t sum = books_hash();
  for (std::size_t q = 0; q < quota.size(); ++q) {
    const QueueNode& n = quota[QueueId{static_cast<std::uint32_t>(q)}];
    std::uint64_t uses = 0;  // resources are numbered in the order they were met
    for (std::size_t r = 0; r < n.use.size(); ++r) {
      const ResourceId id{static_cast<std::uint16_t>(r)};
      if (n.use[r] != 0) uses += Hasher().add(quota.resource_name(id)).add(n.use[r]).value();
    }
    sum += Hasher().add(n.name).add(n.tree).add(uses).value();
  }
  for (std::size_t i = 0; i < fleet.node_count(); ++i) {
    const Node& n = fleet.node(NodeId{static_cast<std::uint32_t>(i)});
    if (is_nothing(n)) continue;
    Hasher h;
    h.add(n.spec.name).add(n.seen).add(n.cpu).add(n.memory).add(n.pod_slots).add(n.cls.is_none());
    h.add(std::uint64_t{n.pods.size()});
    for (const std::uint16_t free : n.devices) h.add(std::uint32_t{free});
    sum += h.value();
  }
  return sum;
}

}  // namespace muster::sched
