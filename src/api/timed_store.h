// A store that says how long its commits take. Everything else goes through as it is.
// Thread contract: that of the store inside; `told` is called on the thread that commits.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include "ports/store.h"

namespace muster::api {

class TimedStore : public ports::Store {
 public:
  /// `told` gets the seconds of each commit and whether it succeeded.
  TimedStore(ports::Store& store, std::function<void(double seconds, bool ok)> told)
      : store_(store), told_(std::move(told)) {}

  Result<std::uint64_t> commit(const ports::Commit& commit) override {
    if (commit.events.empty() && commit.audit.empty() && commit.keys.empty())
      return store_.commit(commit);  // writes nothing: not worth a measure
    const auto begin = std::chrono::steady_clock::now();
    Result<std::uint64_t> result = store_.commit(commit);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    told_(took.count(), result.ok());
    return result;
  }

  Result<std::uint64_t> lead() override { return store_.lead(); }
  Status read(std::uint64_t from,
              const std::function<void(const ports::Entry&)>& each) const override {
    return store_.read(from, each);
  }
  std::uint64_t last() const override { return store_.last(); }
  Status save_snapshot(std::uint64_t sequence, const ports::NextBook& next) override {
    return store_.save_snapshot(sequence, next);
  }
  Result<std::uint64_t> read_snapshot(const ports::EachBook& each) const override {
    return store_.read_snapshot(each);
  }
  Result<std::uint64_t> trim(std::uint64_t before) override { return store_.trim(before); }
  Result<model::JobRow> job(std::string_view id) const override { return store_.job(id); }
  Result<ports::JobPage> jobs(const ports::JobFilter& filter, std::uint64_t before,
                              std::size_t limit) const override {
    return store_.jobs(filter, before, limit);
  }
  Result<ports::AuditPage> audit(const ports::AuditFilter& filter, std::uint64_t before,
                                 std::size_t limit) const override {
    return store_.audit(filter, before, limit);
  }
  Result<std::optional<ports::SubmitKey>> submit_key(std::string_view user, std::string_view key,
                                                     Time now) const override {
    return store_.submit_key(user, key, now);
  }
  std::string payload_hash(std::string_view bytes) const override {
    return store_.payload_hash(bytes);
  }
  Result<std::vector<std::string>> put_payloads(std::span<const std::string_view> payloads,
                                                Time now) override {
    return store_.put_payloads(payloads, now);
  }
  Result<std::string> identity() const override { return store_.identity(); }
  Result<std::string> payload(std::string_view hash) const override { return store_.payload(hash); }
  Result<ports::Retained> retain(Time now, const ports::Limits& limits) override {
    return store_.retain(now, limits);
  }

 private:
  ports::Store& store_;
  std::function<void(double, bool)> told_;
};

}  // namespace muster::api
