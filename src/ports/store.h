// What Muster remembers. The journal holds the books in the order they happened: World is the fold
// of it. Beside it stand the tables people query (jobs, audit, keys of repeated submits), written
// in the journal's transaction, so that a list never disagrees with the books; snapshots, which let
// a restart skip most of the journal; and payloads, kept once by their hash.
//
// Faults: Unavailable (database lost, disk full) may be tried again and heals by itself at a later
// call. Conflict means that the books went on without the caller: another leader writes now, or
// what was given up after a lost connection turned out to be written. It must recover again from
// the journal before it goes on.
//
// Thread contract: lead and commit from one thread, the loop's; save_snapshot from one other,
// retain from one more. Everything else from any thread. Calls block while the disk or the database
// works; none waits for a snapshot to be written.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/books.h"
#include "model/event.h"
#include "model/job_row.h"

namespace muster::ports {

struct Entry {
  std::uint64_t sequence = 0;
  model::Event event;
};

/// Who asked for what.
struct AuditRow {
  std::uint64_t number = 0;  // given by the store: newer rows have greater ones
  Time at;
  std::string user;
  std::string request;  // id of the request
  std::string verb;
  std::string object;
  std::string detail;
  friend bool operator==(const AuditRow&, const AuditRow&) = default;
};

/// A submit that carried an idempotency key, to be answered again with the same jobs.
struct SubmitKey {
  std::string user;
  std::string key;
  std::string request_hash;  // another request under the same key is the caller's mistake
  std::vector<std::string> jobs;
  Time expires;
  friend bool operator==(const SubmitKey&, const SubmitKey&) = default;
};

/// What a job runs, by its hash.
struct Payload {
  std::string hash;
  std::string bytes;
  Time put;
};

/// What becomes durable together.
struct Commit {
  std::span<const model::Event> events;
  std::span<const AuditRow> audit = {};
  std::span<const SubmitKey> keys = {};  // a key that is there already is replaced
  /// Few and small ones that the events name: they cost no sync of their own.
  std::span<const Payload> payloads = {};
};

/// Empty parts do not filter.
struct JobFilter {
  std::vector<model::JobState> states = {};
  std::string queue = {};
  std::string user = {};
  std::string cluster = {};
  std::string name_prefix = {};
  model::Labels labels = {};  // all of them
};
/// Of a label as key=value: a longer one is shown, but not found.
constexpr std::size_t label_bytes_max = 1024;

/// Newest first. `next` is where the following page begins; 0: this was the last. The work for a
/// page is bounded, so a page of a filter that few jobs pass may be short, even empty, and still
/// have a next.
struct JobPage {
  std::vector<model::JobRow> jobs;
  std::uint64_t next = 0;
};
/// Empty parts do not filter.
struct AuditFilter {
  std::string user = {};
  std::string verb = {};
  std::string object = {};
  Time since = {};             // of this time and later
  Time until = Time::never();  // earlier than this
};
struct AuditPage {
  std::vector<AuditRow> rows;
  std::uint64_t next = 0;
};
constexpr std::size_t page_max = 1000;  // rows; a greater limit is cut to this

/// How much is kept. 0 ms or 0 entries: no limit.
struct Limits {
  Duration finished_jobs = hours(24 * 30);
  std::uint64_t finished_jobs_most = 1'000'000;
  Duration audit = hours(24 * 365);
  Duration unnamed_payloads = hours(1);  // a payload comes before the job that names it
  Duration journal = hours(24 * 7);      // of entries that `proven` covers
  /// Entries up to here are in a snapshot that was read back and found right; none other go.
  std::uint64_t proven = 0;
  std::uint64_t rows_at_once = 10'000;  // of each kind in a call: the rest goes in the next
};

/// What a call of retain removed.
struct Retained {
  std::uint64_t jobs = 0;
  std::uint64_t audit = 0;
  std::uint64_t keys = 0;
  std::uint64_t payloads = 0;
  std::uint64_t journal = 0;  // entries
  friend bool operator==(const Retained&, const Retained&) = default;
};

/// None: there are no more. An error gives the snapshot up.
using NextBook = std::function<Result<std::optional<model::BookRecord>>()>;
/// May move from it.
using EachBook = std::function<Status(model::BookRecord&)>;

class Store {
 public:
  virtual ~Store() = default;

  /// Made with the store and the same for ever: tells the work of several servers apart. Small
  /// letters and digits.
  virtual Result<std::string> identity() const = 0;

  // ---- the journal
  /// Takes the lead: whoever led before gets Conflict from now on. Returns the new epoch. Not
  /// needed where there is one process only; before the first call everybody may commit.
  virtual Result<std::uint64_t> lead() = 0;
  /// All of it or nothing of it, durable when it returns. Sequence numbers are contiguous and start
  /// at 1. Returns the last one in the journal. Nothing to write changes nothing.
  virtual Result<std::uint64_t> commit(const Commit& commit) = 0;
  /// Every entry with a sequence of `from` or more, in order. NotFound if it was trimmed.
  virtual Status read(std::uint64_t from, const std::function<void(const Entry&)>& each) const = 0;
  /// Of the newest entry that this process wrote or found at the start; 0 for an empty journal.
  virtual std::uint64_t last() const = 0;

  // ---- snapshots
  /// Writes what `next` gives until it gives nothing, in pieces, while commits go on. It counts
  /// only when it is complete: one that failed or was interrupted is as if it had never begun.
  virtual Status save_snapshot(std::uint64_t sequence, const NextBook& next) = 0;
  /// The records of the newest complete snapshot, in order, until `each` returns an error, which is
  /// then returned. Returns its sequence; 0: there is none.
  virtual Result<std::uint64_t> read_snapshot(const EachBook& each) const = 0;
  /// Forgets entries before `before`, of those that the newest complete snapshot holds. Whole
  /// commits go, so some more may stay. Returns how many went.
  virtual Result<std::uint64_t> trim(std::uint64_t before) = 0;

  // ---- the tables
  /// Fault::NotFound if there is no such job, or no more.
  virtual Result<model::JobRow> job(std::string_view id) const = 0;
  /// Those before `before` (0: the newest), at most `limit`.
  virtual Result<JobPage> jobs(const JobFilter& filter, std::uint64_t before,
                               std::size_t limit) const = 0;
  virtual Result<AuditPage> audit(const AuditFilter& filter, std::uint64_t before,
                                  std::size_t limit) const = 0;
  /// None if it is unknown or expired at `now`.
  virtual Result<std::optional<SubmitKey>> submit_key(std::string_view user, std::string_view key,
                                                      Time now) const = 0;

  // ---- payloads
  /// The name of a payload: SHA-256 in hex, where it is durable.
  virtual std::string payload_hash(std::string_view bytes) const = 0;
  /// Durable when it returns: a hash for each, in the same order. Give many at once: it costs one
  /// sync. `now` keeps them from being collected before the submit that names them.
  virtual Result<std::vector<std::string>> put_payloads(std::span<const std::string_view> payloads,
                                                        Time now) = 0;
  virtual Result<std::string> payload(std::string_view hash) const = 0;

  /// Removes what is past its limits. Says how much that was; call again soon while it removes.
  virtual Result<Retained> retain(Time now, const Limits& limits) = 0;
};

}  // namespace muster::ports
