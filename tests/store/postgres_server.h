// A PostgreSQL server of a test's own: a cluster in a scratch folder that listens on a socket there
// and nowhere else. Started once a process, stopped at its end.
#pragma once

#include <memory>
#include <string>

namespace muster::store {

class PostgresServer {
 public:
  /// The server of this process, started at the first call; null where PostgreSQL 15 is missing.
  static PostgresServer* get();
  /// Why there is none.
  static std::string missing();

  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  /// A connection string to a new, empty schema, and named like it: much quicker to make than a
  /// database, and as empty to whoever connects.
  std::string new_schema();
  /// Runs a statement.
  void run(const std::string& conninfo, const std::string& sql);
  void start();
  /// At once, as a crash would: connections break, nothing is flushed.
  void stop();

 private:
  PostgresServer();
  struct Place;
  std::unique_ptr<Place> place_;
  int schemas_ = 0;
};

}  // namespace muster::store
