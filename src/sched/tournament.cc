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

void Tournament::sift(std::vector<QueueId>& heap, std::size_t at) {
  const QueueId moving = heap[at];
  const auto put = [&](std::size_t i, QueueId queue) {
    heap[i] = queue;
    entries_[queue.index()].at = static_cast<std::uint32_t>(i);
  };
  while (at > 0 && before(moving, heap[(at - 1) / 2])) {
    put(at, heap[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
  while (at * 2 + 1 < heap.size()) {
    std::size_t child = at * 2 + 1;
    if (child + 1 < heap.size() && before(heap[child + 1], heap[child])) ++child;
    if (!before(heap[child], moving)) break;
    put(at, heap[child]);
    at = child;
  }
  put(at, moving);
}

void Tournament::place(QueueId queue, QueueId parent) {
  auto& heap = entries_[parent.index()].children;
  std::uint32_t& at = entries_[queue.index()].at;
  if (at == nowhere) {
    at = static_cast<std::uint32_t>(heap.size());
    heap.push_back(queue);
  }
  sift(heap, at);
}

void Tournament::remove(QueueId queue, QueueId parent) {
  auto& heap = entries_[parent.index()].children;
  const std::size_t at = std::exchange(entries_[queue.index()].at, nowhere);
  if (at == nowhere) return;
  const QueueId last = heap.back();
  heap.pop_back();
  if (last == queue) return;
  heap[at] = last;
  entries_[last.index()].at = static_cast<std::uint32_t>(at);
  sift(heap, at);
}

void Tournament::offer(const QuotaTree& quota, QueueId queue, std::optional<Offer> own) {
  if (entries_.size() < quota.size()) entries_.resize(quota.size());
  entry(queue).own = own;
  for (QueueId id = queue; !quota[id].parent.is_none(); id = quota[id].parent) {
    const QueueId parent = quota[id].parent;
    Entry& e = entry(id);
    entry(parent);
    std::optional<Offer> best = e.own;
    if (!e.children.empty()) {
      const Offer& child = entries_[e.children.front().index()].best;
      if (!best || child < *best) best = child;
    }
    if (!best) {
      remove(id, parent);
      continue;
    }
    e.best = *best;
    e.share = shares.of(quota, id);
    e.name_rank = quota[id].name_rank;
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
