#include "sim/openb.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>

#include "base/text.h"

namespace muster::sim {
namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;
constexpr std::int64_t mib_max = model::amount_max / mib;
constexpr std::int64_t seconds_max = std::int64_t{1} << 40;
constexpr std::int64_t gpus_of_a_node_max = 16;

Error wrong(const std::string& file, std::size_t line, const std::string& what) {
  return invalid(fmt::format("{}:{}: {}", file, line, what));
}

/// A csv with a header: rows of fields, found by the name of their column.
class Csv {
 public:
  static Result<Csv> parse(const std::string& text, std::string file) {
    Csv csv;
    csv.file_ = std::move(file);
    std::size_t line = 0;
    for (std::string_view row : split(text, '\n')) {
      ++line;
      if (row.ends_with('\r')) row.remove_suffix(1);
      if (row.empty()) continue;
      const auto fields = split(row, ',');
      if (csv.columns_.empty()) {
        for (std::size_t i = 0; i < fields.size(); ++i) csv.columns_.emplace(fields[i], i);
        csv.width_ = fields.size();
        continue;
      }
      if (fields.size() != csv.width_)
        return wrong(csv.file_, line,
                     fmt::format("{} fields, the header has {}", fields.size(), csv.width_));
      csv.rows_.push_back({line, {fields.begin(), fields.end()}});
    }
    return csv;
  }
  struct Row {
    std::size_t line;
    std::vector<std::string_view> fields;
  };
  const std::vector<Row>& rows() const { return rows_; }
  bool has(std::string_view column) const { return columns_.contains(column); }
  /// Refuses a list without one of these columns; the other list has `others`.
  Status need(std::initializer_list<const char*> columns, const char* kind, const char* others,
              const char* other_kind) const {
    for (const char* column : columns) {
      if (has(column)) continue;
      if (has(others)) {
        return wrong(file_, 1,
                     fmt::format("this is a {} list where the {} list is asked for: give each of "
                                 "the two files in the place of the other",
                                 other_kind, kind));
      }
      return wrong(file_, 1, fmt::format("not an openb {} list: no column {}", kind, column));
    }
    return Ok{};
  }
  std::string_view text(const Row& row, std::string_view column) const {
    const auto it = columns_.find(column);
    return it == columns_.end() ? std::string_view{} : row.fields[it->second];
  }
  Result<std::int64_t> number(const Row& row, const char* column, std::int64_t high) const {
    auto value = parse_int(text(row, column), column, 0, high);
    if (!value) return wrong(file_, row.line, value.error().message);
    return value;
  }

 private:
  std::string file_;
  std::size_t width_ = 0;
  std::map<std::string_view, std::size_t, std::less<>> columns_;
  std::vector<Row> rows_;
};

Status read_times(const Csv& csv, const Csv::Row& row, OpenbPod& pod) {
  if (!csv.has("creation_time")) return Ok{};
  const auto created = csv.number(row, "creation_time", seconds_max);
  const auto deleted = csv.number(row, "deletion_time", seconds_max);
  if (!created) return created.error();
  if (!deleted) return deleted.error();
  auto from = *created;
  if (!csv.text(row, "scheduled_time").empty()) {
    const auto scheduled = csv.number(row, "scheduled_time", seconds_max);
    if (!scheduled) return scheduled.error();
    from = *scheduled;
  }
  pod.created = Time{*created * 1000};
  pod.run_time = seconds(std::max<std::int64_t>(1, *deleted - from));
  return Ok{};
}

Result<OpenbPod> read_pod(const Csv& csv, const Csv::Row& row) {
  const auto cpu = csv.number(row, "cpu_milli", model::amount_max);
  const auto memory = csv.number(row, "memory_mib", mib_max);
  const auto gpus = csv.number(row, "num_gpu", gpus_of_a_node_max);
  const auto milli = csv.number(row, "gpu_milli", 1000);
  for (const auto* value : {&cpu, &memory, &gpus, &milli}) {
    if (!*value) return value->error();
  }
  OpenbPod pod;
  pod.line = row.line;
  pod.name = csv.text(row, "name");
  pod.qos = csv.text(row, "qos");
  pod.set.name = "pod";
  pod.set.pod.requests.cpu = {*cpu};
  pod.set.pod.requests.memory = {*memory * mib};
  pod.set.pod.gpu.count = static_cast<int>(*gpus);
  if (*gpus == 1 && *milli > 0) pod.set.pod.gpu.each = {*milli};
  std::vector<std::string>& allowed = pod.set.pod.gpu_types;
  for (const std::string_view type : split(csv.text(row, "gpu_spec"), '|')) {
    const bool is_new = std::find(allowed.begin(), allowed.end(), type) == allowed.end();
    if (!type.empty() && *gpus > 0 && is_new) allowed.emplace_back(type);  // lists repeat some
  }
  if (const Status times = read_times(csv, row, pod); !times) return times.error();
  return pod;
}

}  // namespace

Result<std::vector<model::NodeSpec>> read_openb_nodes(const std::string& text,
                                                      const std::string& file, std::size_t most) {
  const auto csv = Csv::parse(text, file);
  if (!csv) return csv.error();
  if (const Status known =
          csv->need({"sn", "cpu_milli", "memory_mib", "gpu", "model"}, "node", "num_gpu", "pod");
      !known) {
    return known.error();
  }
  std::vector<model::NodeSpec> nodes;
  std::set<std::string_view> names;
  for (const Csv::Row& row : csv->rows()) {
    const auto cpu = csv->number(row, "cpu_milli", model::amount_max);
    const auto memory = csv->number(row, "memory_mib", mib_max);
    const auto gpus = csv->number(row, "gpu", gpus_of_a_node_max);
    for (const auto* value : {&cpu, &memory, &gpus}) {
      if (!*value) return value->error();
    }
    const std::string_view name = csv->text(row, "sn");
    if (name.empty()) return wrong(file, row.line, "sn: a node needs a name");
    if (!names.insert(name).second)
      return wrong(file, row.line, fmt::format("sn: '{}' is there twice", name));
    if (names.size() > most) return wrong(file, row.line, fmt::format("more than {} nodes", most));
    model::NodeSpec node;
    node.name = name;
    node.allocatable.cpu = {*cpu};
    node.allocatable.memory = {*memory * mib};
    node.gpu_count = static_cast<int>(*gpus);
    node.gpu_type = csv->text(row, "model");
    node.pods_max = 1000;  // the trace knows no limit of pods
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Result<std::vector<OpenbPod>> read_openb_pods(const std::string& text, const std::string& file,
                                              std::size_t most) {
  const auto csv = Csv::parse(text, file);
  if (!csv) return csv.error();
  if (const Status known = csv->need({"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"},
                                     "pod", "sn", "node");
      !known) {
    return known.error();
  }
  std::vector<OpenbPod> pods;
  std::set<std::string_view> names;
  for (const Csv::Row& row : csv->rows()) {
    auto pod = read_pod(*csv, row);
    if (!pod) return pod.error();
    if (!names.insert(csv->text(row, "name")).second)
      return wrong(file, row.line, fmt::format("name: '{}' is there twice", pod->name));
    if (pods.size() >= most) return wrong(file, row.line, fmt::format("more than {} jobs", most));
    pods.push_back(std::move(*pod));
  }
  return pods;
}

}  // namespace muster::sim
