// Labels of pods that no selector asks about. They decide nothing, and many of them name the job:
// in the shape, each such job would be a shape and a line of its own. So the job keeps them beside
// it, and they go back into its shape when a gang comes that asks for their key. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "model/job.h"

namespace muster::sched {

using LabelKeys = std::set<std::string, std::less<>>;

/// Of the pods of one job, in the order of sets and keys. One text: a million jobs may have some.
class SpareLabels {
 public:
  bool empty() const { return text_.empty(); }
  void add(std::uint32_t set, std::string_view key, std::string_view value);
  using Visit =
      std::function<void(std::uint32_t set, std::string_view key, std::string_view value)>;
  void for_each(const Visit& visit) const;
  friend bool operator==(const SpareLabels&, const SpareLabels&) = default;

 private:
  std::string text_;
};

/// What the selectors of its pods ask for.
LabelKeys selector_keys(const model::Gang& gang);

bool has_spare(const model::Gang& gang, const LabelKeys& asked);
/// Takes all labels out of the gang that nobody asks for.
SpareLabels take_spare(model::Gang& gang, const LabelKeys& asked);
/// Puts those of these keys back, and leaves the others. False: there were none.
bool put_back(model::Gang& gang, SpareLabels& spare, const LabelKeys& keys);
/// The gang as it was asked for.
model::Gang whole(model::Gang gang, const SpareLabels& spare);

}  // namespace muster::sched
