#include "api/appwrapper/copies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <optional>
#include <utility>

#include "base/text.h"
#include "kube/json.h"
#include "kube/requests.h"

namespace muster::api {

namespace {

namespace json = boost::json;

constexpr int tries_most = 5;  // when others write at the same time
constexpr Duration job_pause = milliseconds(500);
constexpr Duration gone_pause = seconds(1);
constexpr Duration reach_pause = seconds(3);
constexpr int looks_quiet = 30;  // then it is told that something does not go

bool is_deleting(const json::value& object) {
  return kube::find(object, {"metadata", "deletionTimestamp"}) != nullptr;
}

json::array finalizers_without(const json::value& object, std::string_view name) {
  json::array others;
  for (const json::value& one : kube::items_at(object, {"metadata", "finalizers"})) {
    if (!one.is_string() || one.get_string() != name) others.push_back(one);
  }
  return others;
}

json::value patch_of(const json::value& object, json::array finalizers, json::value clusters) {
  json::value patch = json::object();
  kube::set_at(patch, {"metadata", "uid"}, json::string(kube::uid_of(object)));
  kube::set_at(patch, {"metadata", "resourceVersion"}, json::string(kube::version_of(object)));
  kube::set_at(patch, {"metadata", "finalizers"}, std::move(finalizers));
  kube::set_at(patch, {"metadata", "annotations", copies_annotation}, std::move(clusters));
  return patch;
}

kube::ApiRequest get_of(const WrapperCopies::Whose& whose) {
  return kube::get_request(appwrappers(whose.key.group), whose.key.ns, whose.key.name);
}
kube::ApiRequest patch_of(const WrapperCopies::Whose& whose, const json::value& patch) {
  return kube::patch_request(appwrappers(whose.key.group), whose.key.ns, whose.key.name,
                             kube::Patch::Merge, patch, {.field_manager = "muster"});
}

}  // namespace

std::set<std::string> marked_clusters(const json::value& object) {
  std::set<std::string> clusters;
  for (const json::value& one : kube::items_at(object, {"metadata", "finalizers"})) {
    if (!one.is_string() || one.get_string() != copies_finalizer) continue;
    const auto text = kube::text_at(object, {"metadata", "annotations", copies_annotation});
    for (const std::string_view name : split(text, ',')) {
      if (!trim(name).empty()) clusters.emplace(trim(name));
    }
  }
  return clusters;
}

bool is_left_finalizing(const json::value& object) {
  const json::array& all = kube::items_at(object, {"metadata", "finalizers"});
  return is_deleting(object) && finalizers_without(object, left_finalizer).size() < all.size();
}

json::value mark_patch(const json::value& object, const std::string& cluster) {
  std::set<std::string> clusters = marked_clusters(object);
  clusters.insert(cluster);
  json::array finalizers = finalizers_without(object, copies_finalizer);
  finalizers.emplace_back(json::string(copies_finalizer));
  return patch_of(object, std::move(finalizers),
                  json::string(fmt::format("{}", fmt::join(clusters, ","))));
}

json::value unmark_patch(const json::value& object, bool with_left) {
  json::value rest = object;
  kube::set_at(rest, {"metadata", "finalizers"}, finalizers_without(object, copies_finalizer));
  json::array others = with_left && is_deleting(object)
                           ? finalizers_without(rest, left_finalizer)
                           : json::array(kube::items_at(rest, {"metadata", "finalizers"}));
  return patch_of(object, std::move(others), nullptr);
}

void WrapperCopies::seen(const Whose& whose, const json::value& object, bool is_ours) {
  const std::set<std::string> clusters = marked_clusters(object);
  if (clusters.empty() && !(is_ours && is_left_finalizing(object))) return;
  Entry& entry = entries_[whose.job];
  entry.whose = whose;
  entry.is_ours = is_ours;
  entry.is_only_left = clusters.empty();
  if (!entry.is_leaving) entry.clusters.insert(clusters.begin(), clusters.end());
}

// ----------------------------------------------------------------------------------------------
// marking

struct WrapperCopies::Marking {
  Whose whose;
  std::string cluster;
  std::function<void(Status)> done;
  int tries = 0;
};

void WrapperCopies::mark(const Whose& whose, const std::string& cluster,
                         std::function<void(Status)> done) {
  const auto known = entries_.find(whose.job);
  if (known != entries_.end()) {
    if (known->second.is_leaving)
      return done(Error{Fault::Unavailable, "what it had in other clusters is being removed"});
    if (known->second.clusters.contains(cluster)) return done(Ok{});
  }
  ask_mark(std::make_shared<Marking>(Marking{whose, cluster, std::move(done)}));
}

void WrapperCopies::ask_mark(const std::shared_ptr<Marking>& marking) {
  ++marking->tries;
  client_.send_later(
      get_of(marking->whose), [this, marking](const kube::Reply<json::value>& found) {
        const bool is_gone =
            found ? kube::uid_of(*found) != marking->whose.uid : found.error().is_not_found();
        if (is_gone) return end_mark(marking, Error{Fault::NotFound, "its AppWrapper was deleted"});
        if (!found) return end_mark(marking, found.error().to_error());
        if (is_deleting(*found))
          return end_mark(marking, Error{Fault::Conflict, "its AppWrapper is being deleted"});
        put_mark(marking, *found);
      });
}

void WrapperCopies::put_mark(const std::shared_ptr<Marking>& marking, const json::value& object) {
  client_.send_later(patch_of(marking->whose, mark_patch(object, marking->cluster)),
                     [this, marking](const kube::Reply<json::value>& put) {
                       if (put) return end_mark(marking, Ok{});
                       // Somebody wrote at the same time, or it went: both show when it is read
                       // again.
                       const bool is_stale =
                           put.error().is_conflict() || put.error().is_not_found();
                       if (is_stale && marking->tries < tries_most) return ask_mark(marking);
                       if (is_stale)
                         return end_mark(marking, Error{Fault::Unavailable, put.error().message});
                       end_mark(marking, put.error().to_error());
                     });
}

void WrapperCopies::end_mark(const std::shared_ptr<Marking>& marking, const Status& status) {
  parts_.later([this, marking, status] {
    if (status) {
      Entry& entry = entries_[marking->whose.job];
      entry.whose = marking->whose;
      entry.clusters.insert(marking->cluster);
    }
    marking->done(status);
  });
}

// ----------------------------------------------------------------------------------------------
// letting go

void WrapperCopies::let_go(const std::string& job) {
  const auto at = entries_.find(job);
  if (at == entries_.end()) return;
  at->second.is_leaving = true;
  if (!at->second.is_busy) step(job);
}

void WrapperCopies::step(const std::string& job) {
  const auto at = entries_.find(job);
  if (at == entries_.end()) return;
  Entry& entry = at->second;
  const WrapperKey& key = entry.whose.key;
  const Use use = parts_.use_of(job);
  if (use == Use::Needed) {  // it came back
    entry.is_leaving = false;
    return tell(entry, "");
  }
  while (!entry.clusters.empty()) {
    const std::string cluster = *entry.clusters.begin();
    const auto problem = parts_.objects.problem_of(cluster);
    if (!problem) {  // it has left, and takes its secrets along
      parts_.say(fmt::format("AppWrapper {}/{}: {}; what it has there is left behind", key.ns,
                             key.name, problem.error().message));
      entry.clusters.erase(cluster);
      continue;
    }
    if (!problem->empty()) {
      tell(entry, fmt::format("cluster {} cannot be reached, and what is there of it is not "
                              "removed yet: {}",
                              cluster, *problem));
      return look_again(entry, use == Use::None ? reach_pause : job_pause);
    }
    if (use == Use::Ending) {
      tell(entry, "");
      return look_again(entry, job_pause);
    }
    entry.is_busy = true;
    return parts_.objects.remove(cluster, key.ns, job, [this, job, cluster](bool is_gone) {
      parts_.later([this, job, cluster, is_gone] { removed(job, cluster, is_gone); });
    });
  }
  if (use == Use::Ending && entry.is_only_left) return look_again(entry, job_pause);
  unmark(job);
}

void WrapperCopies::removed(const std::string& job, const std::string& cluster, bool is_gone) {
  const auto at = entries_.find(job);
  if (at == entries_.end()) return;
  Entry& entry = at->second;
  entry.is_busy = false;
  if (is_gone) {
    entry.clusters.erase(cluster);
    entry.looks = 0;
    return step(job);
  }
  if (++entry.looks >= looks_quiet)
    tell(entry,
         fmt::format("what is there of it in cluster {} is deleted and does not go", cluster));
  look_again(entry, gone_pause);
}

void WrapperCopies::unmark(const std::string& job) {
  entries_.at(job).is_busy = true;
  const Whose whose = entries_.at(job).whose;
  const bool is_ours = entries_.at(job).is_ours;
  const auto end = [this, job](const Status& status) {
    parts_.later([this, job, status] { unmarked(job, status); });
  };
  client_.send_later(get_of(whose), [this, whose, is_ours,
                                     end](const kube::Reply<json::value>& found) {
    const bool is_gone = found ? kube::uid_of(*found) != whose.uid : found.error().is_not_found();
    if (is_gone) return end(Ok{});
    if (!found) return end(found.error().to_error());
    client_.send_later(patch_of(whose, unmark_patch(*found, is_ours)),
                       [end](const kube::Reply<json::value>& put) {
                         const bool is_done = put || put.error().is_not_found();
                         end(is_done ? Status(Ok{}) : Status(put.error().to_error()));
                       });
  });
}

void WrapperCopies::unmarked(const std::string& job, const Status& status) {
  const auto at = entries_.find(job);
  if (at == entries_.end()) return;
  if (status) return void(entries_.erase(at));
  tell(at->second, "its finalizer cannot be taken off: " + status.error().message);
  look_again(at->second, gone_pause);
}

void WrapperCopies::look_again(Entry& entry, Duration wait) {
  entry.is_busy = true;
  parts_.later_after(wait, [this, job = entry.whose.job] {
    const auto at = entries_.find(job);
    if (at == entries_.end()) return;
    at->second.is_busy = false;
    step(job);
  });
}

void WrapperCopies::tell(Entry& entry, const std::string& why) {
  if (std::exchange(entry.stuck, why) == why) return;
  if (!why.empty())
    parts_.say(fmt::format("AppWrapper {}/{} was deleted and stays: {}", entry.whose.key.ns,
                           entry.whose.key.name, why));
  parts_.on_stuck(entry.whose.job, why);
}

}  // namespace muster::api
