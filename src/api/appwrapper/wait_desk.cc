#include "api/appwrapper/wait_desk.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "api/appwrapper/waits.h"

namespace muster::api {

void WaitDesk::ask_due() {
  constexpr std::size_t at_once = 200;
  static constexpr std::chrono::milliseconds moment{2};
  const Time now = parts_.clock();
  if (is_asking_ || due_.next() > now) return;
  auto asked = std::make_shared<Question>();
  while (due_.next() <= now && asked->jobs.size() < at_once) asked->jobs.push_back(due_.take(now));
  const auto ask = [asked](sched::World& world, sched::Agenda& agenda, const sched::Policy& policy,
                           Time at) -> Result<std::string> {
    const auto end = std::chrono::steady_clock::now() + moment;
    for (const std::string& job : asked->jobs) {
      asked->waits.push_back(wait_of(world, agenda, policy, job, at));
      if (std::chrono::steady_clock::now() > end) break;
    }
    return std::string();
  };
  const auto done = [this, asked](const Result<std::string>&) {
    parts_.later([this, asked] { told(*asked); });
  };
  is_asking_ = parts_.reads.put({ask, done});
  if (is_asking_) return;
  for (const std::string& job : asked->jobs) set_if_there(job, now + pace_.busy);
}

void WaitDesk::told(const Question& asked) {
  is_asking_ = false;
  const Time now = parts_.clock();
  const Duration again =
      std::max(pace_.again, Duration{static_cast<std::int64_t>(due_.size()) * pace_.between.ms});
  for (std::size_t i = 0; i < asked.jobs.size(); ++i) {
    const std::string& job = asked.jobs[i];
    if (i >= asked.waits.size()) {  // none at all: nobody answers now
      set_if_there(job, asked.waits.empty() ? now + pace_.not_yet : now);
      continue;
    }
    // Not looked at yet: the next plan is a moment away.
    set_if_there(job, now + (asked.waits[i] ? again : pace_.not_yet));
    if (asked.waits[i] && parts_.find(job) != nullptr) parts_.tell(job, *asked.waits[i]);
  }
}

void WaitDesk::set_if_there(const std::string& job, Time at) {
  if (const std::string* id = parts_.find(job)) due_.set(*id, at);
}

}  // namespace muster::api
