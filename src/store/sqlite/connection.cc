#include "store/sqlite/connection.h"

#include <sqlite3.h>

#include <cstddef>
#include <map>
#include <utility>

namespace muster::store {
namespace {

constexpr int busy_ms = 10'000;
constexpr std::string_view settings =
    "pragma journal_mode=wal; pragma synchronous=full; pragma wal_autocheckpoint=4000;"
    "pragma cache_size=-8000; pragma temp_store=memory";

/// SQLite numbers `$1` by appearance and `?1` by its number.
std::string with_question_marks(std::string_view sql) {
  std::string text(sql);
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == '$' && text[i + 1] >= '1' && text[i + 1] <= '9') text[i] = '?';
  }
  return text;
}

class SqliteRow : public Row {
 public:
  explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}
  bool is_null(int column) const override {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL;
  }
  std::int64_t number(int column) const override {
    return sqlite3_column_int64(statement_, column);
  }
  std::string_view text(int column) const override {
    const void* data = sqlite3_column_blob(statement_, column);
    const int size = sqlite3_column_bytes(statement_, column);
    return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
  }

 private:
  sqlite3_stmt* statement_;
};

class SqliteConnection : public Connection {
 public:
  SqliteConnection(std::string file, std::string vfs)
      : file_(std::move(file)), vfs_(std::move(vfs)) {}
  ~SqliteConnection() override { close(); }
  SqliteConnection(const SqliteConnection&) = delete;
  SqliteConnection& operator=(const SqliteConnection&) = delete;

  Status open() override {
    if (db_ != nullptr) return Ok{};
    constexpr int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    const char* vfs = vfs_.empty() ? nullptr : vfs_.c_str();
    if (sqlite3_open_v2(file_.c_str(), &db_, flags, vfs) != SQLITE_OK) return closed();
    sqlite3_extended_result_codes(db_, 1);
    sqlite3_busy_timeout(db_, busy_ms);
    const std::string text(settings);
    if (sqlite3_exec(db_, text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return closed();
    return Ok{};
  }
  bool is_open() const override { return db_ != nullptr; }

  Status begin() override { return run({"begin immediate", 0, {}}, {}); }

  Status run(const Batch& batch, const EachRow& each) override {
    Result<sqlite3_stmt*> statement = prepared(batch.sql);
    if (!statement) return statement.error();
    for (std::size_t i = 0; i < batch.runs(); ++i) {
      bind(*statement, batch.values.data() + i * batch.columns, batch.columns);
      int code = SQLITE_ROW;
      while ((code = sqlite3_step(*statement)) == SQLITE_ROW) {
        if (each) each(SqliteRow(*statement));
      }
      if (code != SQLITE_DONE) {
        Error why = error();
        sqlite3_reset(*statement);
        return broken(std::move(why), code);
      }
      sqlite3_reset(*statement);
    }
    return Ok{};
  }

  Status script(const std::string& sql) override {
    if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return error();
    return Ok{};
  }

  Finish finish(const std::vector<Batch>& batches) override {
    for (const Batch& batch : batches) {
      if (Status status = run(batch, {}); !status) {
        rollback();
        return {status, false};
      }
    }
    // A commit that fails did not happen: its frames of the log are not counted as written.
    Status status = run({"commit", 0, {}}, {});
    if (!status) rollback();
    return {status, false};
  }

  void rollback() override {
    if (db_ != nullptr && sqlite3_get_autocommit(db_) == 0)
      sqlite3_exec(db_, "rollback", nullptr, nullptr, nullptr);
  }
  bool locks_rows() const override { return false; }

 private:
  Result<sqlite3_stmt*> prepared(std::string_view sql) {
    if (Status status = open(); !status) return status.error();
    const auto it = statements_.find(sql);
    if (it != statements_.end()) return it->second;
    const std::string text = with_question_marks(sql);
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v3(db_, text.c_str(), static_cast<int>(text.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) return broken(error(), code);
    statements_.emplace(sql, statement);
    return statement;
  }

  static void bind(sqlite3_stmt* statement, const Value* values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const int at = static_cast<int>(i) + 1;
      if (const auto* number = std::get_if<std::int64_t>(&values[i])) {
        sqlite3_bind_int64(statement, at, *number);
      } else if (const auto* text = std::get_if<std::string_view>(&values[i])) {
        sqlite3_bind_text64(statement, at, text->empty() ? "" : text->data(), text->size(),
                            SQLITE_STATIC, SQLITE_UTF8);
      } else if (const auto* bytes = std::get_if<Bytes>(&values[i])) {
        sqlite3_bind_blob64(statement, at, bytes->view.empty() ? "" : bytes->view.data(),
                            bytes->view.size(), SQLITE_STATIC);
      } else {
        sqlite3_bind_null(statement, at);
      }
    }
  }

  Error error() const {
    const int code = db_ == nullptr ? SQLITE_NOMEM : sqlite3_extended_errcode(db_);
    const char* text = db_ == nullptr ? "out of memory" : sqlite3_errmsg(db_);
    Fault fault = Fault::Invalid;
    switch (code & 0xff) {
      case SQLITE_BUSY:
      case SQLITE_LOCKED:
      case SQLITE_NOMEM:
      case SQLITE_READONLY:
      case SQLITE_IOERR:
      case SQLITE_FULL:
      case SQLITE_CANTOPEN:
      case SQLITE_PROTOCOL:
        fault = Fault::Unavailable;
        break;
      default:
        break;
    }
    return {fault, fmt::format("store: {}: {} (SQLite {})", file_, text, code)};
  }

  /// After an I/O error nothing that the connection remembers is trusted: it is opened again.
  Error broken(Error why, int code) {
    if ((code & 0xff) == SQLITE_IOERR) close();
    return why;
  }
  Error closed() {
    Error why = error();
    close();
    return why;
  }
  void close() {
    for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
    statements_.clear();
    if (db_ != nullptr) sqlite3_close(db_);
    db_ = nullptr;
  }

  std::string file_;
  std::string vfs_;
  sqlite3* db_ = nullptr;
  std::map<std::string, sqlite3_stmt*, std::less<>> statements_;
};

}  // namespace

std::unique_ptr<Connection> connect_sqlite(std::string file, std::string vfs) {
  return std::make_unique<SqliteConnection>(std::move(file), std::move(vfs));
}

}  // namespace muster::store
