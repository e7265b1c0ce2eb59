#include "store/testing/old_database.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "store/sha256.h"
#include "store/testing/random_events.h"
#include "store/testing/sample_books.h"

namespace muster::store {
namespace {

constexpr std::size_t old_kinds = 28;  // of events, when tests/store/journal_v1.golden was written
constexpr std::int64_t old_events = 10 * old_kinds;
constexpr std::string_view payload = "what it runs";

std::string golden(const std::string& name) {
  std::ifstream file("tests/store/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The first of them, in a database that has none.
Status make_part(Connection& connection, Part part, std::span<const std::string_view> steps) {
  if (Status status = connection.open(); !status) return status;
  return migrate(connection, part, steps);
}

Status write(Connection& connection, const std::vector<Batch>& batches) {
  if (Status status = connection.begin(); !status) return status;
  return connection.finish(batches).status;
}

Status fill_books(Connection& connection) {
  const std::string events = golden("journal_v1.golden");
  const std::string named = sha256_hex(payload);
  constexpr std::string_view job =
      "insert into jobs (submit, id, name, user_name, queue, priority, state, attempt, failures, "
      "max_retries, cluster, submitted, started, finished, why, payload, run_limit, pods, gpus) "
      "values ($1, $2, 'train', 'ada', 'research', 50, $3, 1, 0, 2, 'east', 10, 20, $4, $5, $6, "
      "0, 3, 24000)";
  using Text = std::string_view;
  return write(
      connection,
      {{"insert into journal (first, last, events) values (1, $1, $2)",
        2,
        {old_events, Bytes{events}}},
       {job,
        6,
        {std::int64_t{5}, Text("ended"), Text("Failed"), std::int64_t{30}, Text("Failure"),
         Text(named)}},
       {job, 6, {std::int64_t{7}, Text("runs"), Text("Running"), Null{}, Text("None"), Text("")}},
       {"insert into audit (number, at, user_name, request, verb, object, detail) "
        "values (1, 10, 'ada', 'r1', 'submit', 'ended', 'queue research')",
        0,
        {}},
       {"insert into submit_keys (user_name, key, request_hash, jobs, expires) "
        "values ('ada', 'k1', 'h1', $1, 100)",
        1,
        {Bytes{"5:ended4:runs"}}},
       {"update ledger set epoch = 3, commits = 2, last = $1, audits = 1 where one = 1",
        1,
        {old_events}}});
}

Status fill_blobs(Connection& connection) {
  const std::string books = golden("books_v1.golden");
  const std::string chunk = sha256_hex(books) + books;
  const std::string named = sha256_hex(payload);
  return write(connection,
               {{"insert into payloads (hash, touched, bytes) values ($1, 10, $2)",
                 2,
                 {std::string_view(named), Bytes{payload}}},
                {"insert into snapshots (number, sequence, complete) values (1, 9, 1)", 0, {}},
                {"insert into snapshot_chunks (snapshot, number, bytes) values (1, 1, $1)",
                 1,
                 {Bytes{chunk}}}});
}

void expect_old_journal(const ports::Store& store) {
  EXPECT_EQ(store.last(), static_cast<std::uint64_t>(old_events));
  Prng prng(2026);  // the seed of the golden journals
  std::size_t count = 0;
  const Status read = store.read(1, [&](const ports::Entry& entry) {
    EXPECT_TRUE(same(entry.event, random_event(prng, count % old_kinds, Fields::First)))
        << "event " << count;
    ++count;
  });
  EXPECT_TRUE(read) << read.error().message;
  EXPECT_EQ(count, static_cast<std::size_t>(old_events));
  std::size_t books = 0;
  const auto snapshot = store.read_snapshot([&](model::BookRecord&) -> Status {
    ++books;
    return Ok{};
  });
  EXPECT_EQ(snapshot ? *snapshot : 0, 9u);
  EXPECT_EQ(books, sample_books().size());
}

void expect_old_tables(const ports::Store& store) {
  const auto identity = store.identity();
  EXPECT_TRUE(identity && !identity->empty());
  const auto ended = store.job("ended");
  ASSERT_TRUE(ended) << ended.error().message;
  model::JobRow wanted;
  wanted.submit = 5;
  wanted.id = "ended";
  wanted.name = "train";
  wanted.user = "ada";
  wanted.queue = "research";
  wanted.priority = 50;
  wanted.state = model::JobState::Failed;
  wanted.attempt = 1;
  wanted.max_retries = 2;
  wanted.cluster = "east";
  wanted.submitted = Time{10};
  wanted.started = Time{20};
  wanted.finished = Time{30};
  wanted.why = model::EndWhy::Failure;
  wanted.payload = sha256_hex(payload);
  wanted.pods = 3;
  wanted.gpus = {24'000};
  EXPECT_EQ(*ended, wanted);
  const auto listed = store.jobs({.user = "ada", .name_prefix = "tr"}, 0, 10);
  ASSERT_TRUE(listed) << listed.error().message;
  EXPECT_EQ(listed->jobs.size(), 2u);
  const auto bytes = store.payload(wanted.payload);
  EXPECT_EQ(bytes ? *bytes : bytes.error().message, payload);
  const auto audit = store.audit({.user = "ada"}, 0, 10);
  ASSERT_TRUE(audit && audit->rows.size() == 1);
  EXPECT_EQ(audit->rows[0].object, "ended");
  const auto key = store.submit_key("ada", "k1", Time{50});
  ASSERT_TRUE(key && *key);
  EXPECT_EQ((*key)->jobs, (std::vector<std::string>{"ended", "runs"}));
}

}  // namespace

std::size_t older_versions(Dialect dialect) { return migrations(dialect, Part::Books).size() - 1; }

Status make_old_database(const Connect& connect, Dialect dialect, std::size_t version) {
  const auto books = connect(Part::Books);
  const auto blobs = connect(Part::Blobs);
  const auto steps = migrations(dialect, Part::Books).first(version);
  if (Status status = make_part(*books, Part::Books, steps); !status) return status;
  if (Status status = make_part(*blobs, Part::Blobs, migrations(dialect, Part::Blobs).first(1));
      !status)
    return status;
  if (Status status = fill_books(*books); !status) return status;
  return fill_blobs(*blobs);
}

void expect_old_rows(ports::Store& store) {
  expect_old_journal(store);
  expect_old_tables(store);
  // And the books go on where they were.
  model::JobSubmitted submitted;
  submitted.spec.id = "new";
  submitted.spec.user = "ada";
  submitted.labels = {{"team", "vision"}};
  const std::vector<model::Event> events = {{Time{40}, model::Finished{"runs", 1, true, 0, ""}},
                                            {Time{41}, submitted}};
  const auto last = store.commit({events});
  ASSERT_TRUE(last) << last.error().message;
  EXPECT_EQ(*last, static_cast<std::uint64_t>(old_events) + 2);
  EXPECT_EQ(store.job("runs")->state, model::JobState::Succeeded);
  EXPECT_EQ(store.job("runs")->exit_code, 0);
  const auto labelled = store.jobs({.labels = {{"team", "vision"}}}, 0, 10);
  ASSERT_TRUE(labelled && labelled->jobs.size() == 1);
  EXPECT_EQ(labelled->jobs[0].id, "new");
  const auto retained = store.retain(Time{1000}, {.finished_jobs = milliseconds(1)});
  EXPECT_EQ(retained ? retained->jobs : 0, 2u);
}

}  // namespace muster::store
