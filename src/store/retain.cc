// What SqlStore forgets, and when. In short transactions, each of which lets commits pass.
#include <algorithm>
#include <limits>

#include "store/sql_store.h"

namespace muster::store {
namespace {

constexpr std::uint64_t rows_a_transaction = 250;

std::int64_t whole(std::uint64_t v) { return static_cast<std::int64_t>(v); }

}  // namespace

Status SqlStore::keep_house(const std::function<Status(Connection&)>& work) {
  const std::lock_guard lock(keeper_mutex_);
  const auto turn = turns_.housekeeping();
  return in_transaction(*keeper_, [&] { return work(*keeper_); });
}

/// `batch` deletes and returns rows, at most as many as its last value says.
Status SqlStore::delete_some(const Batch& batch, std::uint64_t most, std::uint64_t& removed) {
  std::uint64_t left = most;
  while (left > 0) {
    const std::uint64_t now = std::min(left, rows_a_transaction);
    Batch part = batch;
    part.values.back() = whole(now);
    std::uint64_t gone = 0;
    const Status status = keep_house([&](Connection& connection) {
      gone = 0;
      return connection.run(part, [&](const Row&) { ++gone; });
    });
    if (!status) return status;
    removed += gone;
    left -= gone;
    if (gone < now) break;
  }
  return Ok{};
}

Status SqlStore::forget_finished(Time now, const ports::Limits& limits, std::uint64_t& removed) {
  std::int64_t until = std::numeric_limits<std::int64_t>::min();
  if (limits.finished_jobs.ms > 0) until = (now - limits.finished_jobs).ms;
  if (limits.finished_jobs_most > 0) {
    const Status counted = book_readers_.use([&](Connection& connection) {
      return connection.run({"select finished from jobs where finished is not null "
                             "order by finished desc limit 1 offset $1",
                             1,
                             {whole(limits.finished_jobs_most)}},
                            [&](const Row& row) { until = std::max(until, row.number(0)); });
    });
    if (!counted) return counted;
  }
  return delete_some({"delete from jobs where submit in (select submit from jobs where finished is "
                      "not null and finished <= $1 order by finished limit $2) returning 1",
                      2,
                      {until, std::int64_t{0}}},
                     limits.rows_at_once, removed);
}

/// A payload that no job may name any more.
struct SqlStore::Unnamed {
  std::string hash;
  std::int64_t touched = 0;
  bool named = false;
};

/// Drops those that a job names.
Status SqlStore::keep_unnamed(std::vector<Unnamed>& payloads) const {
  const Status looked = book_readers_.use([&](Connection& connection) -> Status {
    for (Unnamed& payload : payloads) {
      const Status status = connection.run(
          {"select 1 from jobs where payload <> '' and payload = $1 limit 1", 1, {payload.hash}},
          [&](const Row&) { payload.named = true; });
      if (!status) return status;
    }
    return Ok{};
  });
  std::erase_if(payloads, [](const Unnamed& payload) { return payload.named; });
  return looked;
}

/// Those that came with their submits are in the books, where jobs and payloads change together.
Status SqlStore::collect_small_payloads(Time now, const ports::Limits& limits,
                                        std::uint64_t& removed) {
  std::vector<Unnamed> candidates;
  std::string last;
  std::uint64_t seen = 0;
  const Status listed = book_readers_.use([&](Connection& connection) {
    candidates.clear();
    seen = 0;
    return connection.run(
        {"select hash, touched from small_payloads where hash > $1 order by hash limit $2",
         2,
         {std::string_view(small_collected_), whole(limits.rows_at_once)}},
        [&](const Row& row) {
          ++seen;
          last = std::string(row.text(0));
          if (row.number(1) <= (now - limits.unnamed_payloads).ms)
            candidates.push_back({last, row.number(1), false});
        });
  });
  if (!listed) return listed;
  if (Status status = keep_unnamed(candidates); !status) return status;
  for (std::size_t at = 0; at < candidates.size(); at += rows_a_transaction) {
    Batch gone{
        "delete from small_payloads where hash = $1 and touched = $2 and not exists "
        "(select 1 from jobs where payload <> '' and payload = $1) returning 1",
        2,
        {}};
    for (std::size_t i = at; i < std::min(at + rows_a_transaction, candidates.size()); ++i) {
      gone.values.emplace_back(std::string_view(candidates[i].hash));
      gone.values.emplace_back(candidates[i].touched);
    }
    std::uint64_t deleted = 0;
    const Status done = keep_house([&](Connection& connection) {
      deleted = 0;
      return connection.run(gone, [&](const Row&) { ++deleted; });
    });
    if (!done) return done;
    removed += deleted;
  }
  // The next call goes on behind these; after the last it begins anew.
  small_collected_ = seen >= limits.rows_at_once ? last : "";
  return Ok{};
}

Status SqlStore::collect_payloads(Time now, const ports::Limits& limits, std::uint64_t& removed) {
  std::vector<Unnamed> candidates;
  const Status listed = blob_readers_.use([&](Connection& connection) {
    candidates.clear();
    return connection.run({"select hash, touched from payloads where (touched, hash) > ($1, $2) "
                           "and touched <= $3 order by touched, hash limit $4",
                           4,
                           {collected_.first, collected_.second, (now - limits.unnamed_payloads).ms,
                            whole(limits.rows_at_once)}},
                          [&](const Row& row) {
                            candidates.push_back({std::string(row.text(0)), row.number(1), false});
                          });
  });
  if (!listed) return listed;
  // The next call goes on behind these; after the last it begins anew.
  std::pair<std::int64_t, std::string> next;
  if (candidates.size() >= limits.rows_at_once && !candidates.empty())
    next = {candidates.back().touched, candidates.back().hash};
  if (Status status = keep_unnamed(candidates); !status) return status;
  // Unless it was put again meanwhile: then somebody is about to name it.
  Batch gone{"delete from payloads where hash = $1 and touched = $2 returning 1", 2, {}};
  for (const Unnamed& candidate : candidates) {
    gone.values.emplace_back(std::string_view(candidate.hash));
    gone.values.emplace_back(candidate.touched);
  }
  const std::lock_guard lock(blobs_mutex_);
  std::uint64_t deleted = 0;
  const Status done = in_transaction(*blobs_, [&] {
    deleted = 0;
    return blobs_->run(gone, [&](const Row&) { ++deleted; });
  });
  if (!done) return done;
  removed += deleted;
  collected_ = next;
  return Ok{};
}

Result<ports::Retained> SqlStore::retain(Time now, const ports::Limits& limits) {
  ports::Retained removed;
  if (Status status = forget_finished(now, limits, removed.jobs); !status) return status.error();
  if (limits.audit.ms > 0) {
    const Status status =
        delete_some({"delete from audit where number in (select number from audit where at <= $1 "
                     "order by at limit $2) returning 1",
                     2,
                     {(now - limits.audit).ms, std::int64_t{0}}},
                    limits.rows_at_once, removed.audit);
    if (!status) return status.error();
  }
  const Status keys = delete_some(
      {"delete from submit_keys where (user_name, key) in (select user_name, key from submit_keys "
       "where expires <= $1 order by expires limit $2) returning 1",
       2,
       {now.ms, std::int64_t{0}}},
      limits.rows_at_once, removed.keys);
  if (!keys) return keys.error();
  if (limits.unnamed_payloads.ms > 0) {
    if (Status status = collect_payloads(now, limits, removed.payloads); !status)
      return status.error();
    if (Status status = collect_small_payloads(now, limits, removed.payloads); !status)
      return status.error();
  }
  if (limits.journal.ms > 0 && limits.proven > 0) {
    const Result<std::uint64_t> before = first_after(now - limits.journal, limits.proven);
    if (!before) return before.error();
    const Result<std::uint64_t> trimmed = trim(*before);
    if (!trimmed) return trimmed.error();
    removed.journal = *trimmed;
  }
  return removed;
}

}  // namespace muster::store
