#include "sched/estimate.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <set>
#include <string>

namespace muster::sched {
namespace {

/// Ratio step i holds waits of 2^(i-8) to 2^(i-7) times the estimate.
std::size_t ratio_step(std::int64_t actual_ms, std::int64_t expected_ms) {
  std::int64_t a = std::max<std::int64_t>(actual_ms, 1);
  std::int64_t e = std::max<std::int64_t>(expected_ms, 1);
  std::size_t step = 8;
  while (a >= 2 * e && step < 15) {
    a /= 2;
    ++step;
  }
  while (a < e && step > 0) {
    e /= 2;
    --step;
  }
  return step;
}

/// Factors (in eighths) that four of five past waits stayed between; half to double until there is
/// a past.
std::pair<std::int64_t, std::int64_t> band(const EstimateScore& score) {
  if (score.scored < 20) return {4, 16};
  std::uint64_t seen = 0;
  std::size_t low = 0;
  while (low < 15 && (seen += score.ratio[low]) * 10 < score.scored) ++low;
  seen = 0;
  std::size_t high = 15;
  while (high > 0 && (seen += score.ratio[high]) * 10 < score.scored) --high;
  const auto eighths = [](std::size_t step) {
    return step >= 8 ? std::int64_t{8} << (step - 8) : std::int64_t{8} >> (8 - step);
  };
  return {eighths(std::min<std::size_t>(low, 8)), eighths(std::max<std::size_t>(high + 1, 9))};
}

/// How long `gpu_milli` GPUs need for half of what stands in the queue at this job's priority or
/// above: a job comes, on average, in the middle of its peers.
Duration work_ahead(const World& world, const Job& job, const Policy& policy,
                    std::int64_t gpu_milli) {
  constexpr Duration most = hours(24 * 30);
  const std::int64_t own_milli = job.line.is_none() ? 0 : world.shapes[job.shape].gpu_milli;
  const Duration own_run = job.run_limit.ms > 0 ? job.run_limit : policy.default_run_time;
  Backlog::Wide ahead = -Backlog::Wide(own_milli) * own_run.ms;
  std::int64_t jobs = job.line.is_none() ? 0 : -1;
  const auto& backlog = world.backlog(job.queue);
  for (auto it = backlog.rbegin(); it != backlog.rend() && it->first >= job.priority; ++it) {
    const Backlog& b = it->second;
    ahead += b.gpu_milli_ms + Backlog::Wide(b.unlimited_milli) * policy.default_run_time.ms;
    jobs += b.jobs;
  }
  const Backlog::Wide ms = std::max(ahead / gpu_milli / 2, Backlog::Wide(jobs));
  return Duration{static_cast<std::int64_t>(std::min(ms, Backlog::Wide(most.ms)))};
}

Duration expected_run_time(const World& world, Duration run_limit, HistoryId history,
                           const Policy& policy) {
  const Duration limit = run_limit.ms > 0 ? run_limit : policy.default_run_time;
  if (!policy.rules.has(Rule::LearnedRunTime)) return limit;
  const auto learned = world.learned_run_time(history);
  if (!learned) return limit;
  return run_limit.ms > 0 ? std::min(*learned, run_limit) : *learned;
}

/// Idle GPUs of the types it may use; whole ones if it names types.
std::int64_t idle_for(const World& world, const Shape& shape) {
  std::set<std::string> wanted;
  for (const SetRec& set : shape.sets) {
    const auto& pod = world.shapes.pod(set.pod).spec;
    if (world.shapes.pod(set.pod).gpus == 0) continue;
    if (pod.gpu_types.empty()) return world.fleet.totals().idle_gpu_milli;
    wanted.insert(pod.gpu_types.begin(), pod.gpu_types.end());
  }
  if (wanted.empty()) return world.fleet.totals().idle_gpu_milli;
  std::int64_t idle = 0;
  for (const std::string& name : wanted) {
    const TypeId type = world.fleet.find_type(name);
    for (const ClusterId id : world.fleet.by_name()) {
      const auto& nodes = world.fleet.cluster(id).all;
      if (type.is_none() || type.index() >= nodes.size()) continue;
      for (std::size_t whole = 1; whole < nodes[type.index()].size(); ++whole)
        idle += static_cast<std::int64_t>(whole) * 1000 * nodes[type.index()][whole];
    }
  }
  return idle;
}

/// `run_ms` doubled until it is longer than what has passed: in one step, because all running jobs
/// of a cluster are looked through at once.
Duration outlived(std::int64_t run_ms, std::int64_t passed_ms) {
  const auto width = [](std::int64_t ms) {
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(ms)));
  };
  const int times = std::max(0, width(std::max<std::int64_t>(passed_ms, 0)) - width(run_ms));
  const std::int64_t doubled = run_ms << times;
  return Duration{doubled > passed_ms ? doubled : 2 * doubled};
}

}  // namespace

Duration expected_run_time(const World& world, const Job& job, const Policy& policy) {
  return expected_run_time(world, job.run_limit, job.history, policy);
}

Time expected_end(const World& world, const Stay& stay, const Policy& policy, Time now) {
  if (stay.stopping) return now + seconds(30);  // a usual time to say good-bye
  const std::int64_t run_ms = std::max<std::int64_t>(
      expected_run_time(world, stay.run_limit, stay.history, policy).ms, 1000);
  const Time limit = stay.run_limit.ms > 0 ? stay.from + stay.run_limit : Time::never();
  const Time end = std::min(stay.from + outlived(run_ms, (now - stay.from).ms), limit);
  return end > now ? end : now + seconds(1);
}

Estimate with_band(const World& world, Time expected, Time now) {
  if (expected.is_never()) return {expected, expected, expected};
  const Backlog::Wide wait = (expected - now).ms;
  const Backlog::Wide most = (Time::never() - now).ms - 1;  // beyond it is never
  const auto edge = [&](Backlog::Wide ms) {
    return now + Duration{static_cast<std::int64_t>(std::min(ms, most))};
  };
  const auto [low, high] = band(world.estimate_score);
  return {edge(wait * low / 8), expected, edge(wait * high / 8 + seconds(5).ms)};
}

Estimate estimate(const World& world, JobSlot slot, const Policy& policy, Time now) {
  const Job& job = world.job(slot);
  Time expected = std::max(now, job.eligible_at);
  if (!job.reservation.is_none()) {
    expected = std::max(expected, world.reservation(job.reservation).start);
  } else {
    // Work ahead in the queue, as if the queue's jobs ran one after the other on its part of the
    // fleet.
    const QueueNode& queue = world.quota[job.queue];
    const Shape& shape = world.shapes[job.shape];
    const std::int64_t total = std::max<std::int64_t>(1, [&] {
      std::int64_t sum = 0;
      for (const std::int64_t milli : world.fleet.totals().gpu_milli) sum += milli;
      return sum;
    }());
    const std::int64_t used =
        resource_gpu.index() < queue.use.size() ? queue.use[resource_gpu.index()] : 0;
    const std::int64_t idle = idle_for(world, shape);
    const std::int64_t mine = std::max<std::int64_t>({used + idle, total / 64, 1000});
    const std::int64_t ahead_ms = work_ahead(world, job, policy, mine).ms;
    const bool room_now = ahead_ms == 0 && shape.gpu_milli <= idle;
    if (!room_now) {
      // GPUs come free evenly until, on average, the running ones have ended.
      std::int64_t release_ms = 0;
      const Outlook& busy = world.busy;
      if (shape.gpu_milli > idle && busy.gpu_milli > 0) {
        const auto mean_end = static_cast<std::int64_t>(busy.ends / busy.gpu_milli);
        const std::int64_t left_ms = std::max<std::int64_t>(mean_end - now.ms, 1000);
        release_ms = static_cast<std::int64_t>(Outlook::Wide(left_ms) * (shape.gpu_milli - idle) /
                                               busy.gpu_milli);
        release_ms = std::min(release_ms, 2 * left_ms);
      }
      expected = expected + Duration{std::max({ahead_ms + release_ms, seconds(30).ms})};
    }
  }
  return with_band(world, expected, now);
}

void score_estimate(EstimateScore& score, const Job& job, Time now) {
  // Only the first start answers the estimate given at submission.
  if (job.attempt != 0 || job.first_high.ms == 0) return;
  ++score.scored;
  if (now < job.first_low)
    ++score.early;
  else if (now > job.first_high)
    ++score.late;
  else
    ++score.inside_band;
  const Backlog::Wide error = (now - job.first_expected).ms;
  const Backlog::Wide sum = score.error_sum_ms + (error < 0 ? -error : error);
  constexpr Backlog::Wide most = std::numeric_limits<std::int64_t>::max();
  score.error_sum_ms = static_cast<std::int64_t>(std::min(sum, most));
  ++score.ratio[ratio_step((now - job.submitted).ms, (job.first_expected - job.submitted).ms)];
}

}  // namespace muster::sched
