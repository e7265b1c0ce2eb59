#include "sim/checks.h"

#include <utility>

namespace muster::sim {
namespace {

std::string gang_broken(const sched::World& world) {
  for (const sched::ClusterId cluster : world.fleet.by_name()) {
    for (const sched::JobSlot slot : world.active_in(cluster)) {
      const sched::Job& job = world.job(slot);
      const sched::Shape& shape = world.shapes[job.shape];
      std::vector<int> pods(shape.sets.size(), 0);
      for (const sched::PodOn& pod : job.active->pods) ++pods[pod.set];
      for (std::size_t i = 0; i < pods.size(); ++i) {
        if (pods[i] < shape.sets[i].least || pods[i] > shape.sets[i].count)
          return fmt::format("gang not whole in the books: {} has {} pods of set {}", job.id,
                             pods[i], i);
      }
    }
  }
  return {};
}

/// What people see in lists is what the engine has.
std::string rows_broken(const sched::World& world, const ports::Store& store) {
  for (std::size_t i = 0; i < world.job_count(); ++i) {
    const sched::Job& job = world.job(sched::JobSlot{static_cast<std::uint32_t>(i)});
    const auto row = store.job(job.id);
    if (!row) return row.error().message;
    if (row->state != job.state || row->attempt != job.attempt || row->priority != job.priority ||
        row->failures != job.failures) {
      return fmt::format("the row of {} says {}, attempt {}; the world has {}, attempt {}", job.id,
                         model::to_text(row->state), row->attempt, model::to_text(job.state),
                         job.attempt);
    }
  }
  return {};
}

}  // namespace

std::map<std::string, std::int64_t> uses(const sched::World& world) {
  std::map<std::string, std::int64_t> all;
  for (std::uint32_t q = 0; q < world.quota.size(); ++q) {
    const sched::QueueNode& queue = world.quota[sched::QueueId{q}];
    for (std::uint16_t r = 0; r < queue.use.size(); ++r) {
      if (queue.use[r] == 0) continue;
      const std::string& resource = world.quota.resource_name(sched::ResourceId{r});
      all[fmt::format("{} of queue {}/{}", resource, queue.tree, queue.name)] = queue.use[r];
    }
  }
  return all;
}

std::string check_step(const control::Loop& loop, const Record& record, std::size_t accepted) {
  if (!record.violation().empty()) return record.violation();
  const sched::World& world = loop.world();
  if (std::string wrong = sched::check(world); !wrong.empty()) return "world: " + wrong;
  if (world.job_count() != accepted)
    return fmt::format("job lost: {} were accepted, the world has {}", accepted, world.job_count());
  if (std::string wrong = gang_broken(world); !wrong.empty()) return wrong;
  control::Outbox anew({}, minutes(10));
  anew.rebuild(world, Time{0});
  if (anew.text() != loop.outbox().text())
    return fmt::format("outbox is not what the world says\nkept:\n{}derived:\n{}",
                       loop.outbox().text(), anew.text());
  return {};
}

std::string check_books(const control::Loop& loop, const ports::Store& store) {
  const auto recovered = control::recover(store, loop.policy());
  if (!recovered) return recovered.error().message;
  const sched::World& live = loop.world();
  if (recovered->world.books_hash() != live.books_hash())
    return fmt::format("the journal folds to the books {:016x}, the live ones are {:016x}",
                       recovered->world.books_hash(), live.books_hash());
  const std::map<std::string, std::int64_t> now = uses(live);
  const std::map<std::string, std::int64_t> then = uses(recovered->world);
  for (const auto* all : {&now, &then}) {
    for (const auto& [what, amount] : *all) {
      const auto at = [&](const auto& some) {
        return some.contains(what) ? some.at(what) : std::int64_t{0};
      };
      if (at(now) != at(then))
        return fmt::format("{} is {}, after a restart it would be {}", what, at(now), at(then));
    }
  }
  return {};
}

std::string check_end(const control::Loop& loop, const ports::Store& store, const Record& record,
                      const Workload& workload) {
  if (record.alive() > 0)
    return fmt::format("{} attempts still run in the clusters after the end", record.alive());
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const std::string& id = workload.jobs[i].spec.id;
    const sched::JobSlot slot = loop.world().find_job(id);
    if (slot.is_none()) return "job lost: " + id;
    const bool succeeded = loop.world().job(slot).state == model::JobState::Succeeded;
    const int really = record.successes(i);
    const bool rerun = workload.jobs[i].spec.gang.on_cluster_loss == model::OnClusterLoss::Rerun;
    if (succeeded && really == 0) return id + " is said to have succeeded but no attempt did";
    if (!rerun && really > 1) return fmt::format("{} succeeded {} times", id, really);
  }
  if (std::string wrong = rows_broken(loop.world(), store); !wrong.empty()) return wrong;
  auto recovered = control::recover(store, loop.policy());
  if (!recovered) return recovered.error().message;
  sched::World& world = recovered->world;
  for (const Machine& machine : workload.machines) {
    sched::apply(world, {recovered->last, model::NodeSeen{machine.cluster, machine.node}},
                 loop.policy());
  }
  if (world.hash() != loop.world().hash())
    return fmt::format("replay differs: the journal folds to {:016x}, the live world is {:016x}",
                       world.hash(), loop.world().hash());
  return {};
}

}  // namespace muster::sim
