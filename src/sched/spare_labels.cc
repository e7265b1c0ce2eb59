#include "sched/spare_labels.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
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

void add_asked(const model::LabelSelector& selector, AskedLabels& asked) {
  for (const auto& [key, value] : selector.match_labels) asked.add(key, value);
  for (const model::Requirement& r : selector.expressions) {
    // To the others each value is another one, also those that nobody has yet.
    const bool names_values = r.op == model::Operator::In || r.op == model::Operator::NotIn;
    if (!names_values) {
      asked.add(r.key);
    } else {
      for (const std::string& value : r.values) asked.add(r.key, value);
    }
  }
}

std::uint64_t hash_of_key(std::string_view key) { return Hasher().add(key).value(); }
std::uint64_t hash_of_label(std::string_view key, std::string_view value) {
  return Hasher().add(key).add(value).value();
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

bool SpareLabels::has_some(const AskedLabels& asked) const {
  bool found = false;
  for_each([&](std::uint32_t, std::string_view key, std::string_view value) {
    found = found || asked.has(key, value);
  });
  return found;
}

void SpareCounts::add(const SpareLabels& labels, JobSlot job, int change) {
  std::set<std::uint64_t> hashes;  // several sets of a job may have the same
  labels.for_each([&](std::uint32_t, std::string_view key, std::string_view value) {
    hashes.insert(hash_of_key(key));
    hashes.insert(hash_of_label(key, value));
  });
  for (const std::uint64_t hash : hashes) {
    const auto at = holders_.try_emplace(hash).first;
    at->second.jobs += change;
    at->second.slots += change > 0 ? job.v : -job.v;
    if (at->second.jobs == 0) holders_.erase(at);
  }
}

bool SpareCounts::may_have(const AskedLabels& asked) const {
  const auto who = who_may_have(asked);
  return !who || !who->empty();
}

std::optional<std::vector<JobSlot>> SpareCounts::who_may_have(const AskedLabels& asked) const {
  std::set<JobSlot> found;
  bool are_all_known = true;
  asked.for_each([&](const std::string& key, const std::optional<std::string>& value) {
    const auto at = holders_.find(value ? hash_of_label(key, *value) : hash_of_key(key));
    if (at == holders_.end()) return;
    are_all_known = are_all_known && at->second.jobs == 1;
    found.insert(JobSlot{at->second.slots});
  });
  if (!are_all_known) return std::nullopt;
  return std::vector<JobSlot>(found.begin(), found.end());
}

void AskedLabels::add(const AskedLabels& others) {
  for (const auto& [key, theirs] : others.keys_) {
    Values& ours = keys_[key];
    ours.any = ours.any || theirs.any;
    ours.values.insert(theirs.values.begin(), theirs.values.end());
  }
}

bool AskedLabels::has(std::string_view key, std::string_view value) const {
  const auto at = keys_.find(key);
  return at != keys_.end() && (at->second.any || at->second.values.contains(value));
}

AskedLabels AskedLabels::without(const AskedLabels& others) const {
  AskedLabels rest;
  for (const auto& [key, ours] : keys_) {
    const auto at = others.keys_.find(key);
    if (at != others.keys_.end() && at->second.any) continue;
    if (ours.any) rest.add(key);
    for (const std::string& value : ours.values) {
      if (!others.has(key, value)) rest.add(key, value);
    }
  }
  return rest;
}

void AskedLabels::for_each(const Visit& visit) const {
  for (const auto& [key, values] : keys_) {
    if (values.any) visit(key, std::nullopt);
    for (const std::string& value : values.values) visit(key, value);
  }
}

AskedLabels asked_by(const model::Gang& gang) {
  AskedLabels asked;
  for (const model::PodSet& set : gang.sets) {
    for (const auto& term : set.pod.pod_affinity) add_asked(term.selector, asked);
    for (const auto& term : set.pod.pod_anti_affinity) add_asked(term.selector, asked);
    for (const auto& spread : set.pod.spread) add_asked(spread.selector, asked);
  }
  return asked;
}

bool has_spare(const model::Gang& gang, const AskedLabels& asked) {
  return std::any_of(gang.sets.begin(), gang.sets.end(), [&](const model::PodSet& set) {
    return std::any_of(set.pod.labels.begin(), set.pod.labels.end(),
                       [&](const auto& label) { return !asked.has(label.first, label.second); });
  });
}

SpareLabels take_spare(model::Gang& gang, const AskedLabels& asked) {
  SpareLabels spare;
  for (std::uint32_t i = 0; i < gang.sets.size(); ++i) {
    std::erase_if(gang.sets[i].pod.labels, [&](const auto& label) {
      if (asked.has(label.first, label.second)) return false;
      spare.add(i, label.first, label.second);
      return true;
    });
  }
  return spare;
}

void put_back(model::Gang& gang, SpareLabels& spare, const AskedLabels& asked) {
  SpareLabels rest;
  spare.for_each([&](std::uint32_t set, std::string_view key, std::string_view value) {
    if (!asked.has(key, value)) return rest.add(set, key, value);
    gang.sets[set].pod.labels.emplace(key, value);
  });
  spare = std::move(rest);
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
  ask_labels(asked_by(gang).without(shapes.asked_labels()));
  job.gang_hash = hash_of(gang);
  if (!has_spare(gang, shapes.asked_labels())) {
    job.shape = shapes.intern(gang);
    return;
  }
  model::Gang bare = gang;
  job.spare = take_spare(bare, shapes.asked_labels());
  job.shape = shapes.intern(bare);
}

void World::ask_labels(const AskedLabels& asked) {
  if (asked.empty()) return;
  const auto who = spare_counts_.who_may_have(asked);
  const std::set<JobSlot> left = !who || !who->empty() ? left_behind() : std::set<JobSlot>();
  const auto show_if_met = [&](JobSlot slot) {
    const Job& job = jobs_[slot.index()];
    const bool can_be_met = !model::is_final(job.state) || job.active || left.contains(slot);
    if (can_be_met && job.spare.has_some(asked)) show_labels(slot, asked);
  };
  if (who) {
    for (const JobSlot slot : *who) show_if_met(slot);
  } else {
    for (std::uint32_t i = 0; i < jobs_.size(); ++i) show_if_met(JobSlot{i});
  }
  shapes.ask_labels(asked);
}

std::set<JobSlot> World::left_behind() const {
  std::set<JobSlot> left;
  for (const Orphan& orphan : orphans_) left.insert(orphan.job);
  return left;
}

void World::show_labels(JobSlot slot, const AskedLabels& asked) {
  Job& job = jobs_[slot.index()];
  model::Gang gang = shapes[job.shape].gang;
  spare_counts_.add(job.spare, slot, -1);
  put_back(gang, job.spare, asked);
  spare_counts_.add(job.spare, slot, +1);
  const bool stands = !job.line.is_none();
  if (stands) dequeue(slot);
  const ShapeId old = job.shape;
  take_shape(slot, shapes.intern(gang));
  shapes.add_job(job.shape);
  shapes.drop_job(old);
  const std::vector<SetRec>& sets = shapes[job.shape].sets;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    shapes.expect(shapes[old].sets[i].pod, -sets[i].count);
    shapes.expect(sets[i].pod, sets[i].count);
  }
  if (stands) enqueue(slot);
}

/// The pods that it has on nodes are of that shape too, then.
void World::take_shape(JobSlot slot, ShapeId shape) {
  Job& job = jobs_[slot.index()];
  job.shape = shape;
  const std::vector<SetRec>& sets = shapes[shape].sets;
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
}

std::vector<ShownLabels> World::show_for_trial(const model::Gang& gang) {
  std::vector<ShownLabels> shown;
  const AskedLabels asked = asked_by(gang).without(shapes.asked_labels());
  if (!spare_counts_.may_have(asked)) return shown;
  std::set<JobSlot> placed = left_behind();
  for (const auto& slots : active_) placed.insert(slots.begin(), slots.end());
  for (const Reservation& r : reservations_) {
    if (!r.job.is_none() && r.preempting) placed.insert(r.job);
  }
  for (const JobSlot slot : placed) {
    Job& job = jobs_[slot.index()];
    if (!job.spare.has_some(asked)) continue;
    shown.push_back({slot, job.shape, job.spare});
    model::Gang whole = shapes[job.shape].gang;
    put_back(whole, job.spare, asked);
    take_shape(slot, shapes.intern(whole));
  }
  return shown;
}

void World::hide_again(const std::vector<ShownLabels>& shown) {
  for (const ShownLabels& one : shown) {
    take_shape(one.job, one.shape);
    jobs_[one.job.index()].spare = one.spare;
  }
}

}  // namespace muster::sched
