#include "clusters/kubernetes/extra_use.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace muster::clusters {

namespace {

using manifest::PodUse;

void add(PodUse& into, const PodUse& more) {
  into.requests.cpu = into.requests.cpu + more.requests.cpu;
  into.requests.memory = into.requests.memory + more.requests.memory;
  for (const auto& [name, amount] : more.requests.extended) into.requests.extended[name] += amount;
  into.gpus += more.gpus;
}

/// What is more than the other.
PodUse above(PodUse use, const PodUse& other) {
  use.requests.cpu.v = std::max<std::int64_t>(0, use.requests.cpu.v - other.requests.cpu.v);
  use.requests.memory.v =
      std::max<std::int64_t>(0, use.requests.memory.v - other.requests.memory.v);
  for (const auto& [name, amount] : other.requests.extended) {
    const auto at = use.requests.extended.find(name);
    if (at != use.requests.extended.end()) at->second -= amount;
  }
  std::erase_if(use.requests.extended, [](const auto& one) { return one.second <= 0; });
  use.gpus = std::max(0, use.gpus - other.gpus);
  return use;
}

std::string uid_of(const std::string& node) { return "muster.dev/extra/" + node; }

}  // namespace

void ExtraUse::expect(const ports::Attempt& attempt, std::vector<model::Resources> counted) {
  counted_[attempt] = std::move(counted);
}

void ExtraUse::look(const ports::Attempt& attempt, const std::vector<model::PodPlace>& booked,
                    const std::vector<PodSight>& pods) {
  const auto counted = counted_.find(attempt);
  if (counted == counted_.end() || counted->second.empty() || booked.empty()) return;
  ByNode taken;
  for (const PodSight& pod : pods) {
    if (pod.node.empty() || !pod.is_live()) continue;
    manifest::Split asks = manifest::split(pod.asks, gpus_);
    add(taken[pod.node], {std::move(asks.resources), asks.gpus});
  }
  ByNode in_books;
  for (const model::PodPlace& place : booked) {
    if (place.set >= counted->second.size()) continue;
    add(in_books[place.node], {counted->second[place.set], std::popcount(place.devices)});
  }
  ByNode extra;
  for (auto& [node, use] : taken) {
    PodUse more = above(std::move(use), in_books[node]);
    if (more != PodUse{}) extra.emplace(node, std::move(more));
  }
  put(attempt, std::move(extra));
}

void ExtraUse::put(const ports::Attempt& attempt, ByNode extra) {
  const auto before = extra_.find(attempt);
  if (before == extra_.end() ? extra.empty() : before->second == extra) return;
  if (before != extra_.end()) {
    for (const auto& [node, use] : before->second) {
      on_node_[node].erase(attempt);
      changed_.insert(node);
    }
    extra_.erase(before);
  }
  for (const auto& [node, use] : extra) {
    on_node_[node].insert(attempt);
    changed_.insert(node);
  }
  if (!extra.empty()) extra_.emplace(attempt, std::move(extra));
}

void ExtraUse::forget(const std::function<bool(const ports::Attempt&)>& is_over) {
  std::vector<ports::Attempt> over;
  for (const auto& [attempt, counted] : counted_) {
    if (is_over(attempt)) over.push_back(attempt);
  }
  for (const ports::Attempt& attempt : over) {
    put(attempt, {});
    counted_.erase(attempt);
  }
}

void ExtraUse::tell(SightChanges& changes) {
  for (const std::string& node : changed_) {
    tell(node, changes);
    if (on_node_[node].empty()) on_node_.erase(node);
  }
  changed_.clear();
}

void ExtraUse::tell_everything(SightChanges& changes) {
  for (const auto& [node, attempts] : on_node_) changed_.insert(node);
  tell(changes);
}

void ExtraUse::tell(const std::string& node, SightChanges& changes) const {
  const std::string uid = uid_of(node);
  const std::string key = "e/" + node;
  PodUse sum;
  for (const ports::Attempt& attempt : on_node_.at(node)) add(sum, extra_.at(attempt).at(node));
  if (sum == PodUse{}) return changes.put(key, model::ForeignPodGone{cluster_, uid});
  model::ForeignPod pod;
  pod.uid = uid;
  pod.node = node;
  pod.requests = std::move(sum.requests);
  pod.gpus = sum.gpus;
  changes.put(key, model::ForeignPodSeen{cluster_, std::move(pod)});
}

}  // namespace muster::clusters
