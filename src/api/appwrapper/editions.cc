#include "api/appwrapper/editions.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <map>

#include "api/appwrapper/copies.h"
#include "base/hash.h"
#include "base/text.h"
#include "kube/json.h"

namespace muster::api {

namespace {

namespace json = boost::json;

constexpr std::int64_t edition_most = 1'000'000'000;

/// Of annotations: those of AppWrappers, and Muster's but for what Muster writes itself.
bool means_something(std::string_view annotation) {
  if (annotation == copies_annotation || annotation == edition_annotation) return false;
  return annotation.starts_with("muster.dev/") ||
         annotation.starts_with("workload.codeflare.dev.appwrapper/");
}

void add_value(const json::value& value, Hasher& hash);

void add_annotations(const json::value& object, Hasher& hash) {
  for (const auto& [name, value] : kube::map_at(object, {"metadata", "annotations"})) {
    if (!means_something(name)) continue;
    hash.add(std::string_view(name));
    add_value(value, hash);
  }
}

/// Members in the order of their names: servers do not keep that of clients.
void add_value(const json::value& value, Hasher& hash) {
  if (value.is_object()) {
    std::map<std::string_view, const json::value*> members;
    for (const auto& member : value.get_object()) members[member.key()] = &member.value();
    hash.add(std::uint64_t{'{'});
    for (const auto& [name, member] : members) {
      hash.add(name);
      add_value(*member, hash);
    }
    hash.add(std::uint64_t{'}'});
  } else if (value.is_array()) {
    hash.add(std::uint64_t{'['});
    for (const json::value& one : value.get_array()) add_value(one, hash);
    hash.add(std::uint64_t{']'});
  } else {
    hash.add(std::string_view(json::serialize(value)));
  }
}

}  // namespace

std::int64_t edition_of(const json::value& object) {
  const auto read = [](std::string_view text) {
    const auto edition = parse_int(text, edition_annotation, 1, edition_most);
    return edition ? *edition : 0;
  };
  const std::int64_t noted =
      read(kube::text_at(object, {"metadata", "annotations", edition_annotation}));
  // Somebody who replaced the object may have taken the annotation off; its status stays.
  const std::string_view job = kube::text_at(object, {"status", "muster", "job"});
  const std::string uid(kube::uid_of(object));
  const std::size_t at = uid.empty() ? std::string_view::npos : job.rfind(uid + "-");
  if (at == std::string_view::npos) return noted;
  return std::max(noted, read(job.substr(at + uid.size() + 1)));
}

std::string edition_suffix(std::int64_t edition) {
  return edition == 0 ? "" : fmt::format("-{}", edition);
}

std::uint64_t notes_hash(const json::value& object) {
  Hasher hash;
  add_value(kube::map_at(object, {"metadata", "labels"}), hash);
  add_annotations(object, hash);
  return hash.value();
}

std::uint64_t content_hash(const json::value& object, std::string_view queues) {
  Hasher hash;
  if (const json::value* spec = kube::find(object, {"spec"}); spec && spec->is_object()) {
    json::object rest = spec->get_object();
    rest.erase("priority");
    rest.erase("suspend");
    add_value(json::value(std::move(rest)), hash);
  }
  add_annotations(object, hash);
  hash.add(queues);
  return hash.value() | 1U;
}

std::uint64_t written_content(const json::object& status) {
  const json::value whole(status);
  const std::string_view text = kube::text_at(whole, {"muster", "content"});
  std::uint64_t content = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), content, 16);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() ? content : 0;
}

std::string content_text(std::uint64_t content) { return fmt::format("{:016x}", content); }

}  // namespace muster::api
