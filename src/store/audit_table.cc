#include "store/audit_table.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "store/conditions.h"
#include "store/projection.h"

namespace muster::store {
namespace {

constexpr std::string_view columns = "number, at, user_name, request, verb, object, detail";
constexpr std::int64_t last_number = std::numeric_limits<std::int64_t>::max();

ports::AuditRow row_of(const Row& row) {
  return {static_cast<std::uint64_t>(row.number(0)),
          Time{row.number(1)},
          std::string(row.text(2)),
          std::string(row.text(3)),
          std::string(row.text(4)),
          std::string(row.text(5)),
          std::string(row.text(6))};
}

/// A select whose text is made for it, which the batch only points to.
Status select(Connection& connection, const std::string& sql, std::vector<Value> values,
              const EachRow& each) {
  Batch batch{sql, values.size(), {}};
  batch.values = std::move(values);
  return connection.run(batch, each);
}

/// Time in the books never runs backwards: a time is a place among the numbers. That of the first
/// row at `time` or later.
Result<std::int64_t> first_at(Connection& connection, Time time) {
  std::int64_t number = last_number;
  const Status found =
      select(connection, "select number from audit where at >= $1 order by at, number limit 1",
             {time.ms}, [&](const Row& row) { number = row.number(0); });
  if (!found) return found.error();
  return number;
}

/// The parts of a filter, and which of them an index answers.
class AuditSearch {
 public:
  explicit AuditSearch(const ports::AuditFilter& filter)
      : object_(table_text(filter.object)),
        user_(table_text(filter.user)),
        verb_(table_text(filter.verb)) {
    if (!object_.empty()) parts_.push_back({"object = {}", {object_}});
    if (!user_.empty()) parts_.push_back({"user_name = {}", {user_}});
    if (verb_ == "submit") parts_.push_back({"verb = {}", {verb_}});
    if (!verb_.empty() && verb_ != "submit")
      parts_.push_back({"verb <> 'submit' and verb = {}", {verb_}});
  }

  /// Of rows from `from` up to, but without, `below`.
  Result<ports::AuditPage> page(Connection& connection, std::int64_t from, std::int64_t below,
                                std::size_t limit) const {
    std::vector<Condition> index = {{"number >= {}", {from}}, {"number < {}", {below}}};
    std::vector<Condition> rest = parts_;
    const bool has_index = !parts_.empty() && (parts_.size() > 1 || verb_ != "submit");
    if (has_index) {
      index.insert(index.begin(), rest.front());
      rest.erase(rest.begin());
    }
    std::vector<Value> values;
    std::string sql = "select " + std::string(columns) + " from audit where " +
                      conjunction(index, values) + " order by number desc";
    if (!rest.empty()) {
      values.emplace_back(look_max);
      sql = fmt::format("select {} from ({} limit ${}) as looked_at where ", columns, sql,
                        values.size());
      sql += conjunction(rest, values) + " order by number desc";
    }
    values.emplace_back(static_cast<std::int64_t>(limit) + 1);
    sql += fmt::format(" limit ${}", values.size());
    ports::AuditPage page;
    const Status found = select(connection, sql, std::move(values),
                                [&](const Row& row) { page.rows.push_back(row_of(row)); });
    if (!found) return found.error();
    if (page.rows.size() > limit) {
      page.rows.resize(limit);
      page.next = page.rows.back().number;
    } else if (!rest.empty()) {
      const Result<std::uint64_t> next = looked_at_to(connection, index);
      if (!next) return next.error();
      page.next = *next;
    }
    return page;
  }

 private:
  /// Where a look that the filter may have dropped ended; 0: at the last row.
  static Result<std::uint64_t> looked_at_to(Connection& connection,
                                            const std::vector<Condition>& index) {
    std::vector<Value> values;
    std::string sql = "select number from audit where " + conjunction(index, values);
    values.emplace_back(look_max - 1);
    sql += fmt::format(" order by number desc limit 1 offset ${}", values.size());
    std::uint64_t number = 0;
    const Status found = select(connection, sql, std::move(values), [&](const Row& row) {
      number = static_cast<std::uint64_t>(row.number(0));
    });
    if (!found) return found.error();
    return number;
  }

  const std::string object_;
  const std::string user_;
  const std::string verb_;
  std::vector<Condition> parts_;
};

}  // namespace

Result<ports::AuditPage> page_of_audit(Connection& connection, const ports::AuditFilter& filter,
                                       std::uint64_t before, std::size_t limit) {
  std::int64_t from = 0;
  std::int64_t below = before == 0 ? last_number : static_cast<std::int64_t>(before);
  if (filter.since.ms > 0) {
    const Result<std::int64_t> first = first_at(connection, filter.since);
    if (!first) return first.error();
    from = *first;
  }
  if (!filter.until.is_never()) {
    const Result<std::int64_t> first = first_at(connection, filter.until);
    if (!first) return first.error();
    below = std::min(below, *first);
  }
  return AuditSearch(filter).page(connection, from, below, limit);
}

}  // namespace muster::store
