#include "store/job_table.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "store/conditions.h"
#include "store/counted_text.h"
#include "store/projection.h"

namespace muster::store {
namespace {

using model::JobRow;
using model::JobState;

constexpr std::string_view columns =
    "submit, id, name, user_name, queue, priority, state, attempt, failures, max_retries, cluster, "
    "submitted, started, finished, why, payload, run_limit, pods, gpus, exit_code, reason, "
    "labels, pool, ailment";
constexpr std::string_view last_character = "\xf4\x8f\xbf\xbf";

std::int64_t whole(std::uint64_t v) { return static_cast<std::int64_t>(v); }
Value time_or_null(Time t) { return t.is_never() ? Value{Null{}} : Value{t.ms}; }
Value number_or_null(std::optional<int> v) { return v ? Value{std::int64_t{*v}} : Value{Null{}}; }
Time time_at(const Row& row, int column) {
  return row.is_null(column) ? Time::never() : Time{row.number(column)};
}

JobState state_of(std::string_view text) {
  for (const JobState state : model::all_states()) {
    if (model::to_text(state) == text) return state;
  }
  return JobState::Failed;  // a state of a newer schema; it was refused at the start
}

JobRow job_of(const Row& row) {
  JobRow job;
  job.submit = static_cast<std::uint64_t>(row.number(0));
  job.id = row.text(1);
  job.name = row.text(2);
  job.user = row.text(3);
  job.queue = row.text(4);
  job.priority = static_cast<int>(row.number(5));
  job.state = state_of(row.text(6));
  job.attempt = static_cast<std::uint32_t>(row.number(7));
  job.failures = static_cast<std::uint32_t>(row.number(8));
  job.max_retries = static_cast<std::uint32_t>(row.number(9));
  job.cluster = row.text(10);
  job.submitted = Time{row.number(11)};
  job.started = time_at(row, 12);
  job.finished = time_at(row, 13);
  job.why = model::parse_end_why(row.text(14)).value_or(model::EndWhy::None);
  job.payload = row.text(15);
  job.run_limit = Duration{row.number(16)};
  job.pods = static_cast<std::uint32_t>(row.number(17));
  job.gpus = {row.number(18)};
  if (!row.is_null(19)) job.exit_code = static_cast<int>(row.number(19));
  job.reason = row.text(20);
  const std::vector<std::string> labels = split_counted(row.text(21));
  for (std::size_t i = 0; i + 1 < labels.size(); i += 2)
    job.labels.emplace(labels[i], labels[i + 1]);
  job.pool = row.text(22);
  job.ailment = model::parse_ailment(row.text(23)).value_or(model::Ailment::None);
  return job;
}

std::string label_text(std::string_view key, std::string_view value) {
  return fmt::format("{}={}", key, value);
}

/// What a pass goes down, newest job first.
struct Way {
  std::string_view tables = "jobs";
  std::string_view job = "submit";  // the column that says where
};
constexpr Way by_label{"job_labels join jobs on submit = job", "job"};

/// One pass down the table: through `index` alone, or also with `rest`, which the index cannot
/// answer.
struct Pass {
  std::vector<JobRow> rows;      // newest first
  std::uint64_t covered_to = 0;  // every match at or above it is in `rows`; 0: all
};

Result<Pass> look(Connection& connection, const Way& way, const std::vector<Condition>& index,
                  const std::vector<Condition>& rest, std::size_t most) {
  Batch select;
  const std::string where = conjunction(index, select.values);
  std::string sql = fmt::format("select {} from {} where {} order by {} desc", columns, way.tables,
                                where, way.job);
  if (!rest.empty()) {
    select.values.emplace_back(look_max);
    sql = fmt::format("select {} from ({} limit ${}) as looked_at where ", columns, sql,
                      select.values.size());
    sql += conjunction(rest, select.values) + " order by submit desc";
  }
  select.values.emplace_back(static_cast<std::int64_t>(most));
  sql += fmt::format(" limit ${}", select.values.size());
  select.sql = sql;
  select.columns = select.values.size();

  Pass pass;
  const Status found =
      connection.run(select, [&](const Row& row) { pass.rows.push_back(job_of(row)); });
  if (!found) return found.error();
  if (pass.rows.size() >= most) {
    pass.covered_to = pass.rows.back().submit;
  } else if (!rest.empty()) {
    Batch floor;
    const std::string again = conjunction(index, floor.values);
    floor.values.emplace_back(look_max - 1);
    const std::string text =
        fmt::format("select {0} from {1} where {2} order by {0} desc limit 1 offset ${3}", way.job,
                    way.tables, again, floor.values.size());
    floor.sql = text;
    floor.columns = floor.values.size();
    const Status ended = connection.run(floor, [&](const Row& row) {
      pass.covered_to = static_cast<std::uint64_t>(row.number(0));
    });
    if (!ended) return ended.error();
  }
  return pass;
}

/// Rows of several passes as one page.
ports::JobPage merge(std::vector<Pass> passes, std::size_t limit) {
  std::uint64_t covered_to = 0;
  ports::JobPage page;
  for (Pass& pass : passes) {
    covered_to = std::max(covered_to, pass.covered_to);
    std::move(pass.rows.begin(), pass.rows.end(), std::back_inserter(page.jobs));
  }
  std::erase_if(page.jobs, [&](const JobRow& row) { return row.submit < covered_to; });
  std::sort(page.jobs.begin(), page.jobs.end(),
            [](const JobRow& a, const JobRow& b) { return a.submit > b.submit; });
  page.next = covered_to;
  if (page.jobs.size() > limit) {
    page.jobs.resize(limit);
    page.next = page.jobs.back().submit;
  }
  return page;
}

/// The parts of a filter, and which of them an index answers.
class Search {
 public:
  Search(const ports::JobFilter& filter, std::uint64_t before)
      : user_(table_text(filter.user)),
        queue_(table_text(filter.queue)),
        cluster_(table_text(filter.cluster)),
        name_(table_text(filter.name_prefix)),
        name_end_(name_ + std::string(last_character)),
        before_(before == 0 ? std::numeric_limits<std::int64_t>::max() : whole(before)) {
    if (!user_.empty()) parts_.push_back({"user_name = {}", {user_}});
    if (!queue_.empty()) parts_.push_back({"queue = {}", {queue_}});
    if (!cluster_.empty()) parts_.push_back({"cluster <> '' and cluster = {}", {cluster_}});
    for (const auto& [key, value] : filter.labels)
      labels_.push_back(label_text(table_text(key), table_text(value)));
  }

  Result<ports::JobPage> page(Connection& connection, const ports::JobFilter& filter,
                              std::size_t limit) {
    std::vector<Pass> passes;
    const Result<bool> rare = has_rare_name(connection);
    if (!rare) return rare.error();
    if (!*rare && !labels_.empty()) {
      if (Status status = add_labelled(connection, passes, filter.states, limit); !status)
        return status.error();
      return merge(std::move(passes), limit);
    }
    const bool by_state = !*rare && !(filter.states.empty() && parts_.empty());
    std::vector<JobState> states = filter.states;
    if (by_state && states.empty())
      states.assign(model::all_states().begin(), model::all_states().end());
    std::sort(states.begin(), states.end());
    states.erase(std::unique(states.begin(), states.end()), states.end());
    if (states.empty()) {
      if (Status status = add(connection, passes, *rare, std::nullopt, limit); !status)
        return status.error();
    }
    for (const JobState state : states) {
      if (Status status = add(connection, passes, *rare, state, limit); !status)
        return status.error();
    }
    return merge(std::move(passes), limit);
  }

 private:
  Status add(Connection& connection, std::vector<Pass>& passes, bool rare_name,
             std::optional<JobState> state, std::size_t limit) const {
    std::vector<Condition> index;
    std::vector<Condition> rest;
    if (rare_name) add_name(index);
    for (std::size_t i = 0; i < parts_.size(); ++i)
      (i == 0 || rare_name ? index : rest).push_back(parts_[i]);
    if (state) index.push_back({"state = {}", {model::to_text(*state)}});
    index.push_back({"submit < {}", {before_}});
    if (rare_name) add_labels(index, 0);
    if (!rare_name && !name_.empty()) add_name(rest);
    return look_into(passes, connection, {}, index, rest, limit);
  }
  /// Through the first label: one pass over all states, as its index knows none.
  Status add_labelled(Connection& connection, std::vector<Pass>& passes,
                      std::vector<JobState> states, std::size_t limit) const {
    static_assert(static_cast<int>(JobState::Cancelled) + 1 == 8, "as many as there are places");
    std::sort(states.begin(), states.end());
    states.erase(std::unique(states.begin(), states.end()), states.end());
    std::vector<Condition> rest = parts_;
    add_labels(rest, 1);
    if (!name_.empty()) add_name(rest);
    if (!states.empty()) {
      // Always as many values as there are states, so that it is one statement for all filters.
      std::vector<Value> values;
      for (std::size_t i = 0; i < 8; ++i)
        values.emplace_back(model::to_text(states[std::min(i, states.size() - 1)]));
      rest.push_back({"state in ({}, {}, {}, {}, {}, {}, {}, {})", std::move(values)});
    }
    return look_into(passes, connection, by_label,
                     {{"label = {}", {labels_.front()}}, {"job < {}", {before_}}}, rest, limit);
  }
  static Status look_into(std::vector<Pass>& passes, Connection& connection, const Way& way,
                          const std::vector<Condition>& index, const std::vector<Condition>& rest,
                          std::size_t limit) {
    Result<Pass> pass = look(connection, way, index, rest, limit + 1);
    if (!pass) return pass.error();
    passes.push_back(std::move(*pass));
    return Ok{};
  }
  void add_name(std::vector<Condition>& conditions) const {
    conditions.push_back({"name <> '' and name >= {}", {name_}});
    conditions.push_back({"name < {}", {name_end_}});
  }
  void add_labels(std::vector<Condition>& conditions, std::size_t first) const {
    for (std::size_t i = first; i < labels_.size(); ++i)
      conditions.push_back(
          {"exists (select 1 from job_labels where label = {} and job = submit)", {labels_[i]}});
  }
  /// Names cannot be read in the order of submits: so few that all of them can be looked at?
  Result<bool> has_rare_name(Connection& connection) const {
    if (name_.empty()) return false;
    std::int64_t count = 0;
    const Status counted = connection.run(
        {"select count(*) from (select 1 from jobs where name <> '' and name >= $1 and name < $2 "
         "limit $3) as named",
         3,
         {name_, name_end_, look_max + 1}},
        [&](const Row& row) { count = row.number(0); });
    if (!counted) return counted.error();
    return count <= look_max;
  }

  std::string user_;
  std::string queue_;
  std::string cluster_;
  std::string name_;
  std::string name_end_;
  std::int64_t before_;
  std::vector<Condition> parts_;
  std::vector<std::string> labels_;
};

}  // namespace

LabelTexts::LabelTexts(const std::vector<JobRow>& of) : rows(of.size()) {
  for (std::size_t i = 0; i < of.size(); ++i) {
    for (const auto& [key, value] : of[i].labels) {
      add_counted(key, rows[i]);
      add_counted(value, rows[i]);
      std::string text = label_text(key, value);
      if (text.size() <= ports::label_bytes_max) labels.push_back({std::move(text), of[i].submit});
    }
  }
}

/// Of a job that was there already, and so was not inserted, nothing is.
Batch insert_labels(const LabelTexts& texts) {
  Batch batch{
      "insert into job_labels (label, job) select cast($1 as text), submit from jobs "
      "where submit = $2 on conflict do nothing",
      2,
      {}};
  for (const LabelTexts::Label& label : texts.labels) {
    batch.values.emplace_back(std::string_view(label.text));
    batch.values.emplace_back(whole(label.job));
  }
  return batch;
}

Batch insert_jobs(const std::vector<JobRow>& rows, const LabelTexts& texts) {
  static const std::string sql = fmt::format(
      "insert into jobs ({}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, "
      "$15, $16, $17, $18, $19, $20, $21, $22, "
      "$23, $24) on conflict (id) do nothing",
      columns);
  Batch batch{sql, 24, {}};
  batch.values.reserve(rows.size() * batch.columns);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const JobRow& row = rows[i];
    const std::array<Value, 24> values = {
        whole(row.submit),
        row.id,
        row.name,
        row.user,
        row.queue,
        std::int64_t{row.priority},
        model::to_text(row.state),
        std::int64_t{row.attempt},
        std::int64_t{row.failures},
        std::int64_t{row.max_retries},
        row.cluster,
        row.submitted.ms,
        time_or_null(row.started),
        time_or_null(row.finished),
        model::to_text(row.why),
        row.payload,
        row.run_limit.ms,
        std::int64_t{row.pods},
        row.gpus.v,
        number_or_null(row.exit_code),
        row.reason,
        texts.rows[i],
        row.pool,
        model::to_text(row.ailment),
    };
    batch.values.insert(batch.values.end(), values.begin(), values.end());
  }
  return batch;
}

Batch update_jobs(const std::vector<JobRow>& rows) {
  Batch batch{
      "update jobs set queue = $1, priority = $2, state = $3, attempt = $4, failures = $5, "
      "cluster = $6, started = $7, finished = $8, why = $9, exit_code = $10, reason = $11, "
      "pool = $12, gpus = $13, ailment = $14 where submit = $15",
      15,
      {}};
  batch.values.reserve(rows.size() * batch.columns);
  for (const JobRow& row : rows) {
    const std::array<Value, 15> values = {row.queue,
                                          std::int64_t{row.priority},
                                          model::to_text(row.state),
                                          std::int64_t{row.attempt},
                                          std::int64_t{row.failures},
                                          row.cluster,
                                          time_or_null(row.started),
                                          time_or_null(row.finished),
                                          model::to_text(row.why),
                                          number_or_null(row.exit_code),
                                          row.reason,
                                          row.pool,
                                          row.gpus.v,
                                          model::to_text(row.ailment),
                                          whole(row.submit)};
    batch.values.insert(batch.values.end(), values.begin(), values.end());
  }
  return batch;
}

Status find_jobs(Connection& connection, const std::vector<std::string>& ids,
                 const std::function<void(JobRow)>& each) {
  if (ids.empty()) return Ok{};
  static const std::string sql = fmt::format("select {} from jobs where id = $1", columns);
  Batch batch{sql, 1, {}};
  for (const std::string& id : ids) batch.values.emplace_back(std::string_view(id));
  return connection.run(batch, [&](const Row& row) { each(job_of(row)); });
}

Result<ports::JobPage> page_of_jobs(Connection& connection, const ports::JobFilter& filter,
                                    std::uint64_t before, std::size_t limit) {
  return Search(filter, before)
      .page(connection, filter, std::clamp<std::size_t>(limit, 1, ports::page_max));
}

}  // namespace muster::store
