// The contract on SQLite, and what only a real file shows.
#include <sqlite3.h>

#include <filesystem>

#include "ports/store_tables_contract.h"
#include "store/open.h"
#include "store/testing/scratch.h"

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
    auto store = open_sqlite(scratch.path() / "muster.db");
    MUSTER_CHECK(store.ok(), "{}", store.error().message);
    return std::move(*store);
  }
  Scratch scratch;
  std::unique_ptr<ports::Store> kept = another();
};

}  // namespace
}  // namespace muster::store

namespace muster::ports {
INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, StoreContract, store::SqliteHarness);
INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, StoreTablesContract, store::SqliteHarness);
}  // namespace muster::ports
