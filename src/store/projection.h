// Which rows of the table `jobs` a batch of events adds and changes. First the ids whose rows must
// be known, then the fold over them (model/job_row.h). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "model/event.h"
#include "model/job_row.h"

namespace muster::store {

class Projection {
 public:
  /// `events` must outlive this.
  explicit Projection(std::span<const model::Event> events) : events_(events) {}

  /// Ids whose rows, if they exist, must be given to know() before fold().
  std::vector<std::string_view> needed() const;
  void know(model::JobRow row);
  /// `first`: the sequence of the first event.
  void fold(std::uint64_t first);

  /// New rows, in the order of their submits. A job that is already there must be left as it is.
  const std::vector<model::JobRow>& added() const { return added_; }
  const std::vector<model::JobRow>& changed() const { return changed_; }

 private:
  struct Seen {
    model::JobRow row;
    bool is_new = false;
    bool differs = false;
  };
  std::span<const model::Event> events_;
  std::vector<Seen> seen_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::vector<model::JobRow> added_;
  std::vector<model::JobRow> changed_;
};

/// Text that both databases take: without zeros, and valid UTF-8; what is not becomes U+FFFD.
std::string table_text(std::string_view text);

}  // namespace muster::store
