// The connection breaks while a commit is on its way: nobody knows whether it was written. The
// store must find out, and never write it twice.
#include <gtest/gtest.h>

#include "base/testing/scratch.h"
#include "store/sql_store.h"
#include "store/sqlite/connection.h"

namespace muster::store {
namespace {

/// What goes wrong with the next commit, and how many times no connection is had afterwards.
struct Plan {
  enum class Loss { None, BeforeCommit, AfterCommit } loss = Loss::None;
  int refusals = 0;
};

/// SQLite that behaves like a database at the other end of a bad line.
class BadLine : public Connection {
 public:
  BadLine(std::unique_ptr<Connection> real, Plan& plan) : real_(std::move(real)), plan_(plan) {}

  Status open() override {
    if (is_open_) return Ok{};
    if (plan_.refusals > 0) {
      --plan_.refusals;
      return Error{Fault::Unavailable, "no line"};
    }
    is_open_ = true;
    return real_->open();
  }
  bool is_open() const override { return is_open_; }
  Status begin() override {
    if (Status status = open(); !status) return status;
    return real_->begin();
  }
  Status run(const Batch& batch, const EachRow& each) override { return real_->run(batch, each); }
  Status script(const std::string& sql) override { return real_->script(sql); }
  Finish finish(const std::vector<Batch>& batches) override {
    const Plan::Loss loss = std::exchange(plan_.loss, Plan::Loss::None);
    if (loss == Plan::Loss::None) return real_->finish(batches);
    if (loss == Plan::Loss::AfterCommit) {
      const Finish done = real_->finish(batches);
      MUSTER_CHECK(done.status.ok(), "{}", done.status.error().message);
    } else {
      real_->rollback();
    }
    is_open_ = false;
    return {Error{Fault::Unavailable, "the line broke"}, true};
  }
  void rollback() override { real_->rollback(); }
  bool locks_rows() const override { return false; }

 private:
  std::unique_ptr<Connection> real_;
  Plan& plan_;
  bool is_open_ = false;
};

class Doubt : public testing::Test {
 protected:
  static std::vector<model::Event> hold(const std::string& job) {
    return {{Time{1}, model::JobHeld{job}}};
  }
  std::string journal() {
    std::string text;
    const Status status = store->read(
        1, [&](const ports::Entry& entry) { text += *model::job_of(entry.event.body); });
    return status ? text : status.error().message;
  }
  std::unique_ptr<ports::Store> opened() {
    auto made = SqlStore::open(
        [this](Part part) {
          const std::string file = scratch.file(part == Part::Books ? "books.db" : "blobs.db");
          return std::make_unique<BadLine>(connect_sqlite(file, ""), plan);
        },
        Dialect::Sqlite, 1);
    MUSTER_CHECK(made.ok(), "{}", made.error().message);
    return std::move(*made);
  }
  Scratch scratch;
  Plan plan;
  std::unique_ptr<ports::Store> store = opened();
};

TEST_F(Doubt, ACommitThatWasWrittenIsAnswered) {
  ASSERT_EQ(*store->commit({hold("a")}), 1u);
  plan.loss = Plan::Loss::AfterCommit;
  EXPECT_EQ(*store->commit({hold("b")}), 2u);
  EXPECT_EQ(*store->commit({hold("c")}), 3u);
  EXPECT_EQ(journal(), "abc");
}

TEST_F(Doubt, ACommitThatWasNotWrittenIsWritten) {
  plan.loss = Plan::Loss::BeforeCommit;
  EXPECT_EQ(*store->commit({hold("a")}), 1u);
  EXPECT_EQ(journal(), "a");
}

TEST_F(Doubt, TryingAgainLaterDoesNotWriteTwice) {
  plan = {Plan::Loss::AfterCommit, 1};
  const auto refused = store->commit({hold("a")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::Unavailable);
  EXPECT_EQ(*store->commit({hold("a")}), 1u);
  EXPECT_EQ(store->last(), 1u);
  EXPECT_EQ(journal(), "a");
}

TEST_F(Doubt, SomethingElseInsteadIsAConflictBecauseTheBooksWentOn) {
  plan = {Plan::Loss::AfterCommit, 1};
  ASSERT_FALSE(store->commit({hold("a")}));
  auto conflict = store->commit({hold("b")});
  ASSERT_FALSE(conflict);
  EXPECT_EQ(conflict.error().fault, Fault::Conflict);
  conflict = store->commit({hold("b")});
  ASSERT_FALSE(conflict);
  EXPECT_EQ(conflict.error().fault, Fault::Conflict);
  EXPECT_EQ(journal(), "a");
  ASSERT_TRUE(store->lead());  // recovered
  EXPECT_EQ(*store->commit({hold("b")}), 2u);
}

TEST_F(Doubt, SomethingElseInsteadIsWrittenIfTheFirstWasNot) {
  plan = {Plan::Loss::BeforeCommit, 1};
  ASSERT_FALSE(store->commit({hold("a")}));
  EXPECT_EQ(*store->commit({hold("b")}), 1u);
  EXPECT_EQ(journal(), "b");
}

TEST_F(Doubt, AnAuditRowIsNotWrittenTwiceEither) {
  const std::vector<ports::AuditRow> rows = {{0, Time{1}, "ada", "r", "login", "", ""}};
  plan.loss = Plan::Loss::AfterCommit;
  EXPECT_TRUE(store->commit({{}, rows, {}}));
  EXPECT_EQ(store->audit({}, 0, 10)->rows.size(), 1u);
}

}  // namespace
}  // namespace muster::store
