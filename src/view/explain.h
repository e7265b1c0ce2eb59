// Sentences for people, made from the engine's types and nowhere else. Two forms: a sentence
// ("waits for room: 5 of 8 pods fit in cluster a") for screens, and a line of words ("no-room 5/8
// best=a") for scenario files and logs, which is stable. Times are relative to `now`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/time.h"
#include "model/event.h"
#include "sched/policy.h"
#include "sched/route.h"
#include "sched/verdict.h"
#include "sched/whatif.h"
#include "sched/world.h"

namespace muster::view {

// ---- one line of words
std::string verdict_line(const sched::World& world, const sched::Why& why, Time now);
std::string counterfactual_line(const sched::World& world, const sched::Counterfactual& change,
                                Time now);

// ---- sentences, without a full stop
std::string sentence(const sched::World& world, const sched::Why& why, Time now);
std::string sentence(const sched::World& world, const sched::Counterfactual& change, Time now);
/// "in 40m, between 20m and 1h20m"
std::string sentence(const sched::Estimate& estimate, Time now);
std::string sentence(const model::Decision& decision, Time now);
std::string sentence(const sched::World& world, const sched::SubmitAnswer& answer, Time now);
std::string sentence(const sched::World& world, const sched::QuotaAsk& ask,
                     const sched::QuotaAnswer& answer);
/// Of a cluster that cannot be reached; `why` may be empty.
std::string unreachable_text(std::string_view cluster, Duration since, std::string_view why);
/// The table that chose a cluster: a head, then one line a row, columns aligned.
std::string score_table(const sched::World& world, std::span<const sched::ClusterScore> rows,
                        const sched::ClusterWeights& weights);

// ---- words
/// An amount of a quota resource without its unit: GPUs in devices with up to three decimals, CPU
/// in cores, memory with a binary suffix, others as they are.
std::string amount_text(std::string_view resource, std::int64_t amount);
/// The same with its unit: "1 GPU", "2.5 GPUs", "4 A100 GPUs", "1.5 CPU cores", "64Gi memory".
std::string amount_with_unit(std::string_view resource, std::int64_t amount);
/// A duration to two units, as people say it: "1h20m", "3d4h", "45s"; below a second "a moment".
std::string rough(Duration d);
/// "in 40m", "5m ago", "now", "never".
std::string relative(Time t, Time now);
std::string_view health_text(model::Health health);
/// Which kind of its objects no cluster serves that could take it, if that is why.
std::string missing_kind(const sched::World& world, const sched::NoCluster& why);

}  // namespace muster::view
