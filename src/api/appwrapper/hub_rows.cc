// AppWrappers as people see them: what AppWrapperHub knows of them, without asking anybody.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/appwrapper/hub.h"
#include "api/appwrapper/status_fields.h"
#include "api/appwrapper/status_v1beta1.h"
#include "api/appwrapper/status_v1beta2.h"
#include "kube/json.h"

namespace muster::api {

namespace {

constexpr const char* old_group = "mcad.ibm.com";

WrapperGroup group_of(const RowKey& key) {
  return key.group == old_group ? WrapperGroup::McadIbm : WrapperGroup::Workload;
}

}  // namespace

void AppWrapperHub::list(WrapperFilter filter, std::function<void(const WrapperPage&)> then) {
  answer([this, filter = std::move(filter), then = std::move(then)] {
    WrapperPage page;
    page.warning = unserved_;
    if (page.warning.empty()) page.warning = unchecked_;
    if (page.warning.empty() && quota_) page.warning = quota_->trouble();
    page.is_early = unserved_.empty() && !listed_.contains(WrapperGroup::Workload);
    if (page.is_early && page.warning.empty())
      page.warning = fmt::format("cluster {} has not told its AppWrappers yet", options_.cluster);
    if (!filter.after || filter.after->kind == wrapper_kind) add_wrappers(filter, page);
    if (labelled_ && !page.has_more) labelled_->add_rows(filter, page);
    then(page);
  });
}

void AppWrapperHub::add_wrappers(const WrapperFilter& filter, WrapperPage& page) const {
  if (!filter.wants_kind(wrapper_kind)) return;
  for (const WrapperGroup group : {WrapperGroup::Workload, WrapperGroup::McadIbm}) {
    if (!page.has_more) add_wrappers(group, filter, page);
  }
}

/// Looks at those alone that can be wanted, where the namespace is said.
void AppWrapperHub::add_wrappers(WrapperGroup group, const WrapperFilter& filter,
                                 WrapperPage& page) const {
  const WrapperKey first{group, filter.ns, filter.ns.empty() ? "" : filter.name};
  auto at = by_key_.lower_bound(first);
  if (filter.after) {
    const WrapperKey after{group_of(*filter.after), filter.after->ns, filter.after->name};
    if (first <= after) at = by_key_.upper_bound(after);
  }
  for (; at != by_key_.end() && (*at)->key.group == group; ++at) {
    const Record& record = **at;
    const bool is_beyond = !filter.ns.empty() && record.key.ns != filter.ns;
    const bool is_beyond_name =
        !filter.ns.empty() && !filter.name.empty() && record.key.name != filter.name;
    if (is_beyond || is_beyond_name) return;
    if (record.is_gone || !filter.wants(wrapper_kind, record.key.ns, record.key.name)) continue;
    const auto& row = record.facts.row;
    if (!filter.wants_queue(row ? row->queue : "")) continue;
    if (!filter.states.empty() && !filter.wants_state(state_of(record))) continue;
    page.has_more = page.rows.size() >= filter.limit;
    if (page.has_more) return;
    page.rows.push_back(row_of(record));
  }
}

/// The whole status is made only of the few of which nothing less tells it.
std::string AppWrapperHub::state_of(const Record& record) const {
  if (record.is_final && !record.ended_as.empty()) return std::string(record.ended_as);
  if (source_of(record.job())) {
    const auto state = record.is_v1beta2 ? known_phase(record.facts) : known_state(record.facts);
    if (!state.empty()) return std::string(state);
  }
  const boost::json::value status(writer_->now_of(record.job()));
  return std::string(kube::text_at(status, {record.is_v1beta2 ? "phase" : "state"}));
}

void AppWrapperHub::count_states(Time now) {
  constexpr Duration pause = seconds(15);
  if (now - counted_ < pause) return;
  counted_ = now;
  std::map<std::string, std::size_t> counts;
  for (const auto& [job, record] : records_) {
    if (!record.is_gone && !record.is_foreign) ++counts[state_of(record)];
  }
  counts.erase("");  // nothing was said of it yet
  parts_->count_states(counts);
}

WrapperRow AppWrapperHub::row_of(const Record& record) const {
  WrapperRow row;
  row.key = {.group = record.key.group == WrapperGroup::McadIbm ? old_group : "",
             .ns = record.key.ns,
             .name = record.key.name};
  row.version = record.is_v1beta2 ? "v1beta2" : "v1beta1";
  row.state = state_of(record);
  put_facts(record.facts, row);
  return row;
}

void put_facts(const WrapperFacts& facts, WrapperRow& row) {
  row.priority = facts.ask.priority;
  row.reason = *facts.refusal;
  row.warnings = *facts.ask.warnings;
  if (!facts.ignored->empty()) row.warnings.push_back(*facts.ignored);
  if (!facts.row) {
    if (facts.wait) row.reason = why_it_waits(facts);
    return;
  }
  const model::JobCourse& job = *facts.row;
  row.job = *facts.job;
  row.queue = job.queue;
  row.priority = job.priority;
  row.attempt = job.attempt;
  if (facts.is_seen()) {
    row.pods = facts.sight->pods;
    if (!facts.sight->is_removed) row.trouble = facts.sight->trouble;
  }
  if (model::is_active(job.state)) row.cluster = job.cluster;
  if (job.state == model::JobState::Failed) row.reason = job.reason;
  if (facts.is_kept_failure()) row.reason = facts.why_kept_failed();
  if (facts.is_removed()) row.reason = facts.sight->trouble;
  if (facts.is_tried_again()) row.reason = job.reason;
  if (facts.wait) row.reason = why_it_waits(facts);
}

}  // namespace muster::api
