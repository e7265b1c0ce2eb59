// AppWrappers as people see them: what AppWrapperHub knows of them, without asking anybody.
#include <algorithm>
#include <utility>

#include "api/appwrapper/hub.h"
#include "api/appwrapper/status_fields.h"
#include "api/appwrapper/status_v1beta1.h"
#include "api/appwrapper/status_v1beta2.h"
#include "kube/json.h"

namespace muster::api {

void AppWrapperHub::list(WrapperFilter filter, std::function<void(const WrapperPage&)> then) {
  answer([this, filter = std::move(filter), then = std::move(then)] {
    std::vector<const Record*> found;
    for (const auto& [job, record] : records_) {
      const bool is_wanted = (filter.ns.empty() || record.key.ns == filter.ns) &&
                             (filter.name.empty() || record.key.name == filter.name) &&
                             (!filter.after || *filter.after < record.key);
      if (is_wanted && !record.is_gone) found.push_back(&record);
    }
    const std::size_t count = std::min(filter.limit, found.size());
    std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count),
                      found.end(),
                      [](const Record* a, const Record* b) { return a->key < b->key; });
    WrapperPage page;
    page.has_more = count < found.size();
    page.warning = unserved_;
    for (std::size_t i = 0; i < count; ++i) page.rows.push_back(row_of(*found[i]));
    then(page);
  });
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
  row.key = record.key;
  row.is_v1beta2 = record.is_v1beta2;
  row.priority = record.facts.ask.priority;
  row.state = state_of(record);
  row.reason = record.facts.refusal;
  row.warnings = record.facts.ask.warnings;
  if (!record.facts.row) {
    if (record.facts.wait) row.reason = why_it_waits(record.facts);
    return row;
  }
  const model::JobRow& job = *record.facts.row;
  row.job = job.id;
  row.queue = job.queue;
  row.attempt = job.attempt;
  if (record.facts.is_seen()) {
    row.pods = record.facts.sight.pods;
    row.trouble = record.facts.sight.trouble;
  }
  if (model::is_active(job.state)) row.cluster = job.cluster;
  if (job.state == model::JobState::Failed) row.reason = job.reason;
  if (record.facts.is_kept_failure()) row.reason = record.facts.sight.kept_failure;
  if (record.facts.is_tried_again()) row.reason = job.reason;
  if (record.facts.wait) row.reason = why_it_waits(record.facts);
  return row;
}

}  // namespace muster::api
