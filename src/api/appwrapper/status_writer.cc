#include "api/appwrapper/status_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "api/appwrapper/status_fields.h"
#include "api/appwrapper/status_v1beta1.h"
#include "api/appwrapper/status_v1beta2.h"
#include "kube/requests.h"

namespace muster::api {

namespace {

namespace json = boost::json;

constexpr Duration retry_least = seconds(1);
constexpr Duration retry_most = seconds(30);

json::object parsed(const std::string& text) { return json::parse(text).as_object(); }

json::object status_after(const StatusSource& source, const json::object& before, Time now) {
  return source.is_v1beta2 ? status_v1beta2(before, *source.facts, now)
                           : status_v1beta1(before, *source.facts, now);
}

}  // namespace

void StatusWriter::add(const std::string& job, const WrapperKey& key, const std::string& uid,
                       const json::object& status) {
  Entry& entry = entries_[job];
  entry.key = key;
  entry.uid = uid;
  entry.written = json::serialize(status);
}

void StatusWriter::forget(const std::string& job) {
  const auto at = entries_.find(job);
  if (at == entries_.end()) return;
  set_due(job, at->second, Time::never());
  entries_.erase(at);
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
  if (!entry.is_writing) set_due(job, entry, std::max(due, entry.written_at + pace_.pause));
}

void StatusWriter::set_due(const std::string& job, Entry& entry, Time due) {
  due_.erase({entry.due, job});
  entry.due = due;
  if (!due.is_never()) due_.insert({due, job});
}

void StatusWriter::write_due() {
  const Time now = parts_.clock();
  while (!due_.empty() && due_.begin()->first <= now) {
    const std::string job = due_.begin()->second;
    Entry& entry = entries_.at(job);
    set_due(job, entry, Time::never());
    write(job, entry);
  }
}

json::object StatusWriter::now_of(const std::string& job) const {
  const auto at = entries_.find(job);
  if (at == entries_.end()) return {};
  const json::object before = parsed(at->second.written);
  const auto source = parts_.source(job);
  return source ? status_after(*source, before, parts_.clock()) : before;
}

void StatusWriter::write(const std::string& job, Entry& entry) {
  entry.dirty_since = Time::never();
  const auto source = parts_.source(job);
  if (!source) return;
  const Time now = parts_.clock();
  const json::object before = parsed(entry.written);
  const json::object after = status_after(*source, before, now);
  const json::object changes = merge_patch(before, after);
  if (changes.empty()) return;
  entry.is_writing = true;
  entry.written_at = now;
  parts_.on_write(job);
  // With its uid: another one of that name is not touched.
  const json::value patch = {{"metadata", {{"uid", entry.uid}}}, {"status", changes}};
  client_.send_later(
      kube::patch_request(appwrappers(entry.key.group), entry.key.ns, entry.key.name,
                          kube::Patch::Merge, patch, {.field_manager = "muster"}, "status"),
      [this, job, text = json::serialize(after)](const kube::Reply<json::value>& reply) {
        std::optional<kube::ApiError> error;
        if (!reply) error = reply.error();
        parts_.later([this, job, text, error] { wrote(job, text, error); });
      });
}

void StatusWriter::wrote(const std::string& job, const std::string& text,
                         const std::optional<kube::ApiError>& error) {
  const auto at = entries_.find(job);
  if (at == entries_.end()) return;
  Entry& entry = at->second;
  entry.is_writing = false;
  if (!error) {
    entry.written = text;
    entry.failures = 0;
    if (!entry.dirty_since.is_never()) touch(job, Moves::No);
    return;
  }
  if (error->is_not_found()) return;  // the watch will say so
  // A conflict is somebody who wrote at the same time; or it is another one of that name by now,
  // and the watch will say so.
  if (entry.failures++ == 0 && !error->is_conflict())
    parts_.say(fmt::format("AppWrapper {}/{}: its status cannot be written: {}", entry.key.ns,
                           entry.key.name, error->message));
  Duration wait = retry_least;
  for (int i = 1; i < entry.failures && wait < retry_most; ++i) wait = wait + wait;
  const Time now = parts_.clock();
  entry.dirty_since = now;
  set_due(job, entry, now + std::min(wait, retry_most));
}

}  // namespace muster::api
