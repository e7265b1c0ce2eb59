// What people see in a list of AppWrappers and of labelled objects. Plain values.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/appwrapper/facts.h"
#include "net/http.h"
#include "ports/attempt_sights.h"

namespace muster::api {

constexpr const char* wrapper_kind = "AppWrapper";

/// Rows are listed in this order: AppWrappers before labelled objects.
struct RowKey {
  std::string kind = wrapper_kind;
  std::string group = {};  // "": workload.codeflare.dev
  std::string ns = {};
  std::string name = {};
  friend auto operator<=>(const RowKey&, const RowKey&) = default;
};

struct WrapperRow {
  RowKey key = {};
  std::string version = {};  // "v1beta1"
  std::string job = {};
  std::string state = {};  // of AppWrappers: state or phase; of others: of the job
  std::string queue = {};
  std::string reason = {};  // why it waits or failed, in a sentence
  std::string cluster = {};
  std::uint32_t attempt = 0;
  int priority = 0;
  ports::PodCounts pods = {};
  std::string trouble = {};  // why its pods do not start; "": nothing is known to be wrong
  std::vector<std::string> warnings = {};
};

/// What a row says of the job, and of what it waits for.
void put_facts(const WrapperFacts& facts, WrapperRow& row);

/// Which of them.
struct WrapperFilter {
  std::string kind = {};                 // "": of all
  std::string ns = {};                   // likewise
  std::string name = {};                 // likewise
  std::string queue = {};                // likewise
  std::vector<std::string> states = {};  // none: in all
  std::optional<RowKey> after = {};      // where the page before ended
  std::size_t limit = 1000;

  bool wants_kind(const std::string& of_kind) const { return kind.empty() || kind == of_kind; }
  bool wants(const std::string& of_kind, const std::string& of_ns,
             const std::string& of_name) const {
    return wants_kind(of_kind) && (ns.empty() || ns == of_ns) && (name.empty() || name == of_name);
  }
  bool wants_state(std::string_view state) const {
    return states.empty() || std::any_of(states.begin(), states.end(), [&](const auto& one) {
             return net::equals_ignoring_case(one, state);
           });
  }
  bool wants_queue(std::string_view of_queue) const { return queue.empty() || queue == of_queue; }
};
struct WrapperPage {
  std::vector<WrapperRow> rows = {};
  bool has_more = false;
  std::string warning = {};  // why there may be others; ""
  bool is_early = false;     // these may be on their way: the hub has not been listed yet
};

}  // namespace muster::api
