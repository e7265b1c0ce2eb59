// The contract on SQLite, and what only a real file shows.
#include <sqlite3.h>

#include <filesystem>
#include <fstream>

#include "base/testing/scratch.h"
#include "ports/store_filters_contract.h"
#include "ports/store_payloads_contract.h"
#include "ports/store_tables_contract.h"
#include "store/open.h"
#include "store/sqlite/connection.h"
#include "store/testing/old_database.h"

namespace muster::store {
namespace {

struct SqliteHarness {
  static std::string skip() { return {}; }
  ports::Store& store() { return *kept; }
  ports::Store& reopened() {
    kept.reset();
    kept = another();
    return *kept;
  }
  std::unique_ptr<ports::Store> another() const {
    auto store = open_sqlite(scratch.file("muster.db"));
    MUSTER_CHECK(store.ok(), "{}", store.error().message);
    return std::move(*store);
  }
  Scratch scratch;
  std::unique_ptr<ports::Store> kept = another();
};

/// A look into the file beside the store.
class Database {
 public:
  explicit Database(const std::filesystem::path& file) {
    MUSTER_CHECK(sqlite3_open(file.c_str(), &db_) == SQLITE_OK, "open");
  }
  ~Database() { sqlite3_close(db_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  /// Last columns of the answer's rows, a line each.
  std::string run(const std::string& sql) {
    std::string text;
    char* error = nullptr;
    const auto each = [](void* to, int columns, char** values, char**) {
      *static_cast<std::string*>(to) += std::string(values[columns - 1]) + "\n";
      return 0;
    };
    if (sqlite3_exec(db_, sql.c_str(), each, &text, &error) != SQLITE_OK) text = error;
    sqlite3_free(error);
    return text;
  }

 private:
  sqlite3* db_ = nullptr;
};

TEST(Sqlite, ADatabaseOfANewerSchemaIsRefusedAndNotTouched) {
  SqliteHarness harness;
  harness.kept.reset();
  const std::filesystem::path file = harness.scratch.file("muster.db");
  Database(file).run("update schema_version set version = 1000");
  const auto refused = open_sqlite(file);
  ASSERT_FALSE(refused);
  const std::string& why = refused.error().message;
  EXPECT_TRUE(
      why.starts_with("store: the database has version 1000 of the schema of its books, "
                      "this Muster knows up to "))
      << why;
  EXPECT_TRUE(why.ends_with(": start the newer Muster that wrote it")) << why;
  EXPECT_EQ(Database(file).run("select version from schema_version"), "1000\n");
}

TEST(Sqlite, ADatabaseOfEveryOlderSchemaIsBroughtForwardWithItsRows) {
  for (std::size_t version = 1; version <= older_versions(Dialect::Sqlite); ++version) {
    SCOPED_TRACE(version);
    const Scratch scratch;
    const Connect connect = [&](Part part) {
      return connect_sqlite(scratch.file(part == Part::Books ? "muster.db" : "muster-blobs.db"),
                            "");
    };
    const Status made = make_old_database(connect, Dialect::Sqlite, version);
    ASSERT_TRUE(made) << made.error().message;
    const auto store = open_sqlite(scratch.file("muster.db"));
    ASSERT_TRUE(store) << store.error().message;
    expect_old_rows(**store);
  }
}

TEST(Sqlite, AFileThatIsNoDatabaseIsRefused) {
  const Scratch scratch;
  const std::filesystem::path file = scratch.file("muster.db");
  std::ofstream(file) << std::string(4096, 'x');
  const auto refused = open_sqlite(file);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::Invalid);
}

TEST(Sqlite, PagesOfAListComeFromAnIndex) {
  SqliteHarness harness;
  Database database(harness.scratch.file("muster.db"));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"state = 'Waiting'", "jobs_state"},
      {"user_name = 'u' and state = 'Waiting'", "jobs_user"},
      {"queue = 'q' and state = 'Waiting'", "jobs_queue"},
      {"cluster <> '' and cluster = 'c' and state = 'Running'", "jobs_cluster"},
  };
  for (const auto& [where, index] : cases) {
    const std::string plan = database.run("explain query plan select * from jobs where " + where +
                                          " and submit < 9 order by submit desc limit 10");
    EXPECT_NE(plan.find("USING INDEX " + index), std::string::npos) << plan;
    EXPECT_EQ(plan.find("TEMP B-TREE"), std::string::npos) << plan;
  }
}

TEST(Sqlite, PagesOfTheAuditComeFromAnIndex) {
  SqliteHarness harness;
  Database database(harness.scratch.file("muster.db"));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"user_name = 'u'", "audit_user"},
      {"object = 'o'", "audit_object"},
      {"verb <> 'submit' and verb = $1", "audit_verb"},
  };
  for (const auto& [where, index] : cases) {
    const std::string plan = database.run("explain query plan select * from audit where " + where +
                                          " and number < 9 order by number desc limit 10");
    EXPECT_NE(plan.find("USING INDEX " + index), std::string::npos) << plan;
    EXPECT_EQ(plan.find("TEMP B-TREE"), std::string::npos) << plan;
  }
}

TEST(Sqlite, AFilterThatFewRowsOfTheAuditPassTakesSeveralPages) {
  SqliteHarness harness;
  std::vector<ports::AuditRow> rows;
  for (int i = 0; i < 5000; ++i)
    rows.push_back({0, Time{1}, i == 7 ? "eve" : "ada", "", "submit", "x", ""});
  ASSERT_TRUE(harness.store().commit({{}, rows, {}}));
  const ports::AuditFilter filter{.user = "eve", .object = "x"};
  std::vector<std::uint64_t> found;
  std::uint64_t before = 0;
  int pages = 0;
  do {
    const auto page = harness.store().audit(filter, before, 10);
    ASSERT_TRUE(page);
    for (const ports::AuditRow& row : page->rows) found.push_back(row.number);
    before = page->next;
    ++pages;
  } while (before != 0);
  EXPECT_EQ(found, std::vector<std::uint64_t>{8});
  EXPECT_EQ(pages, 3);
}

TEST(Sqlite, PagesOfALabelComeFromItsIndex) {
  SqliteHarness harness;
  Database database(harness.scratch.file("muster.db"));
  const std::string plan = database.run(
      "explain query plan select * from job_labels join jobs on submit = job "
      "where label = 'a=b' and job < 9 order by job desc limit 10");
  EXPECT_NE(plan.find("SEARCH job_labels USING PRIMARY KEY"), std::string::npos) << plan;
  EXPECT_NE(plan.find("SEARCH jobs USING INTEGER PRIMARY KEY"), std::string::npos) << plan;
  EXPECT_EQ(plan.find("TEMP B-TREE"), std::string::npos) << plan;
}

TEST(Sqlite, AFilterThatFewPassTakesSeveralPages) {
  SqliteHarness harness;
  for (int part = 0; part < 4; ++part) {
    std::vector<model::Event> events;
    for (int i = 0; i < 3000; ++i) {
      model::JobSubmitted event;
      event.spec.id = fmt::format("{}-{}", part, i);
      event.spec.user = "ada";
      event.spec.queue = part == 0 && i < 3 ? "rare" : "common";
      event.spec.name = part == 1 && i == 7 ? "rare" : "common";
      events.push_back({Time{1}, event});
    }
    ASSERT_TRUE(harness.store().commit({events}));
  }
  // 12,000 jobs of ada, three of them in `rare`, all at the far end: 2,000 are looked at a page.
  std::vector<std::string> found;
  std::uint64_t before = 0;
  int pages = 0;
  do {
    const auto page = harness.store().jobs({.queue = "rare", .user = "ada"}, before, 10);
    ASSERT_TRUE(page);
    for (const model::JobRow& row : page->jobs) found.push_back(row.id);
    before = page->next;
    ++pages;
  } while (before != 0);
  EXPECT_EQ(found, (std::vector<std::string>{"0-2", "0-1", "0-0"}));
  EXPECT_EQ(pages, 7);  // the last one finds that nothing is left
  // A rare name is found at once.
  const auto named = harness.store().jobs({.name_prefix = "rar"}, 0, 10);
  ASSERT_EQ(named->jobs.size(), 1u);
  EXPECT_EQ(named->jobs[0].id, "1-7");
  EXPECT_EQ(named->next, 0u);
  EXPECT_EQ(harness.store().jobs({.name_prefix = "com"}, 0, 10)->jobs.size(), 10u);
}

TEST(Sqlite, TextThatIsNotTextDoesNotStopTheBooks) {
  SqliteHarness harness;
  model::JobSubmitted event;
  event.spec.id = "a";
  event.spec.name = std::string("x\0y\xff", 4);
  const std::vector<model::Event> events = {{Time{1}, event}};
  ASSERT_TRUE(harness.store().commit({events}));
  EXPECT_EQ(harness.store().job("a")->name, "x\uFFFDy\uFFFD");
}

TEST(Sqlite, PayloadsAreNamedBySha256) {
  SqliteHarness harness;
  const std::vector<std::string_view> payloads = {"abc"};
  EXPECT_EQ(harness.store().put_payloads(payloads, Time{1})->front(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace muster::store

namespace muster::ports {
INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, StoreContract, store::SqliteHarness);
INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, StoreTablesContract, store::SqliteHarness);
INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, StoreFiltersContract, store::SqliteHarness);
INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, StorePayloadsContract, store::SqliteHarness);
}  // namespace muster::ports
