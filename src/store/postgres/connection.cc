#include "store/postgres/connection.h"

#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <map>
#include <utility>

namespace muster::store {
namespace {

constexpr std::size_t pipeline_runs = 512;  // between two looks at the answers
constexpr unsigned type_bool = 16;
constexpr unsigned type_int8 = 20;
constexpr unsigned type_int2 = 21;
constexpr unsigned type_int4 = 23;
constexpr const char* settings =
    "set synchronous_commit = on; set client_encoding = 'UTF8';"
    "set default_transaction_isolation = 'read committed'; set client_min_messages = warning";

struct Clear {
  void operator()(PGresult* result) const { PQclear(result); }
};
using Answer = std::unique_ptr<PGresult, Clear>;

/// Answers come in binary: whole numbers with the highest byte first.
std::int64_t big_endian(const char* data, std::size_t size) {
  std::uint64_t v = 0;
  for (std::size_t i = 0; i < size; ++i) v = v << 8 | static_cast<unsigned char>(data[i]);
  const unsigned spare = static_cast<unsigned>(64 - 8 * size);
  return std::bit_cast<std::int64_t>(v << spare) >> spare;
}

class PostgresRow : public Row {
 public:
  PostgresRow(const PGresult* result, int row) : result_(result), row_(row) {}
  bool is_null(int column) const override { return PQgetisnull(result_, row_, column) != 0; }
  std::int64_t number(int column) const override {
    const unsigned type = PQftype(result_, column);
    const std::string_view bytes = text(column);
    MUSTER_CHECK(type == type_int8 || type == type_int4 || type == type_int2 || type == type_bool,
                 "column {} is not a number", column);
    return bytes.empty() ? 0 : big_endian(bytes.data(), bytes.size());
  }
  std::string_view text(int column) const override {
    return {PQgetvalue(result_, row_, column),
            static_cast<std::size_t>(PQgetlength(result_, row_, column))};
  }

 private:
  const PGresult* result_;
  int row_;
};

/// The parameters of one run in libpq's form.
class Parameters {
 public:
  Parameters(const Value* values, std::size_t count) {
    values_.resize(count);
    lengths_.resize(count);
    formats_.resize(count);
    numbers_.resize(count);
    for (std::size_t i = 0; i < count; ++i) set(i, values[i]);
  }
  int count() const { return static_cast<int>(values_.size()); }
  const char* const* values() const { return values_.data(); }
  const int* lengths() const { return lengths_.data(); }
  const int* formats() const { return formats_.data(); }

 private:
  void set(std::size_t i, const Value& value) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      auto& digits = numbers_[i];
      *std::to_chars(digits.data(), digits.data() + digits.size() - 1, *number).ptr = '\0';
      values_[i] = digits.data();
    } else if (const auto* text = std::get_if<std::string_view>(&value)) {
      view(i, *text);
    } else if (const auto* bytes = std::get_if<Bytes>(&value)) {
      view(i, bytes->view);
    }
  }
  /// Binary format takes a length, so that texts need no terminating zero.
  void view(std::size_t i, std::string_view bytes) {
    values_[i] = bytes.empty() ? "" : bytes.data();
    lengths_[i] = static_cast<int>(bytes.size());
    formats_[i] = 1;
  }

  std::vector<const char*> values_;
  std::vector<int> lengths_;
  std::vector<int> formats_;
  std::vector<std::array<char, 24>> numbers_;
};

class PostgresConnection : public Connection {
 public:
  explicit PostgresConnection(std::string conninfo) : conninfo_(std::move(conninfo)) {}
  ~PostgresConnection() override { close(); }
  PostgresConnection(const PostgresConnection&) = delete;
  PostgresConnection& operator=(const PostgresConnection&) = delete;

  Status open() override {
    if (db_ != nullptr && PQstatus(db_) == CONNECTION_OK) return Ok{};
    close();
    // What the user's string says comes last and wins.
    const std::array<const char*, 8> names = {"connect_timeout",
                                              "keepalives_idle",
                                              "keepalives_interval",
                                              "keepalives_count",
                                              "tcp_user_timeout",
                                              "fallback_application_name",
                                              "dbname",
                                              nullptr};
    const std::array<const char*, 8> values = {
        "5", "10", "5", "3", "20000", "muster", conninfo_.c_str(), nullptr};
    db_ = PQconnectdbParams(names.data(), values.data(), 1);
    if (db_ == nullptr || PQstatus(db_) != CONNECTION_OK) return lost();
    PQsetNoticeReceiver(db_, [](void*, const PGresult*) {}, nullptr);
    const Answer answer(PQexec(db_, settings));
    if (PQresultStatus(answer.get()) != PGRES_COMMAND_OK) return lost();
    return Ok{};
  }
  bool is_open() const override { return db_ != nullptr && PQstatus(db_) == CONNECTION_OK; }

  Status begin() override {
    if (Status status = open(); !status) return status;
    begin_first_ = true;  // goes with the first statement
    return Ok{};
  }

  Status run(const Batch& batch, const EachRow& each) override {
    if (Status status = open(); !status) return status;
    return pipelined(batch, each, Last::None);
  }

  Status script(const std::string& sql) override {
    if (begin_first_) {
      begin_first_ = false;
      if (Status status = script("begin"); !status) return status;
    }
    const Answer answer(PQexec(db_, sql.c_str()));
    if (PQresultStatus(answer.get()) != PGRES_COMMAND_OK) return error(answer.get());
    return Ok{};
  }

  Finish finish(const std::vector<Batch>& batches) override {
    Status status = Ok{};
    for (std::size_t i = 0; status && i + 1 < batches.size(); ++i)
      status = pipelined(batches[i], {}, Last::None);
    static const Batch nothing{"select 1", 0, {}};
    commit_sent_ = false;
    if (status) status = pipelined(batches.empty() ? nothing : batches.back(), {}, Last::Commit);
    const bool unknown = !status && commit_sent_ && !is_open();
    if (!status) rollback();
    return {status, unknown};
  }

  void rollback() override {
    begin_first_ = false;
    if (!is_open()) return;
    if (PQtransactionStatus(db_) == PQTRANS_IDLE) return;
    const Answer answer(PQexec(db_, "rollback"));
    if (PQresultStatus(answer.get()) != PGRES_COMMAND_OK) close();
  }
  bool locks_rows() const override { return true; }

 private:
  enum class Last { None, Commit };

  Result<std::string> prepared(std::string_view sql) {
    const auto it = statements_.find(sql);
    if (it != statements_.end()) return it->second;
    std::string name = fmt::format("s{}", statements_.size());
    const std::string text(sql);
    const Answer answer(PQprepare(db_, name.c_str(), text.c_str(), 0, nullptr));
    if (PQresultStatus(answer.get()) != PGRES_COMMAND_OK) return error(answer.get());
    statements_.emplace(sql, name);
    return name;
  }

  Status pipelined(const Batch& batch, const EachRow& each, Last last) {
    const Result<std::string> name = prepared(batch.sql);
    if (!name) return name.error();
    std::size_t done = 0;
    do {
      const std::size_t end = std::min(batch.runs(), done + pipeline_runs);
      const bool commits = last == Last::Commit && end == batch.runs();
      if (PQenterPipelineMode(db_) != 1) return lost();
      bool sent = true;
      std::size_t answers = end - done;
      if (begin_first_) {
        sent = send("begin");
        begin_first_ = false;
        ++answers;
      }
      for (; sent && done < end; ++done) {
        const Parameters run(batch.values.data() + done * batch.columns, batch.columns);
        sent = PQsendQueryPrepared(db_, name->c_str(), run.count(), run.values(), run.lengths(),
                                   run.formats(), 1) == 1;
      }
      if (sent && commits) {
        commit_sent_ = true;
        sent = send("commit");
        ++answers;
      }
      if (!sent || PQpipelineSync(db_) != 1) return lost();
      if (Status status = answered(answers, each, commits); !status) return status;
    } while (done < batch.runs());
    return Ok{};
  }
  bool send(const char* sql) {
    return PQsendQueryParams(db_, sql, 0, nullptr, nullptr, nullptr, nullptr, 1) == 1;
  }

  /// Takes the answers of a pipeline up to its sync; the first error counts.
  Status answered(std::size_t answers, const EachRow& each, bool commits) {
    Status status = Ok{};
    for (std::size_t i = 0; i < answers; ++i) {
      const Answer answer(PQgetResult(db_));
      if (answer == nullptr) return lost();
      const ExecStatusType kind = PQresultStatus(answer.get());
      if (kind == PGRES_TUPLES_OK && status && each) {
        for (int row = 0; row < PQntuples(answer.get()); ++row)
          each(PostgresRow(answer.get(), row));
      } else if (kind != PGRES_TUPLES_OK && kind != PGRES_COMMAND_OK && status) {
        status = error(answer.get());
      }
      if (!is_open()) return lost();
      const bool is_commit = commits && i + 1 == answers;
      if (is_commit && status && std::strcmp(PQcmdStatus(answer.get()), "COMMIT") != 0)
        status = Error{Fault::Unavailable, "store: PostgreSQL rolled the transaction back"};
      const Answer separator(PQgetResult(db_));  // null: nothing more of this statement
      if (separator != nullptr) return lost();
    }
    const Answer sync(PQgetResult(db_));
    if (sync == nullptr || PQresultStatus(sync.get()) != PGRES_PIPELINE_SYNC) return lost();
    if (PQexitPipelineMode(db_) != 1) return lost();
    return status;
  }

  static std::string one_line(const char* text) {
    std::string line(text == nullptr ? "" : text);
    while (!line.empty() && line.back() == '\n') line.pop_back();
    std::replace(line.begin(), line.end(), '\n', ' ');
    std::erase(line, '\t');
    return line;
  }
  Error error(const PGresult* answer) {
    // Only the server gives codes: an error without one is libpq's, about the connection.
    const char* field = PQresultErrorField(answer, PG_DIAG_SQLSTATE);
    if (!is_open() || field == nullptr) return lost();
    const std::string_view state = field;
    // Connection, rolled back by the server, out of something, stopped by somebody, disk.
    constexpr std::array<std::string_view, 7> passing = {"08", "40", "53", "57", "58", "55", "25"};
    const bool passes =
        std::find(passing.begin(), passing.end(), state.substr(0, 2)) != passing.end();
    return {passes ? Fault::Unavailable : Fault::Invalid,
            fmt::format("store: PostgreSQL {}: {}", state, one_line(PQresultErrorMessage(answer)))};
  }
  Error lost() {
    Error why{Fault::Unavailable,
              fmt::format("store: PostgreSQL is not reached: {}",
                          db_ == nullptr ? "out of memory" : one_line(PQerrorMessage(db_)))};
    close();
    return why;
  }
  void close() {
    if (db_ != nullptr) PQfinish(db_);
    db_ = nullptr;
    begin_first_ = false;
    statements_.clear();
  }

  std::string conninfo_;
  PGconn* db_ = nullptr;
  std::map<std::string, std::string, std::less<>> statements_;  // sql: name
  bool begin_first_ = false;
  bool commit_sent_ = false;
};

}  // namespace

std::unique_ptr<Connection> connect_postgres(std::string conninfo) {
  return std::make_unique<PostgresConnection>(std::move(conninfo));
}

}  // namespace muster::store
