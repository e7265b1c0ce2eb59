#include "sched/rules.h"

#include <array>

namespace muster::sched {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Rule::Count)> names = {
    "gang-whole",
    "taints",
    "node-selector",
    "node-ready",
    "node-cordon",
    "pod-limit",
    "foreign-pods",
    "gpu-types",
    "share-one-device",
    "pods-per-node",
    "pod-affinity",
    "pod-anti-affinity",
    "topology-spread",
    "host-ports",
    "volume-zones",
    "topology-domain",
    "preferred-affinity",
    "elastic",
    "quota-maximum",
    "borrow-limit",
    "lend-limit",
    "extra-trees",
    "guaranteed-first",
    "priority-class",
    "priority-cap",
    "fair-share",
    "half-life",
    "queue-weight",
    "gpu-weight",
    "fifo-blocks",
    "reservation",
    "backfill-quota",
    "backfill-no-delay",
    "learned-run-time",
    "preempt-by-priority",
    "reclaim",
    "preemptible-only",
    "min-runtime",
    "protect-guaranteed",
    "checkpoint-cost",
    "cheapest-victims",
    "minimal-victims",
    "eviction-limit",
    "cluster-pins",
    "cluster-kinds",
    "cluster-health",
    "pools",
    "rerun-on-loss",
    "drain",
    "start-after",
    "deadline",
    "dependencies",
    "run-limit",
    "fragmentation"};

}  // namespace

std::string_view to_text(Rule rule) { return names[static_cast<std::size_t>(rule)]; }

Rule rule_of(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Rule>(i);
  }
  return Rule::Count;
}

}  // namespace muster::sched
