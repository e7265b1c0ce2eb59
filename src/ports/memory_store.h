// A store that lives as long as its data: for tests and for the simulator, whose crashes lose
// everything but this. The tables are folded from the journal when somebody first looks at them.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "ports/store.h"

namespace muster::ports {

class MemoryStore : public Store {
 public:
  MemoryStore() : data_(std::make_shared<Data>()) {}

  /// The same data as another process sees it, from now on.
  std::unique_ptr<MemoryStore> another() const {
    auto other = std::make_unique<MemoryStore>();
    other->data_ = data_;
    const std::lock_guard lock(data_->mutex);
    other->epoch_ = data_->epoch;
    other->commits_ = data_->commits;
    other->last_ = data_->last();
    return other;
  }
  /// The next `commits` commits are refused.
  void be_busy(int commits) { busy_ = commits; }

  Result<std::string> identity() const override { return std::string("memory"); }

  Result<std::uint64_t> lead() override {
    const std::lock_guard lock(data_->mutex);
    epoch_ = ++data_->epoch;
    commits_ = data_->commits;
    last_ = data_->last();
    return epoch_;
  }

  Result<std::uint64_t> commit(const Commit& commit) override {
    if (commit.events.empty() && commit.audit.empty() && commit.keys.empty()) return last_;
    if (busy_ > 0) {
      --busy_;
      return Error{Fault::Unavailable, "the store is busy: try again later"};
    }
    const std::lock_guard lock(data_->mutex);
    Data& data = *data_;
    if (data.epoch != epoch_ || data.commits != commits_)
      return Error{Fault::Conflict, "another process writes the journal"};
    data.events.insert(data.events.end(), commit.events.begin(), commit.events.end());
    for (AuditRow row : commit.audit) {
      row.number = ++data.audits;
      data.audit.emplace(row.number, std::move(row));
    }
    for (const Payload& payload : commit.payloads)
      data.put(payload.hash, payload.bytes, payload.put);
    for (const SubmitKey& key : commit.keys) data.keys.insert_or_assign({key.user, key.key}, key);
    commits_ = ++data.commits;
    last_ = data.last();
    return last_;
  }

  Status read(std::uint64_t from, const std::function<void(const Entry&)>& each) const override {
    const std::lock_guard lock(data_->mutex);
    const std::uint64_t first = std::max<std::uint64_t>(from, 1);
    if (first < data_->first)
      return Error{Fault::NotFound, fmt::format("the journal begins at {}", data_->first)};
    for (std::uint64_t sequence = first; sequence <= data_->last(); ++sequence)
      each({sequence, data_->events[sequence - data_->first]});
    return Ok{};
  }

  std::uint64_t last() const override { return last_; }

  Status save_snapshot(std::uint64_t sequence, const NextBook& next) override {
    std::vector<model::BookRecord> books;
    for (;;) {
      Result<std::optional<model::BookRecord>> book = next();
      if (!book) return book.error();
      if (!*book) break;
      books.push_back(std::move(**book));
    }
    const std::lock_guard lock(data_->mutex);
    data_->snapshot = std::move(books);
    data_->snapshot_sequence = sequence;
    return Ok{};
  }
  Result<std::uint64_t> read_snapshot(const EachBook& each) const override {
    const std::lock_guard lock(data_->mutex);
    for (const model::BookRecord& book : data_->snapshot) {
      model::BookRecord copy = book;
      if (Status status = each(copy); !status) return status.error();
    }
    return data_->snapshot_sequence;
  }
  Result<std::uint64_t> trim(std::uint64_t before) override {
    const std::lock_guard lock(data_->mutex);
    return data_->trim(before);
  }

  Result<model::JobRow> job(std::string_view id) const override {
    const std::lock_guard lock(data_->mutex);
    data_->fold();
    const auto it = data_->submits.find(id);
    if (it == data_->submits.end()) return Error{Fault::NotFound, fmt::format("no job {}", id)};
    return data_->jobs.at(it->second);
  }
  Result<JobPage> jobs(const JobFilter& filter, std::uint64_t before,
                       std::size_t limit) const override {
    limit = std::clamp<std::size_t>(limit, 1, page_max);
    const std::lock_guard lock(data_->mutex);
    data_->fold();
    JobPage page;
    auto it = before == 0 ? data_->jobs.end() : data_->jobs.lower_bound(before);
    while (it != data_->jobs.begin()) {
      --it;
      if (!passes(filter, it->second)) continue;
      if (page.jobs.size() == limit) {
        page.next = page.jobs.back().submit;
        break;
      }
      page.jobs.push_back(it->second);
    }
    return page;
  }
  Result<AuditPage> audit(const AuditFilter& filter, std::uint64_t before,
                          std::size_t limit) const override {
    limit = std::clamp<std::size_t>(limit, 1, page_max);
    const std::lock_guard lock(data_->mutex);
    AuditPage page;
    auto it = before == 0 ? data_->audit.end() : data_->audit.lower_bound(before);
    while (it != data_->audit.begin()) {
      --it;
      if (!passes(filter, it->second)) continue;
      if (page.rows.size() == limit) {
        page.next = page.rows.back().number;
        break;
      }
      page.rows.push_back(it->second);
    }
    return page;
  }
  Result<std::optional<SubmitKey>> submit_key(std::string_view user, std::string_view key,
                                              Time now) const override {
    const std::lock_guard lock(data_->mutex);
    const auto it = data_->keys.find({std::string(user), std::string(key)});
    if (it == data_->keys.end() || it->second.expires <= now) return std::optional<SubmitKey>{};
    return std::optional(it->second);
  }

  std::string payload_hash(std::string_view bytes) const override {
    return fmt::format("{:016x}", Hasher().add(bytes).value());
  }
  Result<std::vector<std::string>> put_payloads(std::span<const std::string_view> payloads,
                                                Time now) override {
    const std::lock_guard lock(data_->mutex);
    std::vector<std::string> hashes;
    for (const std::string_view bytes : payloads) {
      hashes.push_back(payload_hash(bytes));
      data_->put(hashes.back(), bytes, now);
    }
    return hashes;
  }
  Result<std::string> payload(std::string_view hash) const override {
    const std::lock_guard lock(data_->mutex);
    const auto it = data_->payloads.find(hash);
    if (it == data_->payloads.end())
      return Error{Fault::NotFound, fmt::format("no payload {}", hash)};
    return it->second.first;
  }

  Result<Retained> retain(Time now, const Limits& limits) override {
    const std::lock_guard lock(data_->mutex);
    data_->fold();
    Retained removed;
    removed.jobs = data_->forget_finished(now, limits);
    if (limits.audit.ms > 0) {
      removed.audit = std::erase_if(
          data_->audit, [&](const auto& item) { return item.second.at <= now - limits.audit; });
    }
    removed.keys =
        std::erase_if(data_->keys, [&](const auto& item) { return item.second.expires <= now; });
    std::set<std::string, std::less<>> named;
    for (const auto& [submit, row] : data_->jobs) named.insert(row.payload);
    if (limits.unnamed_payloads.ms > 0) {
      removed.payloads = std::erase_if(data_->payloads, [&](const auto& item) {
        return item.second.second <= now - limits.unnamed_payloads && !named.contains(item.first);
      });
    }
    if (limits.journal.ms > 0 && limits.proven > 0)
      removed.journal = data_->trim(data_->first_after(now - limits.journal, limits.proven));
    return removed;
  }

 private:
  struct Data {
    std::mutex mutex;
    std::uint64_t epoch = 0;
    std::uint64_t commits = 0;
    std::uint64_t first = 1;
    std::vector<model::Event> events;
    std::vector<model::BookRecord> snapshot;
    std::uint64_t snapshot_sequence = 0;
    std::uint64_t folded = 0;
    std::map<std::uint64_t, model::JobRow> jobs;  // by submit
    std::map<std::string, std::uint64_t, std::less<>> submits;
    std::uint64_t audits = 0;
    std::map<std::uint64_t, AuditRow> audit;
    std::map<std::pair<std::string, std::string>, SubmitKey> keys;
    std::map<std::string, std::pair<std::string, Time>, std::less<>> payloads;

    std::uint64_t last() const { return first + events.size() - 1; }
    void put(const std::string& hash, std::string_view bytes, Time now) {
      auto& kept = payloads[hash];
      kept = {std::string(bytes), std::max(kept.second, now)};
    }
    void fold() {
      for (; folded < last(); ++folded) {
        const model::Event& event = events[folded + 1 - first];
        const std::string* id = model::job_of(event.body);
        if (id == nullptr) continue;
        const auto it = submits.find(*id);
        if (it != submits.end()) {
          model::follow(jobs.at(it->second), event);
        } else if (const auto* submitted = std::get_if<model::JobSubmitted>(&event.body)) {
          submits.emplace(*id, folded + 1);
          jobs.emplace(folded + 1, model::row_of(*submitted, event.at, folded + 1));
        }
      }
    }
    /// Sequence of the first entry later than `time`, or of the one behind `proven`.
    std::uint64_t first_after(Time time, std::uint64_t proven) const {
      std::uint64_t sequence = first;
      while (sequence <= std::min(proven, last()) && events[sequence - first].at <= time)
        ++sequence;
      return sequence;
    }
    std::uint64_t trim(std::uint64_t before) {
      fold();
      before = std::min(before, snapshot_sequence + 1);
      if (before <= first) return 0;
      const std::uint64_t count = before - first;
      events.erase(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(count));
      first = before;
      return count;
    }
    std::uint64_t forget_finished(Time now, const Limits& limits) {
      std::vector<Time> ends;
      for (const auto& [submit, row] : jobs) {
        if (!row.finished.is_never()) ends.push_back(row.finished);
      }
      std::sort(ends.rbegin(), ends.rend());
      std::optional<Time> until;
      if (limits.finished_jobs.ms > 0) until = now - limits.finished_jobs;
      if (limits.finished_jobs_most > 0 && ends.size() > limits.finished_jobs_most)
        until = std::max(until.value_or(Time{0}), ends[limits.finished_jobs_most]);
      if (!until) return 0;
      std::erase_if(submits,
                    [&](const auto& item) { return jobs.at(item.second).finished <= *until; });
      return std::erase_if(jobs, [&](const auto& item) { return item.second.finished <= *until; });
    }
  };

  static bool passes(const AuditFilter& filter, const AuditRow& row) {
    return (filter.user.empty() || filter.user == row.user) &&
           (filter.verb.empty() || filter.verb == row.verb) &&
           (filter.object.empty() || filter.object == row.object) && row.at >= filter.since &&
           row.at < filter.until;
  }
  static bool passes(const JobFilter& filter, const model::JobRow& row) {
    const auto same = [](const std::string& asked, const std::string& has) {
      return asked.empty() || asked == has;
    };
    const bool state =
        filter.states.empty() ||
        std::find(filter.states.begin(), filter.states.end(), row.state) != filter.states.end();
    const bool labels =
        std::all_of(filter.labels.begin(), filter.labels.end(), [&](const auto& asked) {
          const auto has = row.labels.find(asked.first);
          return has != row.labels.end() && has->second == asked.second;
        });
    return state && labels && same(filter.queue, row.queue) && same(filter.user, row.user) &&
           same(filter.cluster, row.cluster) && row.name.starts_with(filter.name_prefix);
  }

  std::shared_ptr<Data> data_;
  std::uint64_t epoch_ = 0;
  std::uint64_t commits_ = 0;
  std::uint64_t last_ = 0;
  std::atomic<int> busy_ = 0;
};

}  // namespace muster::ports
