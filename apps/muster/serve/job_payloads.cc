#include "apps/muster/serve/job_payloads.h"

#include <iterator>
#include <utility>

namespace muster::app {

JobPayloads::CommandPtr JobPayloads::Recent::find(const std::string& key) {
  const auto it = by_key_.find(key);
  if (it == by_key_.end()) return nullptr;
  order_.splice(order_.begin(), order_, it->second);
  return it->second->command;
}

void JobPayloads::Recent::put(const std::string& key, CommandPtr command, std::size_t bytes) {
  if (bytes > bytes_most_ / 16) return;  // one alone shall not drive the others out
  if (const auto it = by_key_.find(key); it != by_key_.end()) drop(it->second);
  order_.push_front({key, std::move(command), bytes});
  by_key_[key] = order_.begin();
  bytes_ += bytes;
  while (order_.size() > most_ || bytes_ > bytes_most_) drop(std::prev(order_.end()));
}

void JobPayloads::Recent::drop(std::list<Kept>::iterator it) {
  bytes_ -= it->bytes;
  by_key_.erase(it->key);
  order_.erase(it);
}

void JobPayloads::keep(std::vector<api::AcceptedCommand> commands) {
  const std::lock_guard lock(mutex_);
  for (api::AcceptedCommand& accepted : commands)
    accepted_.put(accepted.job, std::move(accepted.command), accepted.bytes);
}

Result<std::shared_ptr<const model::Command>> JobPayloads::of(const std::string& job) {
  {
    const std::lock_guard lock(mutex_);
    if (CommandPtr command = accepted_.find(job)) return command;
  }
  const auto row = store_.job(job);
  if (!row) return row.error();
  const auto known = read(job, row->payload);
  if (!known) return known.error();
  model::Command command = **known;
  command.user = row->user;
  return std::make_shared<const model::Command>(std::move(command));
}

Result<JobPayloads::CommandPtr> JobPayloads::read(const std::string& job,
                                                  const std::string& payload) {
  {
    const std::lock_guard lock(mutex_);
    if (CommandPtr command = documents_.find(payload)) return command;
  }
  const auto document = store_.payload(payload);
  if (!document) return document.error();
  config::JobFile file = config::read_job_json(*document, {});
  if (!file.ok() || file.jobs.size() != 1)
    return invalid(fmt::format("the document of job {} does not read: {}", job,
                               file.problems.empty()
                                   ? "it is not one job"
                                   : config::to_text(file.problems[0], "document")));
  config::complete_command(file.jobs[0]);
  CommandPtr command = std::make_shared<const model::Command>(std::move(file.jobs[0].command));
  const std::lock_guard lock(mutex_);
  documents_.put(payload, command, document->size());
  return command;
}

}  // namespace muster::app
