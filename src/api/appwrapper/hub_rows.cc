// AppWrappers as people see them: what AppWrapperHub knows of them, without asking anybody.
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
    if (!filter.after || filter.after->kind == wrapper_kind) add_wrappers(filter, page);
    if (labelled_ && !page.has_more) labelled_->add_rows(filter, page);
    then(page);
  });
}

void AppWrapperHub::add_wrappers(const WrapperFilter& filter, WrapperPage& page) const {
  std::optional<WrapperKey> after;
  if (filter.after)
    after = WrapperKey{group_of(*filter.after), filter.after->ns, filter.after->name};
  std::vector<const Record*> found;
  for (const auto& [job, record] : records_) {
    const WrapperKey& key = record.key;
    if (filter.wants(wrapper_kind, key.ns, key.name) && (!after || *after < key) && !record.is_gone)
      found.push_back(&record);
  }
  const std::size_t count = std::min(filter.limit, found.size());
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), found.end(),
                    [](const Record* a, const Record* b) { return a->key < b->key; });
  page.has_more = count < found.size();
  for (std::size_t i = 0; i < count; ++i) page.rows.push_back(row_of(*found[i]));
}

/// The whole status is made only of the few of which nothing less tells it.
std::string AppWrapperHub::state_of(const Record& record) const {
  if (source_of(record.job())) {
    const auto state = record.is_v1beta2 ? known_phase(record.facts) : known_state(record.facts);
    if (!state.empty()) return std::string(state);
  }
  const boost::json::value status(writer_->now_of(record.job()));
  return std::string(kube::text_at(status, {record.is_v1beta2 ? "phase" : "state"}));
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
  row.reason = facts.refusal;
  row.warnings = facts.ask.warnings;
  if (!facts.row) {
    if (facts.wait) row.reason = why_it_waits(facts);
    return;
  }
  const model::JobRow& job = *facts.row;
  row.job = job.id;
  row.queue = job.queue;
  row.attempt = job.attempt;
  if (facts.is_seen()) {
    row.pods = facts.sight.pods;
    row.trouble = facts.sight.trouble;
  }
  if (model::is_active(job.state)) row.cluster = job.cluster;
  if (job.state == model::JobState::Failed) row.reason = job.reason;
  if (facts.is_kept_failure()) row.reason = facts.why_kept_failed();
  if (facts.is_tried_again()) row.reason = job.reason;
  if (facts.wait) row.reason = why_it_waits(facts);
}

}  // namespace muster::api
