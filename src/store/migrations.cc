#include "store/migrations.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace muster::store {
namespace {

constexpr std::int64_t advisory_lock = 0x6d7573746572;  // two processes may start at once

/// Inside a transaction.
Result<std::int64_t> version_now(Connection& connection, std::string_view part) {
  if (connection.locks_rows()) {
    const Status locked =
        connection.run({"select pg_advisory_xact_lock($1)", 1, {advisory_lock}}, {});
    if (!locked) return locked.error();
  }
  const Status made = connection.script(
      "create table if not exists schema_version (part text primary key, version bigint not null)");
  if (!made) return made.error();
  std::int64_t version = 0;
  const Status read =
      connection.run({"select version from schema_version where part = $1", 1, {part}},
                     [&](const Row& row) { version = row.number(0); });
  if (!read) return read.error();
  return version;
}

/// One step, or none if nothing is left. Returns whether there was one.
Result<bool> step(Connection& connection, std::string_view part,
                  std::span<const std::string_view> steps) {
  if (Status status = connection.begin(); !status) return status.error();
  const Result<std::int64_t> version = version_now(connection, part);
  if (!version) return version.error();
  const auto known = static_cast<std::int64_t>(steps.size());
  if (*version > known) {
    return invalid(
        fmt::format("store: the database has version {} of the schema of its {}, this "
                    "Muster knows up to {}: start the newer Muster that wrote it",
                    *version, part, known));
  }
  if (*version == known) {
    connection.rollback();
    return false;
  }
  const Status done = connection.script(std::string(steps[static_cast<std::size_t>(*version)]));
  if (!done) return done.error();
  const Batch mark{
      "insert into schema_version (part, version) values ($1, $2) "
      "on conflict (part) do update set version = excluded.version",
      2,
      {part, *version + 1}};
  if (Finish finish = connection.finish({mark}); !finish.status) return finish.status.error();
  return true;
}

}  // namespace

Status migrate(Connection& connection, Part part, std::span<const std::string_view> steps) {
  const std::string_view name = part == Part::Books ? "books" : "blobs";
  for (;;) {
    const Result<bool> more = step(connection, name, steps);
    if (!more) {
      connection.rollback();
      return more.error();
    }
    if (!*more) return Ok{};
  }
}

}  // namespace muster::store
