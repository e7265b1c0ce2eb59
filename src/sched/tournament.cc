#include "sched/tournament.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace muster::sched {

void Shares::begin(const Capacity& capacity, Time at, const Policy& policy) {
  const bool same = capacity == capacity_ && at == at_ && policy.half_life == half_life_ &&
                    policy.rules == rules_;
  capacity_ = capacity;
  at_ = at;
  half_life_ = policy.half_life;
  rules_ = policy.rules;
  policy_ = &policy;
  if (!same) ++moment_;
}

std::uint64_t Shares::of(const QuotaTree& quota, QueueId queue) {
  if (!policy_->rules.has(Rule::FairShare)) return 0;
  if (known_.size() < quota.size()) known_.resize(quota.size());
  Known& k = known_[queue.index()];
  const std::uint64_t charged = quota[queue].charged;
  if (k.moment != moment_ || k.charged != charged) {
    k = {moment_, charged, quota.share(queue, capacity_, at_, *policy_)};
  }
  return k.share;
}

Tournament::Entry& Tournament::entry(QueueId queue) {
  Entry& e = entries_[queue.index()];
  if (e.round != round_) {
    e.round = round_;
    e.own.reset();
    e.at = nowhere;
    e.children.clear();
  }
  return e;
}

bool Tournament::before(QueueId a, QueueId b) const {
  const Entry& x = entries_[a.index()];
  const Entry& y = entries_[b.index()];
  return std::tie(x.best, x.share, x.name_rank) < std::tie(y.best, y.share, y.name_rank);
}

void Tournament::put(std::vector<QueueId>& heap, std::size_t at, QueueId queue) {
  heap[at] = queue;
  entries_[queue.index()].at = static_cast<std::uint32_t>(at);
}

std::size_t Tournament::rise(std::vector<QueueId>& heap, std::size_t at) {
  const QueueId moving = heap[at];
  for (; at > 0 && before(moving, heap[(at - 1) / 2]); at = (at - 1) / 2) {
    put(heap, at, heap[(at - 1) / 2]);
  }
  put(heap, at, moving);
  return at;
}

void Tournament::sink(std::vector<QueueId>& heap, std::size_t at) {
  const QueueId moving = heap[at];
  while (at * 2 + 1 < heap.size()) {
    std::size_t child = at * 2 + 1;
    if (child + 1 < heap.size() && before(heap[child + 1], heap[child])) ++child;
    if (!before(heap[child], moving)) break;
    put(heap, at, heap[child]);
    at = child;
  }
  put(heap, at, moving);
}

void Tournament::place(QueueId queue, QueueId parent) {
  auto& heap = entries_[parent.index()].children;
  std::uint32_t& at = entries_[queue.index()].at;
  if (at == nowhere) {
    at = static_cast<std::uint32_t>(heap.size());
    heap.push_back(queue);
  }
  sink(heap, rise(heap, at));
}

void Tournament::remove(QueueId queue, QueueId parent) {
  auto& heap = entries_[parent.index()].children;
  const std::size_t at = std::exchange(entries_[queue.index()].at, nowhere);
  if (at == nowhere) return;
  const QueueId last = heap.back();
  heap.pop_back();
  if (last == queue) return;
  put(heap, at, last);
  sink(heap, rise(heap, at));
}

/// What decides its place among its siblings, anew; false: it has nothing to offer.
bool Tournament::weigh(const QuotaTree& quota, Shares& shares, QueueId queue) {
  Entry& e = entries_[queue.index()];
  std::optional<Offer> best = e.own;
  if (!e.children.empty()) {
    const Offer& child = entries_[e.children.front().index()].best;
    if (!best || child < *best) best = child;
  }
  if (!best) return false;
  e.best = *best;
  // Of those below a guarantor its own guarantee is all that counts further up.
  if (quota[queue].has_guarantee)
    e.best.negated_depth = std::max(e.best.negated_depth, -quota.guarantors_above(queue));
  e.share = shares.of(quota, queue);
  e.name_rank = quota[queue].name_rank;
  return true;
}

void Tournament::start(const QuotaTree& quota, Shares& shares, std::span<const Entrant> entrants) {
  ++round_;
  if (entries_.size() < quota.size()) entries_.resize(quota.size());
  for (auto& level : levels_) level.clear();
  entry(QuotaTree::root());  // anew also if only queues of further trees enter
  for (const auto& [queue, offer] : entrants) {
    entry(queue).own = offer;
    std::size_t depth = 0;
    for (QueueId id = queue; !quota[id].parent.is_none(); id = quota[id].parent) ++depth;
    if (levels_.size() <= depth) levels_.resize(depth + 1);
    for (QueueId id = queue; depth > 0; id = quota[id].parent, --depth) {
      if (std::exchange(entry(id).at, 0) != nowhere) break;  // and so are all above
      levels_[depth].push_back(id);
    }
  }
  const auto make_heap = [&](QueueId queue) {
    auto& heap = entries_[queue.index()].children;
    for (std::size_t at = heap.size() / 2; at > 0; --at) sink(heap, at - 1);
  };
  for (std::size_t depth = levels_.size(); depth > 1; --depth) {
    for (const QueueId id : levels_[depth - 1]) {
      make_heap(id);
      weigh(quota, shares, id);
      auto& siblings = entry(quota[id].parent).children;
      siblings.push_back(id);
      put(siblings, siblings.size() - 1, id);
    }
  }
  if (!entrants.empty()) make_heap(QuotaTree::root());
}

void Tournament::offer(const QuotaTree& quota, Shares& shares, QueueId queue,
                       std::optional<Offer> own) {
  if (entries_.size() < quota.size()) entries_.resize(quota.size());
  entry(queue).own = own;
  for (QueueId id = queue; !quota[id].parent.is_none(); id = quota[id].parent) {
    const QueueId parent = quota[id].parent;
    entry(id);
    entry(parent);
    if (!weigh(quota, shares, id)) {
      remove(id, parent);
      continue;
    }
    place(id, parent);
  }
}

QueueId Tournament::best() const {
  QueueId id = QuotaTree::root();
  if (id.index() >= entries_.size() || entries_[id.index()].round != round_) {
    return QueueId::none();
  }
  while (!entries_[id.index()].children.empty()) {
    const Entry& e = entries_[id.index()];
    const QueueId child = e.children.front();
    if (e.own && *e.own <= entries_[child.index()].best) return id;
    id = child;
  }
  return entries_[id.index()].own ? id : QueueId::none();
}

}  // namespace muster::sched
