#include "clusters/kubernetes/object_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/text.h"
#include "clusters/kubernetes/gang_state.h"
#include "clusters/kubernetes/in_place_writer.h"
#include "clusters/kubernetes/names.h"
#include "clusters/kubernetes/shared_objects.h"
#include "kube/discovery.h"
#include "kube/json.h"
#include "kube/requests.h"
#include "manifest/pod_sets.h"

namespace muster::clusters {

namespace {

namespace json = boost::json;

constexpr std::size_t homes_most = 100'000;
/// By which an attempt is found; the last are roots.
constexpr std::array<kube::Resource (*)(), 3> kinds_with_homes = {
    kube::resources::jobs, kube::resources::pods, kube::resources::config_maps};
using Making = AttemptBook::Making;
using kube::Reply;

kube::Resource resource_of(const json::value& object) {
  const std::string_view kind = kube::text_at(object, {"kind"});
  for (kube::Resource known : {kube::resources::jobs(), kube::resources::secrets()}) {
    if (known.kind == kind) return known;
  }
  MUSTER_CHECK(false, "no resource of kind {} is made for commands", kind);
  return {};
}

MadeObjects clash_of(const json::value& object) {
  return {Making::Refused,
          fmt::format("{}: there is one in namespace {} that is not of this job; choose another "
                      "name",
                      manifest::title_of(object), kube::namespace_of(object))};
}

bool has_hub(const json::value& root) {
  return kube::find(root, {"metadata", "annotations", hub_annotation}) != nullptr;
}

/// Who submits a list is told at once. A hub object is there for as long as its author wants it,
/// and operators are installed after their objects are made: it waits for the definition.
MadeObjects missing_kind(const json::value& object, const json::value& root) {
  const std::string why =
      fmt::format("{}: this cluster has no kind {} of {}", manifest::title_of(object),
                  kube::text_at(object, {"kind"}), kube::text_at(object, {"apiVersion"}));
  if (!has_hub(root)) return {Making::Refused, why};
  return {Making::NotNow, why + "; it is tried again until its definition is there"};
}

/// Somebody has the name. What is being deleted is in nobody's way for long; nor is what another
/// hub object's job made: that goes with its owner, often just before one of the same name is made.
MadeObjects in_the_way(const json::value& object, const json::value& there,
                       const json::value& root) {
  const auto label = [](const json::value& of, std::string_view name) {
    return kube::text_at(of, {"metadata", "labels", name});
  };
  const bool is_going = kube::find(there, {"metadata", "deletionTimestamp"}) != nullptr;
  const bool is_of_us =
      !label(there, job_label).empty() && label(there, server_label) == label(root, server_label);
  if (!is_going && !(is_of_us && has_hub(root))) return clash_of(object);
  return {Making::NotNow,
          fmt::format("{}: there is one in namespace {} {}; it is tried again",
                      manifest::title_of(object), kube::namespace_of(object),
                      is_going ? "that is being deleted" : "that another job made")};
}

/// Whether a server that began before this one made it, for the same job of a hub object: the books
/// of that one are gone. Of two servers that run the older never takes back.
bool is_left_by_server(const json::value& there, const json::value& root) {
  const auto label = [](const json::value& of, std::string_view name) {
    return kube::text_at(of, {"metadata", "labels", name});
  };
  const auto epoch = [](const json::value& of) {
    const auto read = parse_int(kube::text_at(of, {"metadata", "annotations", epoch_annotation}),
                                epoch_annotation, 0, INT64_MAX);
    return read ? *read : 0;
  };
  return has_hub(root) && label(there, job_label) == label(root, job_label) &&
         label(there, server_label) != label(root, server_label) && epoch(there) < epoch(root);
}

/// Whether it is of no attempt, and belongs to the same hub object as the root; or of an attempt
/// that nobody knows any more.
bool is_left_by_another(const json::value& there, const json::value& root) {
  if (kube::find(there, {"metadata", "labels", job_label}) != nullptr)
    return is_left_by_server(there, root);
  const json::array of_root = kube::items_at(root, {"metadata", "ownerReferences"});
  if (of_root.empty()) return false;
  const json::array owners = kube::items_at(there, {"metadata", "ownerReferences"});
  return std::any_of(owners.begin(), owners.end(), [&](const json::value& owner) {
    return kube::text_at(owner, {"uid"}) == kube::text_at(of_root.front(), {"uid"});
  });
}

/// What makes an object that is there the attempt's own.
json::value adoption_of(const json::value& ours, const json::value& there) {
  json::value patch = json::object();
  kube::set_at(patch, {"metadata", "uid"}, json::string(kube::uid_of(there)));
  for (const std::string_view key : {"labels", "annotations", "ownerReferences"}) {
    if (const json::value* value = kube::find(ours, {"metadata", key}))
      kube::set_at(patch, {"metadata", key}, *value);
  }
  return patch;
}

}  // namespace

bool is_unanswered(const kube::ApiError& error) {
  return error.is_cancelled || error.code == 0 || error.code >= 500 || error.is_conflict() ||
         error.is_too_many_requests() || error.is_unauthorized();
}

MadeObjects judge_refusal(const kube::ApiError& error) {
  if (is_unanswered(error)) return {Making::Unavailable, error.message};
  constexpr std::string_view missing = "namespaces \"";
  if (error.is_not_found() && error.message.starts_with(missing)) {
    const std::string_view rest = std::string_view(error.message).substr(missing.size());
    return {Making::NotNow, fmt::format("there is no namespace '{}'; it is tried again",
                                        rest.substr(0, rest.find('"')))};
  }
  if (error.is_invalid() || error.code == 400 || error.code == 413) {
    return {Making::Refused, error.message};
  }
  return {Making::NotNow, error.message};  // quota, permissions, a namespace that is not there
}

json::value priority_class_object(const std::string& name) {
  json::value made = json::object();
  kube::set_at(made, {"apiVersion"}, "scheduling.k8s.io/v1");
  kube::set_at(made, {"kind"}, "PriorityClass");
  kube::set_at(made, {"metadata", "name"}, json::string(name));
  kube::set_at(made, {"value"}, 0);
  kube::set_at(made, {"globalDefault"}, false);
  kube::set_at(made, {"preemptionPolicy"}, "Never");
  kube::set_at(made, {"description"},
               "Pods that Muster placed: they wait for room and push nobody away.");
  return made;
}

struct ObjectWriter::Core : std::enable_shared_from_this<Core> {
  Core(kube::Client& c, Place p)
      : client(c),
        namespaces(std::move(p.namespaces)),
        own(std::move(p.own)),
        server(std::move(p.server)),
        priority_class(p.priority_class.empty() ? json::value()
                                                : priority_class_object(p.priority_class)),
        kinds(c),
        shared(c),
        removals(c, server) {}

  using OnMade = std::function<void(MadeObjects)>;
  using Objects = std::shared_ptr<const std::vector<json::value>>;

  void make_from(std::size_t index, const Objects& objects, const OnMade& done) {
    if (index == objects->size()) return done({});
    const json::value& object = (*objects)[index];
    const std::string_view space = kube::namespace_of(object);
    client.send_later(
        kube::unread(kube::create_request(resource_of(object), space, object,
                                          {.field_manager = field_manager})),
        [self = shared_from_this(), index, objects, done](const Reply<json::value>& made) {
          if (!made && !made.error().is_already_exists()) {
            return done(judge_refusal(made.error()));
          }
          self->make_from(index + 1, objects, done);
        });
  }

  // ---- lists of objects

  struct ListInWork {
    ListedObjects listed;
    std::vector<kube::Resource> resources;  // of the objects, as they become known
    OnMade done;
    bool has_met_any = false;  // objects that were there already
    std::vector<LuggageNote> notes = {};
  };
  using List = std::shared_ptr<ListInWork>;

  void find_kinds(const List& list) {
    const std::size_t index = list->resources.size();
    if (index == list->listed.objects.size()) return make_root(list);
    const json::value& object = list->listed.objects[index];
    const std::string version(kube::text_at(object, {"apiVersion"}));
    const std::string kind(kube::text_at(object, {"kind"}));
    kinds.find_later(version, kind,
                     [self = shared_from_this(), list](const Reply<kube::Resource>& found) {
                       const json::value& about = list->listed.objects[list->resources.size()];
                       if (!found && found.error().is_not_found())
                         return list->done(missing_kind(about, list->listed.root));
                       if (!found) return list->done(judge_refusal(found.error()));
                       if (!found->is_namespaced) {
                         return list->done(
                             {Making::Refused,
                              fmt::format("{}: it belongs to no namespace, and a job makes objects "
                                          "in its own only",
                                          manifest::title_of(about))});
                       }
                       list->resources.push_back(*found);
                       self->find_kinds(list);
                     });
  }

  void make_root(const List& list) {
    if (list->listed.is_own_root) return make_listed(0, list);
    std::vector<kube::Resource> of_workloads;
    std::vector<kube::Resource> of_others;
    for (std::size_t i = 0; i < list->resources.size(); ++i)
      (list->listed.is_workload[i] ? of_workloads : of_others).push_back(list->resources[i]);
    put_kinds(list->listed.root, of_workloads);
    if (list->listed.misses_all) put_others(list->listed.root, of_others);
    create_or_meet(kube::resources::config_maps(), list->listed.root,
                   [self = shared_from_this(), list](const Reply<json::value>& root, Met met) {
                     if (!root) return list->done(judge_refusal(root.error()));
                     const bool is_left = is_left_by_server(*root, list->listed.root);
                     if (met == Met::Others && !is_left)
                       return list->done(clash_of(list->listed.root));
                     if (kube::find(*root, {"metadata", "deletionTimestamp"}) != nullptr)
                       return list->done({Making::NotNow, "its last objects are being deleted"});
                     if (is_left) return self->adopt_root(list, *root);
                     self->make_under(list, *root);
                   });
  }

  void make_under(const List& list, const json::value& root) {
    if (!list->listed.in_place_uid.empty()) return start(list);
    for (json::value& object : list->listed.objects) put_owner(object, root);
    make_luggage(list, root);
  }

  /// Its object owns the root, and not the other way round: it stays when the attempt goes.
  void start(const List& list) {
    start_in_place(client,
                   {.resource = list->resources.front(),
                    .uid = list->listed.in_place_uid,
                    .dressed = std::move(list->listed.objects.front()),
                    .queued = std::move(list->listed.queued)},
                   list->done);
  }

  void make_luggage(const List& list, const json::value& root) {
    if (list->listed.luggage.pieces.empty()) return make_listed(0, list);
    carry(client, std::move(list->listed.luggage.pieces), root,
          [self = shared_from_this(), list](const Reply<std::vector<LuggageNote>>& carried) {
            if (!carried) return list->done(judge_refusal(carried.error()));
            list->notes = *carried;
            self->make_listed(0, list);
          });
  }

  void make_listed(std::size_t index, const List& list) {
    if (index == list->listed.objects.size()) {
      if (list->has_met_any) return adopt_pods(list);
      return list->done({.notes = std::move(list->notes)});
    }
    const json::value& object = list->listed.objects[index];
    create_or_meet(list->resources[index], object,
                   [self = shared_from_this(), index, list, &object](
                       const Reply<json::value>& there, Met met) {
                     if (!there) return list->done(judge_refusal(there.error()));
                     list->has_met_any |= met != Met::Nothing;
                     if (is_left_by_another(*there, list->listed.root))
                       return self->adopt(index, list, *there);
                     if (met == Met::Others && is_fine_as_it_is(index, *list, *there))
                       return self->make_listed(index + 1, list);
                     if (met == Met::Others)
                       return list->done(in_the_way(object, *there, list->listed.root));
                     if (kube::find(*there, {"metadata", "deletionTimestamp"}) != nullptr)
                       return list->done({Making::NotNow, "its last objects are being deleted"});
                     self->make_listed(index + 1, list);
                   });
  }

  /// Somebody else's, and enough for the list. What an earlier attempt of the job left goes soon.
  static bool is_fine_as_it_is(std::size_t index, const ListInWork& list,
                               const json::value& there) {
    const auto job = [](const json::value& of) {
      return kube::text_at(of, {"metadata", "labels", job_label});
    };
    return list.listed.takes_existing && !list.listed.is_workload[index] &&
           job(there) != job(list.listed.root) &&
           kube::find(there, {"metadata", "deletionTimestamp"}) == nullptr;
  }

  /// What had the name already.
  enum class Met { Nothing, Ours, Others };
  using OnMet = std::function<void(const Reply<json::value>& there, Met met)>;
  void create_or_meet(const kube::Resource& resource, const json::value& object,
                      const OnMet& then) {
    client.send_later(
        kube::create_request(resource, kube::namespace_of(object), object,
                             {.field_manager = field_manager}),
        [self = shared_from_this(), resource, &object, then](const Reply<json::value>& made) {
          if (made || !made.error().is_already_exists()) return then(made, Met::Nothing);
          self->client.send_later(
              kube::get_request(resource, kube::namespace_of(object), kube::name_of(object)),
              [self, &object, then](const Reply<json::value>& there) {
                const bool is_ours = there && is_same_attempt(*there, object);
                then(there, is_ours ? Met::Ours : Met::Others);
              });
        });
  }

  // ---- what another controller, or an earlier server, made for the hub object: see adoption.h

  void adopt_root(const List& list, const json::value& there) {
    const json::value& ours = list->listed.root;
    json::value patch = adoption_of(ours, there);
    kube::set_at(patch, {"data"}, *kube::find(ours, {"data"}));
    client.send_later(kube::patch_request(kube::resources::config_maps(), kube::namespace_of(ours),
                                          kube::name_of(ours), kube::Patch::Merge, patch,
                                          {.field_manager = field_manager}),
                      [self = shared_from_this(), list](const Reply<json::value>& root) {
                        if (!root) return list->done(judge_refusal(root.error()));
                        self->make_under(list, *root);
                      });
  }

  void adopt(std::size_t index, const List& list, const json::value& there) {
    if (kube::find(there, {"metadata", "deletionTimestamp"}) != nullptr)
      return list->done({Making::NotNow, "what another controller made for it is being deleted"});
    const json::value& ours = list->listed.objects[index];
    json::value patch = adoption_of(ours, there);
    kube::set_at(patch, {"metadata", "annotations", adopted_annotation},
                 json::string(kube::uid_of(there)));
    client.send_later(
        kube::patch_request(list->resources[index], kube::namespace_of(ours), kube::name_of(ours),
                            kube::Patch::Merge, patch, {.field_manager = field_manager}),
        [self = shared_from_this(), index, list](const Reply<json::value>& done) {
          if (!done && done.error().is_of_another())
            return list->done({Making::NotNow, "what another controller made for it has changed"});
          if (!done) return list->done(judge_refusal(done.error()));
          self->make_listed(index + 1, list);
        });
  }

  void adopt_pods(const List& listed) {
    const json::value& root = listed->listed.root;
    const std::string_view job = kube::text_at(root, {"metadata", "labels", job_label});
    list(kube::resources::pods(), std::string(kube::namespace_of(root)),
         fmt::format("{}={}", adopting_label, job), 0,
         [self = shared_from_this(), listed](const Reply<json::value>& found) {
           if (!found) return listed->done(judge_refusal(found.error()));
           auto pods = std::make_shared<const json::array>(kube::items_at(*found, {"items"}));
           self->adopt_pod(0, pods, listed);
         });
  }

  void adopt_pod(std::size_t index, const std::shared_ptr<const json::array>& pods,
                 const List& listed) {
    if (index == pods->size()) return listed->done({.notes = std::move(listed->notes)});
    const json::value& pod = (*pods)[index];
    json::value patch = json::object();
    kube::set_at(patch, {"metadata", "uid"}, json::string(kube::uid_of(pod)));
    for (const std::string_view key : {"labels", "annotations"})  // the root's are the attempt's
      kube::set_at(patch, {"metadata", key}, *kube::find(listed->listed.root, {"metadata", key}));
    kube::set_at(patch, {"metadata", "labels", adopting_label}, nullptr);
    client.send_later(
        kube::patch_request(kube::resources::pods(), kube::namespace_of(pod), kube::name_of(pod),
                            kube::Patch::Merge, patch, {.field_manager = field_manager}),
        [self = shared_from_this(), index, pods, listed](const Reply<json::value>& done) {
          if (!done && !done.error().is_not_found() && !done.error().is_of_another())
            return listed->done(judge_refusal(done.error()));
          self->adopt_pod(index + 1, pods, listed);
        });
  }

  /// Refused: what to say of the attempt.
  using Shared = std::function<void(const std::optional<MadeObjects>& refused)>;
  static SharedObjects::Then then_of(const Shared& then) {
    return [then](const Reply<Ok>& there) {
      then(there ? std::nullopt : std::optional(judge_refusal(there.error())));
    };
  }
  void set_trouble(const std::string& words) {
    const std::lock_guard lock(mutex);
    trouble = words;
  }
  void need_priority_class(const Shared& then) {
    if (priority_class.is_null()) return then(std::nullopt);
    shared.rely_on(kube::resources::priority_classes(), priority_class,
                   [self = shared_from_this(), then = then_of(then)](const Reply<Ok>& there) {
                     const bool is_known = there || !is_unanswered(there.error());
                     if (is_known) self->set_trouble(there ? "" : there.error().message);
                     then(there);
                   });
  }
  void need_space(const std::string& space, const Shared& then) {
    if (space.empty()) return then(std::nullopt);
    shared.need(kube::resources::namespaces(), json::parse(space), then_of(then));
  }
  void need_peers(const std::optional<json::value>& service, const Shared& then) {
    if (!service) return then(std::nullopt);
    shared.need_last(kube::resources::services(), *service, then_of(then));
  }

  /// The Service comes last: pods need it when they run, and in a burst of gangs the controllers of
  /// its endpoints would write for every pod while Jobs wait in line.
  void make_then_peers(const std::optional<json::value>& peers, const Objects& objects,
                       const OnMade& done) {
    make_from(0, objects, [self = shared_from_this(), peers, done](MadeObjects how) {
      if (how.how != Making::Done) return done(std::move(how));
      self->need_peers(peers, [done](const std::optional<MadeObjects>& refused) {
        done(refused.value_or(MadeObjects{}));
      });
    });
  }

  /// Where an attempt may have objects.
  std::vector<std::string> homes_of(const ports::Attempt& attempt) const {
    const std::lock_guard lock(mutex);
    const auto it = homes.find(attempt);
    return it == homes.end() ? namespaces : std::vector<std::string>{it->second};
  }
  bool is_everywhere() const { return namespaces.size() == 1 && namespaces.front().empty(); }
  void set_home(const ports::Attempt& attempt, const std::string& ns) {
    if (namespaces.size() == 1 && !is_everywhere()) return;
    const std::lock_guard lock(mutex);
    if (homes.size() >= homes_most) homes.clear();  // all namespaces are looked at then
    homes[attempt] = ns;
  }
  void forget_home(const ports::Attempt& attempt) {
    const std::lock_guard lock(mutex);
    homes.erase(attempt);
  }
  void set_home(const json::value& object) {
    const JobSight sight = job_sight_of(object);  // all are labelled as Jobs are
    if (!sight.job.empty())
      set_home({sight.job, sight.attempt}, std::string(kube::namespace_of(object)));
  }

  /// In each of the namespaces, one after the other.
  using Homes = std::shared_ptr<const std::vector<std::string>>;
  using OnTaken = std::function<void(Taken)>;
  using OnAll = std::function<void(bool)>;
  void remove_in(std::size_t home, const Homes& in, const ports::Attempt& attempt, Taken so_far,
                 const OnTaken& done) {
    if (home == in->size()) return done(so_far);
    removals.remove((*in)[home], attempt,
                    [self = shared_from_this(), home, in, attempt, so_far, done](Taken taken) {
                      if (taken == Taken::No) return done(taken);
                      const Taken all = taken == Taken::All ? so_far : taken;
                      self->remove_in(home + 1, in, attempt, all, done);
                    });
  }
  void confirm_in(std::size_t home, const Homes& in, const ports::Attempt& attempt,
                  const OnAll& done) {
    if (home == in->size()) return done(true);
    removals.confirm_gone((*in)[home], attempt,
                          [self = shared_from_this(), home, in, attempt, done](bool is_gone) {
                            if (!is_gone) return done(false);
                            self->confirm_in(home + 1, in, attempt, done);
                          });
  }

  /// Nothing can be deleted in all namespaces at once: where it has anything is found out first.
  void remove_anywhere(const ports::Attempt& attempt, const std::string& likely,
                       const OnTaken& done) {
    auto found = std::make_shared<std::set<std::string>>();
    for (const std::string& ns : {own, likely}) {  // what is not looked for: Secrets
      if (!ns.empty()) found->insert(ns);
    }
    removals.confirm_gone(
        "", attempt, [self = shared_from_this(), attempt, found, done](bool is_gone) {
          self->find_homes(is_gone ? kinds_with_homes.size() : 0, found, attempt, done);
        });
  }
  void find_homes(std::size_t index, const std::shared_ptr<std::set<std::string>>& found,
                  const ports::Attempt& attempt, const OnTaken& done) {
    if (index == kinds_with_homes.size()) {
      const auto in =
          std::make_shared<const std::vector<std::string>>(found->begin(), found->end());
      return remove_in(0, in, attempt, Taken::All, done);
    }
    list(kinds_with_homes.at(index)(), "", attempt_selector(attempt, server), 0,
         [self = shared_from_this(), index, found, attempt, done](const Reply<json::value>& all) {
           if (!all && is_unanswered(all.error())) return done(Taken::No);
           if (all) {
             for (const json::value& one : kube::items_at(*all, {"items"}))
               found->emplace(kube::namespace_of(one));
           }
           self->find_homes(index + 1, found, attempt, done);
         });
  }

  void list(const kube::Resource& resource, const std::string& ns, const std::string& selector,
            std::int64_t limit, const std::function<void(const Reply<json::value>&)>& then) {
    client.send_later(
        kube::list_request(resource, ns, {.label_selector = selector, .limit = limit}),
        [then](const Reply<json::value>& found) { then(found); });
  }

  kube::Client& client;
  const std::vector<std::string> namespaces;
  const std::string own;
  const std::string server;
  const json::value priority_class;  // null: none
  kube::RestMapper kinds;
  mutable std::mutex mutex;
  std::map<ports::Attempt, std::string> homes;  // guarded by mutex; of several namespaces only
  std::string trouble;                          // guarded by mutex
  SharedObjects shared;
  AttemptRemovals removals;
};

ObjectWriter::ObjectWriter(kube::Client& client, Place place)
    : core_(std::make_shared<Core>(client, std::move(place))) {}
ObjectWriter::~ObjectWriter() = default;

void ObjectWriter::make(ListedObjects listed, std::function<void(MadeObjects)> done) {
  core_->set_home(listed.root);
  auto list = std::make_shared<Core::ListInWork>();
  list->listed = std::move(listed);
  list->done = std::move(done);
  core_->need_priority_class([core = core_, list](const std::optional<MadeObjects>& refused) {
    if (refused) return list->done(*refused);
    core->need_space(list->listed.luggage.space,
                     [core, list](const std::optional<MadeObjects>& no_space) {
                       if (no_space) return list->done(*no_space);
                       core->find_kinds(list);
                     });
  });
}

void ObjectWriter::stop(const model::HubObject& hub, const ports::Attempt& attempt,
                        json::value queued, std::function<void(bool)> done) {
  core_->kinds.find_later(
      hub.api_version, hub.kind,
      [core = core_, hub, attempt, queued = std::move(queued),
       done = std::move(done)](const Reply<kube::Resource>& found) {
        if (!found) return done(found.error().is_not_found());  // its kind is gone, and so is it
        stop_in_place(core->client, {*found, hub, attempt, queued}, done);
      });
}

void ObjectWriter::force_away(const std::string& ns, const std::string& pod,
                              const std::string& uid) {
  kube::DeleteOptions options;
  options.uid = uid;
  options.grace_seconds = 0;
  core_->client.send_later(
      kube::unread(kube::delete_request(kube::resources::pods(), ns, pod, options)),
      [](const Reply<json::value>&) {});
}

void ObjectWriter::make(std::optional<json::value> peers, std::vector<json::value> objects,
                        std::function<void(MadeObjects)> done) {
  for (const json::value& object : objects) core_->set_home(object);
  auto all = std::make_shared<const std::vector<json::value>>(std::move(objects));
  core_->need_priority_class([core = core_, peers = std::move(peers), all,
                              done = std::move(done)](const std::optional<MadeObjects>& no_class) {
    if (no_class) return done(*no_class);
    core->make_then_peers(peers, all, done);
  });
}

void ObjectWriter::prepare() {
  core_->need_priority_class([](const std::optional<MadeObjects>&) {});
}

void ObjectWriter::remove(const ports::Attempt& attempt, const std::function<std::string()>& likely,
                          std::function<void(Taken taken)> done) {
  const auto homes = std::make_shared<const std::vector<std::string>>(core_->homes_of(attempt));
  if (homes->size() == 1 && homes->front().empty())
    return core_->remove_anywhere(attempt, likely(), done);
  core_->remove_in(0, homes, attempt, Taken::All, done);
}

void ObjectWriter::confirm_gone(const ports::Attempt& attempt, std::function<void(bool)> done) {
  core_->confirm_in(0, std::make_shared<const std::vector<std::string>>(core_->homes_of(attempt)),
                    attempt, [core = core_, attempt, done = std::move(done)](bool is_gone) {
                      if (is_gone) core->forget_home(attempt);
                      done(is_gone);
                    });
}

std::string ObjectWriter::trouble() const {
  const std::lock_guard lock(core_->mutex);
  return core_->trouble;
}

std::string ObjectWriter::removal_refusal() const { return core_->removals.refusal(); }

void ObjectWriter::remove_kept(const std::string& ns, const std::string& job,
                               std::function<void(bool)> done) {
  const ports::Attempt all{job, 0};
  core_->removals.remove(ns, all, [core = core_, ns, all, done = std::move(done)](Taken taken) {
    if (taken == Taken::No) return done(false);
    core->removals.confirm_gone(ns, all, done);
  });
}

namespace {

/// Lists one kind after the other, in one namespace after the other, and collects.
struct AttemptSearch : std::enable_shared_from_this<AttemptSearch> {
  std::size_t namespaces = 1;
  std::function<void(std::size_t ns, const kube::Resource&,
                     std::function<void(const Reply<json::value>&)>)>
      list;
  std::function<void(const json::value&)> on_found;
  std::function<void(ObjectWriter::Attempts)> done;
  std::set<ports::Attempt> found;

  void look(std::size_t ns, std::size_t index) {
    if (ns == namespaces) return done(std::move(found));
    if (index == kinds_with_homes.size()) return look(ns + 1, 0);
    const bool may_be_forbidden = index == 2;  // roots, which not everybody needs
    list(
        ns, kinds_with_homes.at(index)(),
        [self = shared_from_this(), ns, index, may_be_forbidden](const Reply<json::value>& answer) {
          if (!answer && !(may_be_forbidden && answer.error().is_forbidden()))
            return self->done(answer.error());
          if (answer) self->add(*answer);
          self->look(ns, index + 1);
        });
  }
  void add(const json::value& list_of_objects) {
    for (const json::value& item : kube::items_at(list_of_objects, {"items"})) {
      const JobSight sight = job_sight_of(item);  // all are labelled as Jobs are
      if (!sight.job.empty()) found.insert({sight.job, sight.attempt});
      on_found(item);
    }
  }
};

}  // namespace

void ObjectWriter::find_attempts(std::function<void(Attempts)> done) {
  auto search = std::make_shared<AttemptSearch>();
  search->namespaces = core_->namespaces.size();
  search->list = [core = core_](std::size_t ns, const kube::Resource& resource,
                                std::function<void(const Reply<json::value>&)> then) {
    core->client.send_later(kube::list_request(resource, core->namespaces[ns],
                                               {.label_selector = server_selector(core->server)}),
                            std::move(then));
  };
  search->on_found = [core = core_](const json::value& object) { core->set_home(object); };
  search->done = std::move(done);
  search->look(0, 0);
}

}  // namespace muster::clusters
