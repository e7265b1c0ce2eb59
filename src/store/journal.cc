// The journal's part of SqlStore: lead, commit, read, trim.
#include <algorithm>
#include <limits>

#include "store/counted_text.h"
#include "store/event_codec.h"
#include "store/job_table.h"
#include "store/projection.h"
#include "store/sql_store.h"

namespace muster::store {
namespace {

constexpr std::size_t row_bytes = 256 * 1024;  // a row of the journal is full with these
constexpr std::int64_t read_rows = 16;
constexpr std::int64_t trim_rows = 500;       // in one transaction, or so many
constexpr std::int64_t trim_bytes = 4 << 20;  // bytes of events, whichever comes first

std::int64_t whole(std::uint64_t v) { return static_cast<std::int64_t>(v); }
std::uint64_t natural(std::int64_t v) { return static_cast<std::uint64_t>(v); }

Batch audit_rows(const std::vector<ports::AuditRow>& rows, std::uint64_t after) {
  Batch batch{
      "insert into audit (number, at, user_name, request, verb, object, detail) "
      "values ($1, $2, $3, $4, $5, $6, $7)",
      7,
      {}};
  for (const ports::AuditRow& row : rows) {
    const std::array<Value, 7> values = {whole(++after), row.at.ms,  row.user,  row.request,
                                         row.verb,       row.object, row.detail};
    batch.values.insert(batch.values.end(), values.begin(), values.end());
  }
  return batch;
}

Batch payload_rows(std::span<const ports::Payload> payloads) {
  Batch batch{
      "insert into small_payloads (hash, touched, bytes) values ($1, $2, $3) "
      "on conflict (hash) do update set touched = excluded.touched "
      "where small_payloads.touched < excluded.touched",
      3,
      {}};
  for (const ports::Payload& payload : payloads) {
    batch.values.emplace_back(std::string_view(payload.hash));
    batch.values.emplace_back(payload.put.ms);
    batch.values.emplace_back(Bytes{payload.bytes});
  }
  return batch;
}

}  // namespace

/// A commit, ready to be written again after a lost connection.
struct SqlStore::Work {
  struct Key {
    std::string user;
    std::string key;
    std::string request_hash;
    std::string jobs;
    Time expires;
  };
  std::span<const model::Event> events;
  std::vector<JournalRow> rows;  // sequences count from the commit's first event, which is 1
  std::vector<ports::AuditRow> audit;
  std::vector<Key> keys;
  std::span<const ports::Payload> payloads;
  std::string content;  // all of it, to compare

  explicit Work(const ports::Commit& commit) : events(commit.events), payloads(commit.payloads) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (rows.empty() || rows.back().events.size() >= row_bytes) rows.push_back({i + 1, 0, {}});
      encode(events[i], rows.back().events);
      rows.back().last = i + 1;
    }
    for (const JournalRow& row : rows) content += row.events;
    for (ports::AuditRow row : commit.audit) {
      for (std::string* text : {&row.user, &row.request, &row.verb, &row.object, &row.detail}) {
        *text = table_text(*text);
        content += *text + '\0';
      }
      content += fmt::format("{}", row.at.ms);
      audit.push_back(std::move(row));
    }
    for (const ports::SubmitKey& row : commit.keys) {
      std::string jobs;
      for (const std::string& id : row.jobs) add_counted(id, jobs);
      keys.push_back({table_text(row.user), table_text(row.key), table_text(row.request_hash),
                      std::move(jobs), row.expires});
      content += fmt::format("{}\0{}\0{}\0{}{}", keys.back().user, keys.back().key,
                             keys.back().request_hash, keys.back().jobs, row.expires.ms);
    }
    for (const ports::Payload& payload : payloads) content += payload.hash;
  }
};

Result<SqlStore::Ledger> SqlStore::ledger(Connection& connection) {
  Ledger ledger;
  bool found = false;
  const std::string_view sql =
      connection.locks_rows()
          ? "select epoch, commits, first, last, audits from ledger where one = 1 for update"
          : "select epoch, commits, first, last, audits from ledger where one = 1";
  const Status read = connection.run({sql, 0, {}}, [&](const Row& row) {
    found = true;
    ledger = {natural(row.number(0)), natural(row.number(1)), natural(row.number(2)),
              natural(row.number(3)), natural(row.number(4))};
  });
  if (!read) return read.error();
  if (!found) return invalid("store: the table ledger has lost its row");
  return ledger;
}

void SqlStore::follow(const Ledger& ledger) {
  commits_ = ledger.commits;
  last_ = ledger.last;
  doubt_.reset();
}

Result<std::uint64_t> SqlStore::lead() {
  const auto turn = turns_.commit();
  if (Status status = writer_->begin(); !status) return status.error();
  Result<Ledger> now = ledger(*writer_);
  if (!now) {
    writer_->rollback();
    return now.error();
  }
  const std::uint64_t epoch = now->epoch + 1;
  const Batch update{"update ledger set epoch = $1 where one = 1", 1, {whole(epoch)}};
  if (Finish finish = writer_->finish({update}); !finish.status) return finish.status.error();
  epoch_ = epoch;
  follow(*now);
  return epoch;
}

Result<std::uint64_t> SqlStore::commit(const ports::Commit& commit) {
  if (commit.events.empty() && commit.audit.empty() && commit.keys.empty()) return last_.load();
  const Work work(commit);
  const auto turn = turns_.commit();
  Result<std::uint64_t> done = try_commit(work);
  // Lost at the worst moment: look at once whether it was written.
  if (!done && doubt_) done = try_commit(work);
  return done;
}

Result<std::uint64_t> SqlStore::try_commit(const Work& work) {
  if (Status status = writer_->begin(); !status) return status.error();
  const Result<Ledger> now = ledger(*writer_);
  if (!now) {
    writer_->rollback();
    return now.error();
  }
  if (auto settled = settle_doubt(*now, work)) {
    writer_->rollback();
    return *settled;
  }
  const Finish finish = write(work, *now);
  if (!finish.status) {
    if (finish.unknown) doubt_ = Doubt{now->commits + 1, work.content};
    return finish.status.error();
  }
  commits_ = now->commits + 1;
  last_ = now->last + work.events.size();
  return last_.load();
}

/// Nothing if the commit may be written; otherwise what it comes to.
std::optional<Result<std::uint64_t>> SqlStore::settle_doubt(const Ledger& ledger,
                                                            const Work& work) {
  if (ledger.epoch != epoch_) {
    return Error{Fault::Conflict, fmt::format("store: epoch {} leads, this process has epoch {}",
                                              ledger.epoch, epoch_)};
  }
  const std::optional<Doubt> doubt = std::exchange(doubt_, std::nullopt);
  if (doubt && ledger.commits == doubt->commits) {
    if (doubt->content == work.content) {
      follow(ledger);
      return Result<std::uint64_t>(ledger.last);
    }
    return Error{Fault::Conflict,
                 "store: a commit that was given up after a lost connection had been written: "
                 "recover from the journal"};
  }
  if (ledger.commits != commits_) {
    return Error{Fault::Conflict,
                 fmt::format("store: another process wrote {} commits since this one's last: only "
                             "one may write",
                             ledger.commits - commits_)};
  }
  return std::nullopt;
}

Finish SqlStore::write(const Work& work, const Ledger& ledger) {
  Projection projection(work.events);
  std::vector<std::string> ids;
  for (const std::string_view id : projection.needed()) ids.push_back(table_text(id));
  const Status known =
      find_jobs(*writer_, ids, [&](model::JobRow row) { projection.know(std::move(row)); });
  if (!known) {
    writer_->rollback();
    return {known, false};
  }
  projection.fold(ledger.last + 1);

  std::vector<Batch> batches;
  Batch journal{"insert into journal (first, last, events) values ($1, $2, $3)", 3, {}};
  for (const JournalRow& row : work.rows) {
    journal.values.emplace_back(whole(ledger.last + row.first));
    journal.values.emplace_back(whole(ledger.last + row.last));
    journal.values.emplace_back(Bytes{row.events});
  }
  Batch keys{
      "insert into submit_keys (user_name, key, request_hash, jobs, expires) "
      "values ($1, $2, $3, $4, $5) on conflict (user_name, key) do update set "
      "request_hash = excluded.request_hash, jobs = excluded.jobs, "
      "expires = excluded.expires",
      5,
      {}};
  for (const Work::Key& key : work.keys) {
    const std::array<Value, 5> values = {key.user, key.key, key.request_hash, Bytes{key.jobs},
                                         key.expires.ms};
    keys.values.insert(keys.values.end(), values.begin(), values.end());
  }
  const LabelTexts labels(projection.added());
  batches.push_back(std::move(journal));
  batches.push_back(insert_jobs(projection.added(), labels));
  batches.push_back(insert_labels(labels));
  batches.push_back(update_jobs(projection.changed()));
  batches.push_back(audit_rows(work.audit, ledger.audits));
  batches.push_back(std::move(keys));
  batches.push_back(payload_rows(work.payloads));
  batches.push_back({"update ledger set commits = $1, last = $2, audits = $3 where one = 1",
                     3,
                     {whole(ledger.commits + 1), whole(ledger.last + work.events.size()),
                      whole(ledger.audits + work.audit.size())}});
  std::erase_if(batches, [](const Batch& batch) { return batch.values.empty(); });
  return writer_->finish(batches);
}

Status SqlStore::read(std::uint64_t from,
                      const std::function<void(const ports::Entry&)>& each) const {
  constexpr std::uint64_t far = std::numeric_limits<std::int64_t>::max();
  std::uint64_t next = std::min(std::max<std::uint64_t>(from, 1), far);
  ports::Entry entry;
  for (bool more = true; more;) {
    // Copied out first: a lost connection may make the pool ask again.
    std::vector<JournalRow> rows;
    std::uint64_t first = 1;
    const Status found = book_readers_.use([&](Connection& connection) -> Status {
      rows.clear();
      const Status oldest = connection.run({"select first from ledger where one = 1", 0, {}},
                                           [&](const Row& row) { first = natural(row.number(0)); });
      if (!oldest) return oldest;
      return connection.run(
          {"select first, last, events from journal where first >= coalesce((select max(first) "
           "from journal where first <= $1), 0) order by first limit $2",
           2,
           {whole(next), read_rows}},
          [&](const Row& row) {
            rows.push_back(
                {natural(row.number(0)), natural(row.number(1)), std::string(row.text(2))});
          });
    });
    if (!found) return found;
    if (next < first) {
      return Error{Fault::NotFound,
                   fmt::format("store: the journal begins at {}, {} was trimmed: begin with the "
                               "newest snapshot",
                               first, next)};
    }
    more = false;
    for (const JournalRow& row : rows) {
      if (row.last < next) continue;
      std::uint64_t sequence = row.first;
      for (std::string_view bytes = row.events; !bytes.empty(); ++sequence) {
        entry.sequence = sequence;
        if (Status status = decode_into(bytes, entry.event); !status) return status;
        if (sequence >= next) each(entry);
      }
      if (sequence != row.last + 1)
        return invalid(fmt::format("store: the journal has no entry {}", sequence));
      next = row.last + 1;
      more = true;
    }
  }
  return Ok{};
}

Result<std::uint64_t> SqlStore::first_after(Time time, std::uint64_t proven) const {
  // Time in the books never runs backwards: the place is found by halves.
  std::uint64_t low = 0;  // begins at `time` or before
  std::uint64_t high = proven + 1;
  const auto first = [](std::string_view events) -> Result<Time> {
    model::Event event;
    if (Status status = decode_into(events, event); !status) return status.error();
    return event.at;
  };
  while (low + 1 < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    std::optional<JournalRow> row;
    const Status found = book_readers_.use([&](Connection& connection) {
      row.reset();
      return connection.run(
          {"select first, last, events from journal where first <= $1 order by first desc limit 1",
           1,
           {whole(middle)}},
          [&](const Row& r) {
            row = {natural(r.number(0)), natural(r.number(1)), std::string(r.text(2))};
          });
    });
    if (!found) return found.error();
    if (!row || row->first <= low) {  // trimmed before, or known to be early enough
      low = middle;
      continue;
    }
    const Result<Time> at = first(row->events);
    if (!at) return at.error();
    if (*at <= time) {
      low = std::max(row->last, middle);
    } else {
      high = row->first;
    }
  }
  return high;
}

Result<std::uint64_t> SqlStore::trim(std::uint64_t before) {
  const Result<std::uint64_t> snapshot = snapshot_sequence();
  if (!snapshot) return snapshot.error();
  before = std::min(before, *snapshot + 1);
  std::uint64_t removed = 0;
  for (bool more = true; more;) {
    std::uint64_t entries = 0;
    const Status status = keep_house([&](Connection& connection) -> Status {
      std::uint64_t newest = 0;
      std::uint64_t newest_row = 0;
      std::int64_t bytes = 0;
      entries = 0;
      const Status oldest = connection.run({"select first, last, cast(length(events) as bigint) "
                                            "from journal where first < $1 and last < $1 "
                                            "order by first limit $2",
                                            2,
                                            {whole(before), trim_rows}},
                                           [&](const Row& row) {
                                             if (bytes > trim_bytes) return;
                                             bytes += row.number(2);
                                             newest_row = natural(row.number(0));
                                             newest = natural(row.number(1));
                                             entries += natural(row.number(1) - row.number(0) + 1);
                                           });
      if (!oldest || entries == 0) return oldest;
      const Status gone =
          connection.run({"delete from journal where first <= $1", 1, {whole(newest_row)}}, {});
      if (!gone) return gone;
      return connection.run({"update ledger set first = $1 where one = 1", 1, {whole(newest + 1)}},
                            {});
    });
    if (!status) return status.error();
    removed += entries;
    more = entries > 0;
  }
  return removed;
}

}  // namespace muster::store
