#include "api/appwrapper/status_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/appwrapper/packed_status.h"
#include "api/appwrapper/status_fields.h"
#include "api/appwrapper/status_v1beta1.h"
#include "api/appwrapper/status_v1beta2.h"
#include "kube/requests.h"

namespace muster::api {

namespace {

namespace json = boost::json;

constexpr Duration retry_least = seconds(1);
constexpr Duration retry_most = seconds(30);

json::object status_after(const StatusSource& source, const json::object& before, Time now) {
  return source.is_v1beta2 ? status_v1beta2(before, source.facts, now)
                           : status_v1beta1(before, source.facts, now);
}

/// So often doubled.
Duration doubled(Duration time, int times, Duration most) {
  for (int i = 0; i < times && time < most; ++i) time = time + time;
  return std::min(time, most);
}

}  // namespace

void StatusWriter::add(const std::string& job, const json::object& status) {
  entries_[job].written = pack_status(status, job);
}

void StatusWriter::forget(const std::string& job) {
  due_.drop(job);
  entries_.erase(job);
}

void StatusWriter::touch(const std::string& job, Moves moves) {
  const auto at = entries_.find(job);
  if (at == entries_.end()) return;
  Entry& entry = at->second;
  const Time now = parts_.clock();
  if (entry.dirty_since.is_never()) entry.dirty_since = now;
  const Time latest =
      entry.dirty_since + (moves == Moves::Making ? pace_.making_most : pace_.settle_most);
  const Time due = moves == Moves::No ? std::min(now + pace_.settle, latest) : latest;
  if (!entry.is_writing) due_.set(at->first, std::max(due, entry.written_at + pace_.pause));
}

void StatusWriter::write_due(Duration most) {
  const Time now = parts_.clock();
  while (parts_.clock() - now < most) {
    const std::string job = due_.take(now);
    if (job.empty()) return;
    if (const auto at = entries_.find(job); at != entries_.end()) write(job, at);
  }
}

json::object StatusWriter::now_of(const std::string& job) const {
  const auto at = entries_.find(job);
  if (at == entries_.end()) return {};
  const json::object before = unpack_status(at->second.written, job);
  const auto source = parts_.source(job);
  return source ? status_after(*source, before, parts_.clock()) : before;
}

void StatusWriter::write(const std::string& job, Entries::iterator at) {
  Entry& entry = at->second;
  const auto source = parts_.source(job);
  if (!source) return;
  const Time now = parts_.clock();
  const json::object before = unpack_status(entry.written, job);
  const json::object after = status_after(*source, before, now);
  const json::object changes = merge_patch(before, after);
  const bool is_step = !is_counts_only(before, changes);
  if (changes.empty()) {
    entry.counts_since = entry.dirty_since = Time::never();
    return;
  }
  if (may_wait(entry, source->facts, is_step, now)) {
    entry.dirty_since = Time::never();
    return due_.set(at->first, entry.counts_since + counts_wait(entry, source->facts));
  }
  entry.is_run_told = all_pods_run(source->facts) || (entry.is_run_told && !is_step);
  entry.counts_written = is_step ? 0 : static_cast<std::uint8_t>(entry.counts_written + 1);
  entry.counts_since = entry.dirty_since = Time::never();
  entry.is_writing = true;
  entry.written_at = now;
  parts_.on_write(job);
  send(job, *source, changes, pack_status(after, job));
}

bool StatusWriter::may_wait(Entry& entry, const WrapperFacts& facts, bool is_step, Time now) const {
  if (is_step || (all_pods_run(facts) && !entry.is_run_told)) return false;
  if (entry.counts_since.is_never()) entry.counts_since = std::min(entry.dirty_since, now);
  return now < entry.counts_since + counts_wait(entry, facts);
}

Duration StatusWriter::counts_wait(const Entry& entry, const WrapperFacts& facts) const {
  const bool is_between = !entry.is_run_told || facts.sight->pods.running == 0;
  const bool has_words = !facts.sight->trouble.empty() || facts.wait;
  const Duration first = is_between && !has_words ? pace_.counts_between : pace_.counts;
  return doubled(first, entry.counts_written, pace_.counts_most);
}

void StatusWriter::send(const std::string& job, const StatusSource& source,
                        const json::object& changes, std::string packed) {
  const WrapperKey& key = source.key;
  // With its uid: another one of that name is not touched.
  const json::value patch = {{"metadata", {{"uid", source.uid}}}, {"status", changes}};
  parts_.send(kube::patch_request(appwrappers(key.group), key.ns, key.name, kube::Patch::Merge,
                                  patch, {.field_manager = "muster"}, "status"),
              [this, job, packed = std::move(packed)](const std::optional<kube::ApiError>& error) {
                parts_.later([this, job, packed, error] { wrote(job, packed, error); });
              });
}

void StatusWriter::wrote(const std::string& job, std::string packed,
                         const std::optional<kube::ApiError>& error) {
  const auto at = entries_.find(job);
  if (at == entries_.end()) return;
  Entry& entry = at->second;
  entry.is_writing = false;
  if (!error) {
    entry.written = std::move(packed);
    entry.failures = 0;
    if (!entry.dirty_since.is_never()) touch(job, Moves::No);
    return;
  }
  if (error->is_not_found()) return;  // the watch will say so
  // A conflict is somebody who wrote at the same time; or it is another one of that name by now,
  // and the watch will say so.
  const auto source = parts_.source(job);
  if (entry.failures++ == 0 && !error->is_conflict() && source)
    parts_.say(fmt::format("AppWrapper {}/{}: its status cannot be written: {}", source->key.ns,
                           source->key.name, error->message));
  const Time now = parts_.clock();
  entry.dirty_since = now;
  entry.is_run_told = false;
  due_.set(at->first, now + doubled(retry_least, entry.failures - 1, retry_most));
}

}  // namespace muster::api
