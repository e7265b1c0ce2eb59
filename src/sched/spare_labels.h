// Labels of pods that no selector asks about. They decide nothing, and many of them name the job:
// in the shape, each such job would be a shape and a line of its own. So the job keeps them beside
// it, and they go back into its shape when a gang comes that asks for them. Pure.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/job.h"
#include "sched/ids.h"

namespace muster::sched {

/// What selectors of pods ask for: a key whatever its value, or certain values of it. To a selector
/// that names values all others are alike, and as none at all.
class AskedLabels {
 public:
  void add(std::string_view key) { keys_[std::string(key)].any = true; }
  void add(std::string_view key, std::string_view value) {
    keys_[std::string(key)].values.emplace(value);
  }
  void add(const AskedLabels& others);
  bool empty() const { return keys_.empty(); }
  bool has(std::string_view key, std::string_view value) const;
  /// What is not asked for there.
  AskedLabels without(const AskedLabels& others) const;
  /// No value: whatever it is.
  using Visit =
      std::function<void(const std::string& key, const std::optional<std::string>& value)>;
  void for_each(const Visit& visit) const;
  friend bool operator==(const AskedLabels&, const AskedLabels&) = default;

 private:
  struct Values {
    bool any = false;
    std::set<std::string, std::less<>> values = {};
    friend bool operator==(const Values&, const Values&) = default;
  };
  std::map<std::string, Values, std::less<>> keys_;
};

/// By the pods of this gang.
AskedLabels asked_by(const model::Gang& gang);

/// Of the pods of one job, in the order of sets and keys. One text: a million jobs may have some.
class SpareLabels {
 public:
  bool empty() const { return text_.empty(); }
  void add(std::uint32_t set, std::string_view key, std::string_view value);
  using Visit =
      std::function<void(std::uint32_t set, std::string_view key, std::string_view value)>;
  void for_each(const Visit& visit) const;
  bool has_some(const AskedLabels& asked) const;
  friend bool operator==(const SpareLabels&, const SpareLabels&) = default;

 private:
  std::string text_;
};

/// For a trial the labels that its gang would be the first to ask for are shown on the jobs that
/// have a place. Lines and counts stay as they are. What such a job had before:
struct ShownLabels {
  JobSlot job;
  ShapeId shape;
  SpareLabels spare;
};

/// How many jobs have each, and each key, so that nobody is searched for what nobody has, and one
/// that alone has it is found. By hashes: two that share one are counted together.
class SpareCounts {
 public:
  void add(const SpareLabels& labels, JobSlot job, int change);
  bool may_have(const AskedLabels& asked) const;
  /// All who may have some; nothing if only a search tells.
  std::optional<std::vector<JobSlot>> who_may_have(const AskedLabels& asked) const;
  friend bool operator==(const SpareCounts&, const SpareCounts&) = default;

 private:
  struct Holders {
    std::int32_t jobs = 0;
    std::uint32_t slots = 0;  // the sum of theirs, round the end: of one it is its own
    friend bool operator==(const Holders&, const Holders&) = default;
  };
  boost::unordered_flat_map<std::uint64_t, Holders> holders_;  // lookup-only
};

bool has_spare(const model::Gang& gang, const AskedLabels& asked);
/// Takes all labels out of the gang that nobody asks for.
SpareLabels take_spare(model::Gang& gang, const AskedLabels& asked);
/// Puts those that are asked for back, and leaves the others.
void put_back(model::Gang& gang, SpareLabels& spare, const AskedLabels& asked);
/// The gang as it was asked for.
model::Gang whole(model::Gang gang, const SpareLabels& spare);

}  // namespace muster::sched
