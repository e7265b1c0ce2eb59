// The server for tests of PostgreSQL (postgres_server.h). PostgreSQL refuses to run as
// root: then its programs run as the user `postgres` that Debian's package makes.
#include "tests/store/postgres_server.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <vector>

#include "base/check.h"
#include "base/testing/scratch.h"

namespace muster::store {
namespace {

constexpr const char* programs = "/usr/lib/postgresql/15/bin/";

std::vector<std::string> command(const std::string& program) {
  if (geteuid() != 0) return {programs + program};
  return {"/usr/sbin/runuser", "-u", "postgres", "--", programs + program};
}

/// Output goes to a file: a server that inherits a pipe would keep the test's reader waiting.
int run_program(std::vector<std::string> words, const std::string& log) {
  const pid_t child = fork();
  MUSTER_CHECK(child >= 0, "fork");
  if (child == 0) {
    const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, 0);
    dup2(file, 1);
    dup2(file, 2);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  MUSTER_CHECK(waitpid(child, &status, 0) == child, "waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

}  // namespace

struct PostgresServer::Place {
  Scratch scratch;
  std::string log = scratch.file("log");
  std::string data = scratch.file("data");
  std::string socket = scratch.file("socket");

  void must(const std::string& program, const std::vector<std::string>& options) const {
    std::vector<std::string> words = command(program);
    words.insert(words.end(), options.begin(), options.end());
    MUSTER_CHECK(run_program(words, log) == 0, "{} failed", program);
  }
};

std::string PostgresServer::missing() {
  if (!std::filesystem::exists(std::string(programs) + "initdb"))
    return "PostgreSQL 15 is not installed: tools/setup.sh installs it. NOT TESTED.";
  return {};
}

PostgresServer* PostgresServer::get() {
  if (!missing().empty()) return nullptr;
  static PostgresServer server;
  return &server;
}

PostgresServer::PostgresServer() : place_(std::make_unique<Place>()) {
  std::filesystem::create_directory(place_->data);
  std::filesystem::create_directory(place_->socket);
  std::filesystem::permissions(place_->scratch.path(), std::filesystem::perms::all);
  for (const std::string& folder : {place_->data, place_->socket})
    std::filesystem::permissions(folder, std::filesystem::perms::all);
  if (geteuid() == 0) {
    MUSTER_CHECK(
        run_program({"/bin/chown", "postgres", place_->data, place_->socket}, place_->log) == 0,
        "chown");
    std::filesystem::permissions(place_->log, std::filesystem::perms::all);
  }
  place_->must("initdb", {"-D", place_->data, "-U", "muster", "-A", "trust", "-E", "UTF8",
                          "--locale=C.UTF-8", "--no-sync"});
  start();
}

PostgresServer::~PostgresServer() { stop(); }

void PostgresServer::start() {
  // No TCP at all; a small server. Durable commits are left on, as they are where users run it.
  place_->must("pg_ctl",
               {"-D", place_->data, "-l", place_->data + "/server.log", "-w", "-t", "60", "-o",
                "-c listen_addresses='' -c shared_buffers=32MB -c max_connections=60 "
                "-c unix_socket_directories='" +
                    place_->socket + "'",
                "start"});
}

void PostgresServer::stop() {
  place_->must("pg_ctl", {"-D", place_->data, "-w", "-t", "60", "-m", "immediate", "stop"});
}

std::string PostgresServer::new_schema() {
  const std::string place = fmt::format("host={} user=muster dbname=postgres", place_->socket);
  const std::string name = fmt::format("test_{}", ++schemas_);
  run(place, "create schema " + name);
  return fmt::format("{} options='-c search_path={}' application_name={}", place, name, name);
}

void PostgresServer::run(const std::string& where, const std::string& sql) {
  PGconn* connection = PQconnectdb(where.c_str());
  PGresult* answer = PQexec(connection, sql.c_str());
  const ExecStatusType status = PQresultStatus(answer);
  MUSTER_CHECK(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK, "{}: {}", sql,
               PQerrorMessage(connection));
  PQclear(answer);
  PQfinish(connection);
}

}  // namespace muster::store
