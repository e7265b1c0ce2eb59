#include "control/outbox.h"

#include <algorithm>

namespace muster::control {
namespace {

using ports::Attempt;
using ports::Verb;

bool unreachable(const sched::World& world, const std::string& cluster) {
  const sched::ClusterId id = world.fleet.find_cluster(cluster);
  return id.is_none() || world.fleet.cluster(id).health == model::Health::Unreachable;
}

}  // namespace

Duration Retry::pause(int tries) const {
  Duration pause = first;
  for (int i = 1; i < tries && pause < most; ++i) pause = Duration{pause.ms * 2};
  return std::min(pause, most);
}

void Outbox::set_ready_limit(Duration limit) {
  const Duration more = limit - ready_limit_;
  ready_limit_ = limit;
  if (more.ms == 0) return;
  for (auto& [attempt, entry] : entries_) {
    if (entry.verb == Verb::Create) entry.ready_by = entry.ready_by + more;
  }
}

bool Outbox::has_given_up(const Attempt& attempt) const {
  const auto it = entries_.find(attempt);
  return it != entries_.end() && it->second.verb == Verb::Delete && !it->second.ready_by.is_never();
}

void Outbox::rebuild(const sched::World& world, Time now) {
  entries_.clear();
  due_.clear();
  for (std::size_t i = 0; i < world.job_count(); ++i) {
    const sched::JobSlot slot{static_cast<std::uint32_t>(i)};
    if (world.job(slot).active) look_at(world, slot, now);
  }
  for (const sched::Orphan& orphan : world.orphans()) look_at(world, orphan.job, now);
}

void Outbox::look_at(const sched::World& world, sched::JobSlot slot, Time now) {
  const sched::Job& job = world.job(slot);
  std::vector<Attempt> wanted;
  const auto add = [&](std::uint32_t attempt, Verb verb, sched::ClusterId cluster, Time ready_by) {
    wanted.push_back({job.id, attempt});
    want(wanted.back(), {verb, world.fleet.cluster(cluster).spec.name, 0, now, ready_by});
  };
  if (job.state == model::JobState::Starting) {
    add(job.attempt, Verb::Create, job.active->cluster, job.active->placed_at + ready_limit_);
  } else if (job.state == model::JobState::Stopping) {
    add(job.attempt, Verb::Delete, job.active->cluster, Time::never());
  }
  for (const sched::Orphan& orphan : world.orphans()) {
    if (orphan.job == slot) add(orphan.attempt, Verb::Delete, orphan.active.cluster, Time::never());
  }
  auto it = entries_.lower_bound({job.id, 0});
  while (it != entries_.end() && it->first.job == job.id) {
    if (std::find(wanted.begin(), wanted.end(), it->first) != wanted.end()) {
      ++it;
      continue;
    }
    due_.erase({it->second.due, it->first});
    it = entries_.erase(it);
  }
}

/// A new wish, or a changed one, is due at once; the same wish again changes nothing.
void Outbox::want(const Attempt& attempt, Entry entry) {
  const auto it = entries_.find(attempt);
  if (it == entries_.end()) {
    due_.emplace(entry.due, attempt);
    entries_.emplace(attempt, std::move(entry));
    return;
  }
  // The time to be ready by tells the wishes apart: a delete has none. Of a create it stays as it
  // is: one that was given up is not made again because there is more time by now.
  if (it->second.ready_by.is_never() == entry.ready_by.is_never()) return;
  it->second.ready_by = entry.ready_by;
  it->second.verb = entry.verb;
  it->second.tries = 0;
  schedule(attempt, it->second, entry.due);
}

void Outbox::schedule(const Attempt& attempt, Entry& entry, Time due) {
  due_.erase({entry.due, attempt});
  entry.due = due;
  due_.emplace(due, attempt);
}

void Outbox::wake(const std::string& cluster, Time now) {
  for (auto& [attempt, entry] : entries_) {
    if (entry.cluster != cluster) continue;
    entry.tries = 0;
    schedule(attempt, entry, now);
  }
}

std::vector<model::Resources> counted_of(const sched::World& world, const sched::Job& job) {
  std::vector<model::Resources> counted;
  for (const model::PodSet& set : world.shapes[job.shape].gang.sets)
    counted.push_back(set.pod.requests);
  return counted;
}

std::vector<ports::Action> Outbox::take_due(const sched::World& world, Time now) {
  std::vector<ports::Action> actions;
  while (!due_.empty() && due_.begin()->first <= now) {
    const Attempt attempt = due_.begin()->second;
    Entry& entry = entries_.at(attempt);
    if (unreachable(world, entry.cluster)) {
      schedule(attempt, entry, now + retry_.most);
      continue;
    }
    if (entry.verb == Verb::Create && now >= entry.ready_by) {
      entry.verb = Verb::Delete;
      entry.tries = 0;
    }
    ports::Action action{entry.verb, attempt, entry.cluster, {}, 0};
    if (entry.verb == Verb::Create) {
      const sched::Job& job = world.job(world.find_job(attempt.job));
      action.pods = sched::places_of(world, *job.active);
      action.counted = counted_of(world, job);
      action.requeues = job.requeues;
    }
    actions.push_back(std::move(action));
    ++entry.tries;
    const Time again = now + retry_.pause(entry.tries);
    schedule(attempt, entry, entry.verb == Verb::Create ? std::min(again, entry.ready_by) : again);
  }
  return actions;
}

std::string Outbox::text() const {
  std::string text;
  for (const auto& [attempt, entry] : entries_) {
    // A create that is given up is still the create of a Starting job to a rebuilt outbox.
    const bool create = entry.verb == Verb::Create || entry.ready_by < Time::never();
    text += fmt::format("{}/{} {} {}\n", attempt.job, attempt.number, create ? "create" : "delete",
                        entry.cluster);
  }
  return text;
}

}  // namespace muster::control
