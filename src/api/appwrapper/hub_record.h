// What the hub keeps of one AppWrapper. Plain values; 100,000 of them are kept while they wait.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/appwrapper/facts.h"
#include "api/appwrapper/wrapper_watch.h"

namespace muster::api {

struct HubRecord {
  WrapperKey key = {};
  std::uint16_t uid_at = 0;  // where its uid stands in the id of its job
  std::uint16_t uid_size = 0;
  bool is_v1beta2 = false;
  bool is_gone = false;            // the object
  bool is_foreign = false;         // somebody else manages it
  bool is_final = false;           // it ended before the books can tell
  std::int64_t generation = -1;    // of the spec that was read
  std::uint64_t notes = 0;         // notes_hash of what was read
  std::string_view ended_as = {};  // of one that is final: its state
  bool is_submitting = false;
  bool is_reissuing = false;  // a new edition is on its way
  bool is_left_out = false;   // as its status says; it has no job yet that could say it
  WrapperFacts facts = {};
  const std::string& job() const { return *facts.job; }
  std::string_view uid() const { return std::string_view(job()).substr(uid_at, uid_size); }
};
static_assert(sizeof(HubRecord) <= 592,
              "with its key and place 640 bytes, or the allocator takes 768");

}  // namespace muster::api
