// The contract on a PostgreSQL that this test starts, and losing the connection to it.
#include "ports/store_filters_contract.h"
#include "ports/store_payloads_contract.h"
#include "ports/store_tables_contract.h"
#include "store/open.h"
#include "store/postgres/connection.h"
#include "store/testing/old_database.h"
#include "tests/store/postgres_server.h"

namespace muster::store {
namespace {

struct PostgresHarness {
  static std::string skip() { return PostgresServer::missing(); }
  ports::Store& store() { return *kept; }
  ports::Store& reopened() {
    kept.reset();
    kept = another();
    return *kept;
  }
  std::unique_ptr<ports::Store> another() const {
    if (!skip().empty()) return nullptr;
    auto store = open_postgres(database);
    MUSTER_CHECK(store.ok(), "{}", store.error().message);
    return std::move(*store);
  }
  std::string database = skip().empty() ? PostgresServer::get()->new_schema() : "";
  std::unique_ptr<ports::Store> kept = another();
};

class PostgresLost : public testing::Test {
 protected:
  void SetUp() override {
    if (!PostgresServer::missing().empty()) GTEST_SKIP() << PostgresServer::missing();
  }
  static std::vector<model::Event> submits(const std::string& id) {
    model::JobSubmitted event;
    event.spec.id = id;
    return {{Time{1}, event}};
  }
  PostgresHarness harness;
};

TEST_F(PostgresLost, AStoppedServerRefusesAndAStartedOneGoesOn) {
  ports::Store& store = harness.store();
  ASSERT_EQ(*store.commit({submits("a")}), 1u);
  ASSERT_TRUE(store.job("a"));
  PostgresServer::get()->stop();
  const auto refused = store.commit({submits("b")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::Unavailable);
  EXPECT_EQ(store.job("a").error().fault, Fault::Unavailable);
  EXPECT_EQ(store.retain(Time{1}, {}).error().fault, Fault::Unavailable);
  EXPECT_EQ(store.last(), 1u);
  PostgresServer::get()->start();
  EXPECT_EQ(*store.commit({submits("b")}), 2u);
  EXPECT_TRUE(store.job("a"));
  EXPECT_TRUE(store.job("b"));
  const auto kept = store.retain(Time{1}, {});
  EXPECT_TRUE(kept);
}

TEST_F(PostgresLost, AClosedConnectionIsOpenedAgain) {
  ports::Store& store = harness.store();
  ASSERT_EQ(*store.commit({submits("a")}), 1u);
  ASSERT_TRUE(store.job("a"));
  PostgresServer::get()->run(harness.database,
                             "select pg_terminate_backend(pid) from pg_stat_activity where pid <> "
                             "pg_backend_pid() and application_name like 'test_%'");
  EXPECT_TRUE(store.job("a"));  // a query is simply asked again
  const auto refused = store.commit({submits("b")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::Unavailable);
  EXPECT_EQ(*store.commit({submits("b")}), 2u);
}

TEST_F(PostgresLost, ADatabaseOfEveryOlderSchemaIsBroughtForwardWithItsRows) {
  for (std::size_t version = 1; version <= older_versions(Dialect::Postgres); ++version) {
    SCOPED_TRACE(version);
    const std::string database = PostgresServer::get()->new_schema();
    const Connect connect = [&](Part) { return connect_postgres(database); };
    const Status made = make_old_database(connect, Dialect::Postgres, version);
    ASSERT_TRUE(made) << made.error().message;
    const auto store = open_postgres(database);
    ASSERT_TRUE(store) << store.error().message;
    expect_old_rows(**store);
  }
}

TEST_F(PostgresLost, ANewerSchemaIsRefused) {
  harness.kept.reset();
  PostgresServer::get()->run(harness.database, "update schema_version set version = 1000");
  const auto refused = open_postgres(harness.database);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("version 1000"), std::string::npos);
}

TEST_F(PostgresLost, TwoProcessesMayMakeTheSchemaAtOnce) {
  const std::string database = PostgresServer::get()->new_schema();
  std::vector<std::thread> threads;
  std::atomic<int> opened{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { opened += open_postgres(database) ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(opened, 4);
}

}  // namespace
}  // namespace muster::store

namespace muster::ports {
INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, StoreContract, store::PostgresHarness);
INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, StoreTablesContract, store::PostgresHarness);
INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, StoreFiltersContract, store::PostgresHarness);
INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, StorePayloadsContract, store::PostgresHarness);
}  // namespace muster::ports
