#include "sched/undo.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace muster::sched {
namespace {

model::QueueSpec spec_of(const QuotaTree& quota, QueueId id) {
  const QueueNode& node = quota[id];
  model::QueueSpec spec;
  spec.name = node.name;
  spec.parent = node.parent.is_none() ? "" : quota[node.parent].name;
  spec.tree = node.tree;
  spec.weight = node.weight;
  spec.strategy = node.strategy;
  spec.priority_cap = node.priority_cap;
  const auto kept = [](std::int64_t amount) {
    return amount == unset ? std::nullopt : std::optional(amount);
  };
  for (std::size_t r = 0; r < node.limits.size(); ++r) {
    const LimitRec& rec = node.limits[r];
    const model::Limit limit{kept(rec.guaranteed), kept(rec.maximum), kept(rec.borrow),
                             kept(rec.lend)};
    if (limit == model::Limit{}) continue;
    spec.limits[quota.resource_name(ResourceId{static_cast<std::uint16_t>(r)})] = limit;
  }
  return spec;
}

}  // namespace

bool has_venue(const Venues& venues, ClusterId cluster) {
  return std::any_of(venues.all.begin(), venues.all.end(),
                     [&](const Venue& v) { return v.cluster == cluster; });
}

OtherLimits::~OtherLimits() {
  for (auto spec = was_.rbegin(); spec != was_.rend(); ++spec) set(*spec);
}

void OtherLimits::set(const model::QueueSpec& spec) {
  const QueueId id = quota_.find(spec.name);
  const std::vector<LimitRec> was = quota_[id].limits;
  quota_.set(spec);
  const auto same = [](const LimitRec& a, const LimitRec& b) {
    return a.guaranteed == b.guaranteed;
  };
  const auto& now = quota_[id].limits;
  if (!std::equal(was.begin(), was.end(), now.begin(), now.end(), same))
    world_.guarantees.rebuild(world_);
}

model::Limit& OtherLimits::begin(QueueId queue, ResourceId resource) {
  spec_ = spec_of(quota_, queue);
  was_.push_back(spec_);
  return spec_.limits[quota_.resource_name(resource)];
}

void OtherLimits::raise(QueueId queue, ResourceId resource, QuotaBound bound, std::int64_t amount) {
  model::Limit& limit = begin(queue, resource);
  switch (bound) {
    case QuotaBound::Maximum:
    case QuotaBound::Kept:
      limit.maximum = limit.maximum.value_or(0) + amount;
      break;
    case QuotaBound::Borrow:
      limit.borrow = limit.borrow.value_or(0) + amount;
      break;
    case QuotaBound::Held:
      limit.guaranteed = limit.guaranteed.value_or(0) + amount;
      break;
  }
  set(spec_);
}

void OtherLimits::raise_all(QueueId queue, ResourceId resource, std::int64_t amount) {
  model::Limit& limit = begin(queue, resource);
  if (limit.maximum) *limit.maximum += amount;
  if (limit.guaranteed) *limit.guaranteed += amount;
  set(spec_);
}

AllNodesUsable::AllNodesUsable(World& world, const Venues& venues)
    : fleet_(world.fleet), rules_(fleet_.rules()) {
  Rules open = rules_;
  open.without(Rule::NodeReady);
  open.without(Rule::NodeCordon);
  fleet_.set_rules(open);
  for (const ClusterId cluster : fleet_.by_name()) {
    if (!has_venue(venues, cluster)) continue;
    for (const NodeId id : fleet_.cluster(cluster).nodes) {
      const Node& node = fleet_.node(id);
      if (!node.cls.is_none() || !fleet_.usable(node)) continue;
      fleet_.hide(id, false);  // joins its class
      nodes_.insert(id);
    }
  }
}

AllNodesUsable::~AllNodesUsable() {
  fleet_.set_rules(rules_);
  for (const NodeId id : nodes_) fleet_.hide(id, false);  // leaves it again
}

QuotaReleased::~QuotaReleased() {
  for (auto slot = ended_.rbegin(); slot != ended_.rend(); ++slot) {
    charge(world_.job(*slot), +1);
    world_.settle_guarantee(*slot);
  }
}

void QuotaReleased::end(JobSlot slot) {
  charge(world_.job(slot), -1);
  world_.guarantees.leave(world_, slot);
  ended_.push_back(slot);
}

void QuotaReleased::charge(const Job& job, int sign) {
  world_.quota.charge_for_now(job.queue, job.active->charges, sign);
  for (const QueueId extra : job.extra_queues)
    world_.quota.charge_for_now(extra, job.active->charges, sign);
}

Guest::Guest(World& world, const model::JobSpec& spec, Time now) : world_(world) {
  Job job;
  job.id = spec.id;
  job.seq = ~std::uint64_t{0};  // behind everybody
  job.queue = world.quota.find(spec.queue);
  for (const auto& name : spec.extra_queues) {
    const QueueId extra = world.quota.find(name);
    if (!extra.is_none()) job.extra_queues.push_back(extra);
  }
  world.quota.keep_one_per_tree(job.extra_queues);
  shown_ = world.show_for_trial(spec.gang);
  job.shape = world.shapes.intern(spec.gang);
  job.priority = spec.priority;
  job.user = world.text_id(spec.user);
  job.name = world.text_id(spec.name);
  job.submitted = now;
  job.eligible_at = spec.start_after;
  job.deadline = spec.deadline;
  job.run_limit = spec.run_limit;
  slot_ = world.add_guest(std::move(job));
}

}  // namespace muster::sched
