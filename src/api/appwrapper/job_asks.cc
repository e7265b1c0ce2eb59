#include "api/appwrapper/job_asks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "api/appwrapper/suspension.h"
#include "sched/world.h"

namespace muster::api {

namespace {

constexpr Duration try_again = seconds(1);

bool is_refused_for_now(control::Requests::Put put) {
  return put != control::Requests::Put::Taken && put != control::Requests::Put::Closed;
}

}  // namespace

void JobAsks::ask(const std::string& job, const std::string& verb,
                  std::vector<model::EventBody> events, const std::string& about) {
  const auto ask = [job, verb, events, about, user = user_](const sched::World& world,
                                                            Time now) -> Result<control::Asked> {
    const sched::JobSlot slot = world.find_job(job);
    control::Asked asked;
    if (slot.is_none()) return asked;
    asked.events = still_wanted(world.job(slot), events);
    if (!asked.events.empty()) asked.audit.push_back({0, now, user, "", verb, job, about});
    return asked;
  };
  if (is_refused_for_now(requests_.put({ask, [](const Result<control::Answer>&) {}})))
    later_after_(try_again, [this, job, verb, events = std::move(events), about] {
      this->ask(job, verb, events, about);
    });
}

void JobAsks::move(const std::string& job, const std::string& queue, const std::string& about,
                   std::function<void()> cannot) {
  const auto ask = [job, queue, about, cannot, user = user_](const sched::World& world,
                                                             Time now) -> Result<control::Asked> {
    const sched::JobSlot slot = world.find_job(job);
    control::Asked asked;
    if (slot.is_none()) return asked;
    const sched::Job& found = world.job(slot);
    const sched::QueueId to = world.quota.find(queue);
    const bool is_nowhere = to.is_none() || !world.quota[to].alive;
    if (is_nowhere || to == found.queue || found.active || model::is_final(found.state))
      return asked;
    const bool charges_it =
        std::any_of(found.extra_queues.begin(), found.extra_queues.end(),
                    [&](sched::QueueId extra) { return world.quota.is_in_main_tree(extra); });
    if (charges_it) {
      cannot();
      return asked;
    }
    asked.events.emplace_back(model::QueueChanged{job, queue});
    asked.audit.push_back({0, now, user, "", "move", job, about});
    return asked;
  };
  if (is_refused_for_now(requests_.put({ask, [](const Result<control::Answer>&) {}})))
    later_after_(try_again, [this, job, queue, about, cannot = std::move(cannot)] {
      move(job, queue, about, cannot);
    });
}

void JobAsks::cancel_strays(const std::string& prefix, std::set<std::string> known,
                            const std::string& about) {
  const auto kept = std::make_shared<const std::set<std::string>>(std::move(known));
  const auto ask = [kept, prefix, about, user = user_](const sched::World& world,
                                                       Time now) -> Result<control::Asked> {
    control::Asked asked;
    for (std::uint32_t i = 0; i < world.job_count(); ++i) {
      const sched::JobSlot slot{i};
      if (world.is_free(slot)) continue;
      const sched::Job& job = world.job(slot);
      if (model::is_final(job.state) || !job.id.starts_with(prefix) || kept->contains(job.id))
        continue;
      asked.events.emplace_back(model::JobCancelled{job.id});
      asked.audit.push_back(
          {0, now, user, "", "cancel", job.id, fmt::format("its {} was deleted", about)});
    }
    return asked;
  };
  if (is_refused_for_now(requests_.put({ask, [](const Result<control::Answer>&) {}})))
    later_after_(try_again, [this, prefix, kept, about] { cancel_strays(prefix, *kept, about); });
}

}  // namespace muster::api
