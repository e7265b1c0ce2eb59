#include "sched/spare_labels.h"

#include <algorithm>
#include <utility>

#include "sched/world.h"

namespace muster::sched {
namespace {

/// Seven bits a byte, the lowest first; the highest bit says that more follow.
void put_number(std::string& text, std::size_t number) {
  for (; number > 127; number >>= 7) text.push_back(static_cast<char>(0x80 | (number & 127)));
  text.push_back(static_cast<char>(number));
}
std::size_t take_number(std::string_view& text) {
  std::size_t number = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(text.front());
    text.remove_prefix(1);
    number |= std::size_t{byte & 127U} << shift;
    if (byte < 128) return number;
  }
}

void put_text(std::string& text, std::string_view added) {
  put_number(text, added.size());
  text.append(added);
}
std::string_view take_text(std::string_view& text) {
  const std::size_t size = take_number(text);
  const std::string_view taken = text.substr(0, size);
  text.remove_prefix(size);
  return taken;
}

void add_keys(const model::LabelSelector& selector, LabelKeys& keys) {
  for (const auto& [key, value] : selector.match_labels) keys.insert(key);
  for (const model::Requirement& r : selector.expressions) keys.insert(r.key);
}

}  // namespace

void SpareLabels::add(std::uint32_t set, std::string_view key, std::string_view value) {
  put_number(text_, set);
  put_text(text_, key);
  put_text(text_, value);
}

void SpareLabels::for_each(const Visit& visit) const {
  for (std::string_view rest = text_; !rest.empty();) {
    const auto set = static_cast<std::uint32_t>(take_number(rest));
    const std::string_view key = take_text(rest);
    visit(set, key, take_text(rest));
  }
}

LabelKeys selector_keys(const model::Gang& gang) {
  LabelKeys keys;
  for (const model::PodSet& set : gang.sets) {
    for (const auto& term : set.pod.pod_affinity) add_keys(term.selector, keys);
    for (const auto& term : set.pod.pod_anti_affinity) add_keys(term.selector, keys);
    for (const auto& spread : set.pod.spread) add_keys(spread.selector, keys);
  }
  return keys;
}

bool has_spare(const model::Gang& gang, const LabelKeys& asked) {
  return std::any_of(gang.sets.begin(), gang.sets.end(), [&](const model::PodSet& set) {
    return std::any_of(set.pod.labels.begin(), set.pod.labels.end(),
                       [&](const auto& label) { return !asked.contains(label.first); });
  });
}

SpareLabels take_spare(model::Gang& gang, const LabelKeys& asked) {
  SpareLabels spare;
  for (std::uint32_t i = 0; i < gang.sets.size(); ++i) {
    std::erase_if(gang.sets[i].pod.labels, [&](const auto& label) {
      if (asked.contains(label.first)) return false;
      spare.add(i, label.first, label.second);
      return true;
    });
  }
  return spare;
}

bool put_back(model::Gang& gang, SpareLabels& spare, const LabelKeys& keys) {
  SpareLabels rest;
  bool has_some = false;
  spare.for_each([&](std::uint32_t set, std::string_view key, std::string_view value) {
    if (!keys.contains(key)) return rest.add(set, key, value);
    gang.sets[set].pod.labels.emplace(key, value);
    has_some = true;
  });
  spare = std::move(rest);
  return has_some;
}

model::Gang whole(model::Gang gang, const SpareLabels& spare) {
  spare.for_each([&](std::uint32_t set, std::string_view key, std::string_view value) {
    gang.sets[set].pod.labels.emplace(key, value);
  });
  return gang;
}

// ----------------------------------------------------------------------------------------------
// in the world

void World::set_gang(Job& job, const model::Gang& gang) {
  ask_labels(gang, Showing::All);
  job.gang_hash = hash_of(gang);
  if (!has_spare(gang, shapes.asked_pod_keys())) {
    job.shape = shapes.intern(gang);
    return;
  }
  model::Gang bare = gang;
  job.spare = take_spare(bare, shapes.asked_pod_keys());
  job.shape = shapes.intern(bare);
}

void World::ask_labels(const model::Gang& gang, Showing showing) {
  LabelKeys keys = selector_keys(gang);
  std::erase_if(keys, [&](const auto& key) { return shapes.asked_pod_keys().contains(key); });
  if (keys.empty()) return;
  std::set<JobSlot> left;
  for (const Orphan& orphan : orphans_) left.insert(orphan.job);
  for (std::uint32_t i = 0; i < jobs_.size(); ++i) {
    const Job& job = jobs_[i];
    if (job.id.empty() || job.spare.empty()) continue;
    const bool may_be_met = job.active || !job.reservation.is_none() || left.contains(JobSlot{i});
    if (showing == Showing::All || may_be_met) show_labels(JobSlot{i}, keys);
  }
  if (showing == Showing::All) shapes.ask_pod_keys(keys);
}

void World::show_labels(JobSlot slot, const LabelKeys& keys) {
  Job& job = jobs_[slot.index()];
  model::Gang gang = shapes[job.shape].gang;
  if (!put_back(gang, job.spare, keys)) return;
  const bool stands = !job.line.is_none();
  if (stands) dequeue(slot);
  const ShapeId old = std::exchange(job.shape, shapes.intern(gang));
  shapes.add_job(job.shape);
  shapes.drop_job(old);
  const std::vector<SetRec> sets = shapes[job.shape].sets;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    shapes.expect(shapes[old].sets[i].pod, -sets[i].count);
    shapes.expect(sets[i].pod, sets[i].count);
  }
  const auto rename = [&](Active& active) {
    for (PodOn& pod : active.pods) {
      pod.pod = sets[pod.set].pod;
      fleet.rename_pod(pod);
    }
  };
  if (job.active) rename(*job.active);
  for (Orphan& orphan : orphans_) {
    if (orphan.job == slot) rename(orphan.active);
  }
  if (stands) enqueue(slot);
}

}  // namespace muster::sched
