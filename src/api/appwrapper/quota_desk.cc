#include "api/appwrapper/quota_desk.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace muster::api {

namespace {

constexpr Duration try_again = seconds(1);

bool has_queue(const work::QuotaForest& forest, const std::string& name) {
  return std::any_of(forest.queues.begin(), forest.queues.end(),
                     [&](const model::QueueSpec& spec) { return spec.name == name; });
}

}  // namespace

QuotaDesk::QuotaDesk(kube::Client& client, Parts parts) : parts_(std::move(parts)) {
  watch_ = std::make_unique<QuotaWatch>(client, [this] { parts_.later([this] { follow(); }); });
}

void QuotaDesk::follow() {
  if (!watch_->has_answered()) return;
  const work::QuotaForest before =
      std::exchange(forest_, work::read_quota_forest(watch_->subtrees()));
  if (before.problems != forest_.problems) {
    for (const std::string& problem : forest_.problems) parts_.say("quota: " + problem);
  }
  put_queues(before);
  parts_.on_change();
}

void QuotaDesk::put_queues(const work::QuotaForest& before) {
  control::Asked asked;
  for (const model::QueueSpec& spec : forest_.queues)
    asked.events.emplace_back(model::QueueSet{spec});
  for (auto spec = before.queues.rbegin(); spec != before.queues.rend(); ++spec) {
    if (!has_queue(forest_, spec->name)) asked.events.emplace_back(model::QueueRemoved{spec->name});
  }
  if (asked.events.empty()) return;
  const auto ask = [asked](const sched::World&, Time) -> Result<control::Asked> { return asked; };
  const auto put = parts_.requests.put({ask, [](const Result<control::Answer>&) {}});
  if (put != control::Requests::Put::Taken && put != control::Requests::Put::Closed)
    parts_.later_after(try_again, [this, before] { put_queues(before); });
}

Result<work::Designation> QuotaDesk::designation_of(const model::Labels& labels) const {
  work::Designation made = work::designation_of(labels, forest_.trees);
  std::vector<std::string> queues = made.extra_queues;
  if (!made.queue.empty()) queues.push_back(made.queue);
  for (const std::string& queue : queues) {
    if (!has_queue(forest_, queue))
      return Error{Fault::NotFound,
                   fmt::format("its quota designation names {}, which is not there", queue)};
  }
  return made;
}

}  // namespace muster::api
