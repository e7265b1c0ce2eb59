#include "apps/muster/serve/job_payloads.h"

#include <utility>

namespace muster::app {
namespace {

constexpr std::size_t kept_most = 256;

}  // namespace

Result<std::shared_ptr<const model::Command>> JobPayloads::of(const std::string& job) {
  const auto row = store_.job(job);
  if (!row) return row.error();
  std::shared_ptr<const model::Command> known;
  {
    const std::lock_guard lock(mutex_);
    const auto it = kept_.find(row->payload);
    if (it != kept_.end()) known = it->second;
  }
  if (!known) {
    const auto document = store_.payload(row->payload);
    if (!document) return document.error();
    config::JobFile file = config::read_job_json(*document, {});
    if (!file.ok() || file.jobs.size() != 1)
      return invalid(fmt::format("the document of job {} does not read: {}", job,
                                 file.problems.empty()
                                     ? "it is not one job"
                                     : config::to_text(file.problems[0], "document")));
    config::Submission& read = file.jobs[0];
    const std::vector<model::PodSet>& sets = read.spec.gang.sets;
    for (std::size_t i = 0; i < read.command.sets.size(); ++i)
      read.command.sets[i].pod = sets[i].pod;
    read.command.pool = read.spec.gang.pool;
    known = std::make_shared<const model::Command>(std::move(read.command));
    const std::lock_guard lock(mutex_);
    if (kept_.size() >= kept_most) kept_.clear();
    kept_[row->payload] = known;
  }
  model::Command command = *known;
  command.user = row->user;
  return std::make_shared<const model::Command>(std::move(command));
}

}  // namespace muster::app
