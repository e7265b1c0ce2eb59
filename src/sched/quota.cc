#include "sched/quota.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sched/decay.h"

namespace muster::sched {
namespace {

__extension__ using Wide = __int128;

std::int64_t at(const std::vector<std::int64_t>& amounts, ResourceId r) {
  return r.index() < amounts.size() ? amounts[r.index()] : 0;
}

LimitRec limit_of(const QueueNode& node, ResourceId r) {
  return r.index() < node.limits.size() ? node.limits[r.index()] : LimitRec{};
}

/// What a queue may use at most, by its maximum and what it may borrow; unset if neither is.
std::int64_t highest(const QueueNode& node, ResourceId r) {
  const LimitRec limit = limit_of(node, r);
  if (limit.borrow == unset) return limit.maximum;
  const std::int64_t with_borrowed = at(node.promised, r) + limit.borrow;
  return limit.maximum == unset ? with_borrowed : std::min(limit.maximum, with_borrowed);
}

/// What a queue that uses this much keeps from others: what it, or those below it, do not lend, as
/// far as its maximum lets them come to use it.
std::int64_t kept_from_others(const LimitRec& limit, std::int64_t use, std::int64_t held_below) {
  std::int64_t own = 0;
  if (limit.guaranteed != unset && limit.lend != unset) own = limit.guaranteed - limit.lend - use;
  const std::int64_t held = std::max({std::int64_t{0}, own, held_below});
  return limit.maximum == unset ? held
                                : std::min(held, std::max<std::int64_t>(0, limit.maximum - use));
}

/// The average moves from what it was towards the use since then; `factor` is what is left of the
/// old one.
std::int64_t remembered(const QueueNode& node, ResourceId r, std::uint64_t factor) {
  const std::int64_t kept = at(node.remembered, r);
  const std::int64_t use = at(node.use, r) - at(node.for_now, r);
  if (kept == use) return use;
  return use + static_cast<std::int64_t>((Wide(kept - use) * static_cast<Wide>(factor)) /
                                         Wide(fixed_one));
}

/// Nobody in the tree is promised anything that others must leave free.
bool holds_nothing(const QueueNode& root) {
  return std::all_of(root.held_below.begin(), root.held_below.end(),
                     [](std::int64_t held) { return held == 0; });
}

}  // namespace

QuotaTree::QuotaTree() {
  resource("cpu");
  resource("memory");
  resource("gpu");
  nodes_.emplace_back();
  nodes_[0].alive = true;
  tree_roots_.emplace("", root());
}

ResourceId QuotaTree::resource(const std::string& name) {
  const auto [it, is_new] =
      resource_ids_.try_emplace(name, ResourceId{static_cast<std::uint16_t>(resources_.size())});
  if (is_new) {
    resources_.push_back(name);
    if (!name.starts_with("gpu.")) in_shares_.push_back(it->second);
  }
  return it->second;
}

QueueId QuotaTree::find(const std::string& name) const {
  const auto it = ids_.find(name);
  return it == ids_.end() ? QueueId::none() : it->second;
}

QueueId QuotaTree::tree_root(const std::string& tree) {
  const auto known = tree_roots_.find(tree);
  if (known != tree_roots_.end()) return known->second;
  const QueueId id{static_cast<std::uint32_t>(nodes_.size())};
  nodes_.emplace_back();
  nodes_.back().alive = true;
  nodes_.back().tree = tree;
  tree_roots_.emplace(tree, id);
  return id;
}

QueueId QuotaTree::find_or_make(const std::string& name) {
  const QueueId known = find(name);
  if (!known.is_none()) return known;
  const QueueId id{static_cast<std::uint32_t>(nodes_.size())};
  nodes_.emplace_back();
  nodes_.back().name = name;
  ids_.emplace(name, id);
  adopt(id, root());
  by_name_.push_back(id);
  rank_names();
  return id;
}

void QuotaTree::rank_names() {
  std::sort(by_name_.begin(), by_name_.end(),
            [&](QueueId a, QueueId b) { return nodes_[a.index()].name < nodes_[b.index()].name; });
  for (std::size_t i = 0; i < by_name_.size(); ++i) {
    nodes_[by_name_[i].index()].name_rank = static_cast<std::uint32_t>(i);
  }
}

void QuotaTree::grow(QueueNode& n) {
  n.limits.resize(resources_.size());
  n.use.resize(resources_.size(), 0);
  n.held.resize(resources_.size(), 0);
  n.held_below.resize(resources_.size(), 0);
  n.promised.resize(resources_.size(), 0);
  n.promised_below.resize(resources_.size(), 0);
  n.for_now.resize(resources_.size(), 0);
  n.remembered.resize(resources_.size(), 0);
}

void QuotaTree::update_held(QueueId queue, std::size_t r) {
  for (QueueId id = queue; !id.is_none(); id = node(id).parent) {
    QueueNode& n = node(id);
    const std::int64_t held = kept_from_others(n.limits[r], n.use[r], n.held_below[r]);
    const std::int64_t change = held - n.held[r];
    n.held[r] = held;
    if (n.parent.is_none()) return;
    grow(node(n.parent));  // even without a change: the use of the queues above may have moved
    node(n.parent).held_below[r] += change;
  }
}

void QuotaTree::update_promised(QueueId queue, std::size_t r) {
  for (QueueId id = queue; !id.is_none(); id = node(id).parent) {
    QueueNode& n = node(id);
    const std::int64_t promised =
        std::max<std::int64_t>(n.limits[r].guaranteed, n.promised_below[r]);
    const std::int64_t change = std::max<std::int64_t>(promised, 0) - n.promised[r];
    n.promised[r] += change;
    if (n.parent.is_none()) return;
    grow(node(n.parent));
    node(n.parent).promised_below[r] += change;
  }
}

void QuotaTree::adopt(QueueId child, QueueId parent, Time now, Duration half_life) {
  grow(node(child));
  if (node(child).parent == parent) return;
  remember(node(child), now, half_life);
  for (const int sign : {-1, +1}) {
    const QueueId above = sign < 0 ? node(child).parent : parent;
    if (above.is_none()) continue;
    auto& siblings = node(above).children;
    if (sign < 0) {
      siblings.erase(std::find(siblings.begin(), siblings.end(), child));
    } else {
      siblings.push_back(child);
      node(child).parent = parent;
    }
    for (QueueId up = above; !up.is_none(); up = node(up).parent) {
      grow(node(up));
      remember(node(up), now, half_life);
      ++node(up).charged;
    }
    for (std::size_t r = 0; r < resources_.size(); ++r) {
      for (QueueId up = above; !up.is_none(); up = node(up).parent) {
        node(up).use[r] += sign * node(child).use[r];
        node(up).for_now[r] += sign * node(child).for_now[r];
        node(up).remembered[r] += sign * node(child).remembered[r];
      }
      node(above).held_below[r] += sign * node(child).held[r];
      update_held(above, r);
      node(above).promised_below[r] += sign * node(child).promised[r];
      update_promised(above, r);
    }
  }
}

QueueId QuotaTree::set(const model::QueueSpec& spec, Time now, Duration half_life) {
  const QueueId id = find_or_make(spec.name);
  QueueId parent = spec.parent.empty() ? tree_root(spec.tree) : find_or_make(spec.parent);
  for (QueueId up = parent; !up.is_none(); up = node(up).parent) {
    if (up == id) parent = node(id).parent;  // a queue below itself: keep it where it is
    if (up == id) break;
  }
  for (const auto& [name, limit] : spec.limits) resource(name);
  QueueNode& n = node(id);
  n.alive = true;
  ++n.charged;
  n.tree = spec.tree;
  n.weight = spec.weight;
  n.strategy = spec.strategy;
  n.priority_cap = spec.priority_cap;
  grow(n);
  std::fill(n.limits.begin(), n.limits.end(), LimitRec{});
  guarantees_ -= n.has_guarantee ? 1 : 0;
  n.has_guarantee = false;
  for (const auto& [name, limit] : spec.limits) {
    LimitRec& rec = n.limits[resource(name).index()];
    rec.guaranteed = limit.guaranteed.value_or(unset);
    rec.maximum = limit.maximum.value_or(unset);
    rec.borrow = limit.borrow.value_or(unset);
    rec.lend = limit.lend.value_or(unset);
    n.has_guarantee = n.has_guarantee || limit.guaranteed.has_value();
  }
  guarantees_ += n.has_guarantee ? 1 : 0;
  adopt(id, parent, now, half_life);
  for (std::size_t r = 0; r < resources_.size(); ++r) {
    update_held(id, r);
    update_promised(id, r);
  }
  inherit(id);
  return id;
}

/// What a queue has from those above it, anew for it and all below.
void QuotaTree::inherit(QueueId queue) {
  QueueNode& n = node(queue);
  const bool top = n.parent.is_none();
  n.cap = top ? n.priority_cap : std::min(n.priority_cap, node(n.parent).cap);
  n.limited = !top && node(n.parent).limited;
  for (const LimitRec& limit : n.limits) n.limited = n.limited || !(limit == LimitRec{});
  n.guarantor = n.has_guarantee ? queue : top ? QueueId::none() : node(n.parent).guarantor;
  for (const QueueId child : n.children) inherit(child);
}

void QuotaTree::remove(const std::string& name) {
  const QueueId id = find(name);
  if (id.is_none()) return;
  for (const QueueId child : node(id).children) {
    if (node(child).alive) return;
  }
  QueueNode& n = node(id);
  n.alive = false;
  guarantees_ -= n.has_guarantee ? 1 : 0;
  n.has_guarantee = false;
  grow(n);
  std::fill(n.limits.begin(), n.limits.end(), LimitRec{});
  for (std::size_t r = 0; r < resources_.size(); ++r) {
    update_held(id, r);
    update_promised(id, r);
  }
  inherit(id);
}

/// Brings what is remembered up to this time.
void QuotaTree::remember(QueueNode& n, Time now, Duration half_life) {
  if (half_life.ms <= 0 || now <= n.remembered_at) return;
  const std::uint64_t factor = decay(now - n.remembered_at, half_life);
  for (std::size_t r = 0; r < n.remembered.size(); ++r) {
    n.remembered[r] = remembered(n, ResourceId{static_cast<std::uint16_t>(r)}, factor);
  }
  n.remembered_at = now;
}

void QuotaTree::charge_for_now(QueueId queue, const Charges& charges, int sign) {
  charge(queue, charges, sign, Time{0}, Duration{0});
  for (QueueId id = queue; !id.is_none(); id = node(id).parent) {
    for (const Charge& c : charges) node(id).for_now[c.resource.index()] += sign * c.amount;
  }
}

void QuotaTree::charge(QueueId queue, const Charges& charges, int sign, Time now,
                       Duration half_life) {
  if (!std::exchange(node(queue).listed, true)) charged_.push_back(queue);
  for (QueueId id = queue; !id.is_none(); id = node(id).parent) {
    QueueNode& n = node(id);
    ++n.charged;
    if (n.use.size() < resources_.size()) grow(n);
    remember(n, now, half_life);
    for (const Charge& c : charges) n.use[c.resource.index()] += sign * c.amount;
  }
  for (const Charge& c : charges) update_held(queue, c.resource.index());
}

std::vector<QueueId> QuotaTree::take_charged() {
  for (const QueueId id : charged_) node(id).listed = false;
  return std::exchange(charged_, {});
}

bool QuotaTree::is_below(QueueId queue, QueueId above) const {
  while (!queue.is_none() && queue != above) queue = nodes_[queue.index()].parent;
  return !queue.is_none();
}

int QuotaTree::guarantors_above(QueueId guarantor) const {
  int count = 0;
  for (QueueId id = guarantor_above(guarantor); !id.is_none(); id = guarantor_above(id)) ++count;
  return count;
}

void QuotaTree::keep_one_per_tree(std::vector<QueueId>& extra_queues) const {
  std::vector<QueueId> charged = {root()};
  std::erase_if(extra_queues, [&](QueueId extra) {
    const QueueId tree = tree_of(extra);
    if (std::find(charged.begin(), charged.end(), tree) != charged.end()) return true;
    charged.push_back(tree);
    return false;
  });
}

QueueId QuotaTree::tree_of(QueueId queue) const {
  while (!nodes_[queue.index()].parent.is_none()) queue = nodes_[queue.index()].parent;
  return queue;
}

std::optional<OverQuota> QuotaTree::over(QueueId queue, const Charges& charges,
                                         const Capacity& capacity, const Rules& rules,
                                         const Charges& credit) const {
  if (!nodes_[queue.index()].limited && holds_nothing(nodes_[tree_of(queue).index()]))
    return std::nullopt;
  for (const Charge& c : charges) {
    if (c.amount == 0) continue;
    const ResourceId r = c.resource;
    std::int64_t credited = 0;
    for (const Charge& k : credit) credited += k.resource == r ? k.amount : 0;
    bool settled = false;        // inside somebody's guarantee: nobody above needs to lend
    std::int64_t held_was = 0;   // by the child on the way up, before the charge
    std::int64_t held_then = 0;  // and after it
    for (QueueId id = queue; !id.is_none(); id = nodes_[id.index()].parent) {
      const QueueNode& n = nodes_[id.index()];
      const LimitRec limit = limit_of(n, r);
      const std::int64_t used = at(n.use, r) - credited;
      const std::int64_t then = used + c.amount;
      if (limit.maximum != unset && then > limit.maximum && rules.has(Rule::QuotaMaximum)) {
        return OverQuota{id, r, QuotaBound::Maximum, c.amount, limit.maximum - used};
      }
      const std::int64_t held_below =
          rules.has(Rule::LendLimit) ? at(n.held_below, r) - held_was + held_then : 0;
      if (limit.guaranteed != unset && then + held_below <= limit.guaranteed) settled = true;
      const std::int64_t with_borrowed = at(n.promised, r) + limit.borrow;
      if (!settled && limit.borrow != unset && then > with_borrowed &&
          rules.has(Rule::BorrowLimit)) {
        return OverQuota{id, r, QuotaBound::Borrow, c.amount, with_borrowed - used};
      }
      // What queues below do not lend must fit beside it: into what there is, or what the queue may
      // use at most.
      const std::int64_t most = n.parent.is_none() ? at(capacity, r) : highest(n, r);
      if (!settled && most != unset && held_below > 0 && then + held_below > most) {
        return OverQuota{id, r, QuotaBound::Held, c.amount,
                         std::max<std::int64_t>(0, most - used - held_below)};
      }
      held_was = at(n.held, r);
      held_then = kept_from_others(limit, then, held_below);
    }
  }
  return std::nullopt;
}

bool QuotaTree::allows_alone(QueueId queue, const Charges& charges) const {
  for (QueueId id = queue; !id.is_none(); id = nodes_[id.index()].parent) {
    const bool over = std::any_of(charges.begin(), charges.end(), [&](const Charge& c) {
      const std::int64_t most = highest(nodes_[id.index()], c.resource);
      return most != unset && c.amount > most;
    });
    if (over) return false;
  }
  return true;
}

std::optional<OverQuota> QuotaTree::over_beside(QueueId queue, const Charges& charges,
                                                QueueId first, const Charges& kept) const {
  for (QueueId id = queue; !id.is_none(); id = nodes_[id.index()].parent) {
    const QueueNode& n = nodes_[id.index()];
    if (!n.limited) break;  // nor is anybody above
    if (!is_below(first, id)) continue;
    for (const Charge& c : charges) {
      const std::int64_t most = highest(n, c.resource);
      if (most == unset || c.amount == 0) continue;
      std::int64_t wanted = 0;
      for (const Charge& k : kept) wanted += k.resource == c.resource ? k.amount : 0;
      // Below 0 while others use it who leave in time. Nothing is kept for who could never have it.
      const std::int64_t left = most - at(n.use, c.resource) - wanted;
      if (wanted > 0 && wanted <= most && c.amount > left) {
        return OverQuota{id, c.resource, QuotaBound::Kept, c.amount,
                         std::max<std::int64_t>(left, 0)};
      }
    }
  }
  return std::nullopt;
}

std::uint64_t QuotaTree::share(QueueId queue, const Capacity& capacity, Time now,
                               const Policy& policy) const {
  const QueueNode& n = nodes_[queue.index()];
  const std::uint64_t weight = policy.rules.has(Rule::QueueWeight) ? n.weight : 1;
  if (weight == 0) return std::numeric_limits<std::uint64_t>::max();
  const bool remembers = policy.half_life.ms > 0 && policy.rules.has(Rule::HalfLife);
  const std::uint64_t factor = remembers ? decay(now - n.remembered_at, policy.half_life) : 0;
  std::uint64_t largest = 0;
  for (const ResourceId r : in_shares_) {
    const std::int64_t total = at(capacity, r);
    if (total <= 0) continue;
    Wide value = at(n.use, r);
    if (remembers) value += remembered(n, r, factor);
    if (value <= 0) continue;
    const Wide share = (value << 32) / (Wide(total) * static_cast<Wide>(weight));
    largest = std::max(largest, static_cast<std::uint64_t>(std::min<Wide>(share, Wide(1) << 62)));
  }
  return largest;
}

}  // namespace muster::sched
