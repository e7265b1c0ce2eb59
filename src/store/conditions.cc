#include "store/conditions.h"

#include <fmt/format.h>

namespace muster::store {

std::string conjunction(const std::vector<Condition>& conditions, std::vector<Value>& values) {
  std::string sql;
  for (const Condition& condition : conditions) {
    sql += sql.empty() ? "" : " and ";
    std::string_view rest = condition.text;
    for (const Value& value : condition.values) {
      values.push_back(value);
      const std::size_t mark = rest.find("{}");
      sql += fmt::format("{}${}", rest.substr(0, mark), values.size());
      rest.remove_prefix(mark + 2);
    }
    sql += rest;
  }
  return sql;
}

}  // namespace muster::store
