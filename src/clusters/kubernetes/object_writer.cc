#include "clusters/kubernetes/object_writer.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <optional>
#include <utility>

#include "clusters/kubernetes/gang_state.h"
#include "clusters/kubernetes/names.h"
#include "kube/json.h"
#include "kube/requests.h"

namespace muster::clusters {

namespace {

namespace json = boost::json;
using Making = AttemptBook::Making;
using kube::Reply;

constexpr const char* field_manager = "muster";

kube::Resource services() {
  kube::Resource resource;
  resource.version = "v1";
  resource.plural = "services";
  resource.kind = "Service";
  return resource;
}

kube::Resource resource_of(const json::value& object) {
  const std::string_view kind = kube::text_at(object, {"kind"});
  for (kube::Resource known : {kube::resources::jobs(), kube::resources::secrets(), services(),
                               kube::resources::priority_classes()}) {
    if (known.kind == kind) return known;
  }
  MUSTER_CHECK(false, "no resource of kind {} is made for commands", kind);
  return {};
}

/// Not answered, or not now: nobody knows whether it was done.
bool is_open(const kube::ApiError& error) {
  return error.is_cancelled || error.code == 0 || error.code >= 500 ||
         error.is_too_many_requests() || error.is_unauthorized();
}

}  // namespace

MadeObjects judge_refusal(const kube::ApiError& error) {
  if (is_open(error)) return {Making::Unavailable, error.message};
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
  Core(kube::Client& c, std::string n, std::string p)
      : client(c), ns(std::move(n)), priority_class(std::move(p)) {}

  using OnMade = std::function<void(MadeObjects)>;
  using Objects = std::shared_ptr<const std::vector<json::value>>;

  void make_from(std::size_t index, const Objects& objects, const OnMade& done) {
    if (index == objects->size()) return done({});
    const json::value& object = (*objects)[index];
    const std::string_view space = kube::namespace_of(object);
    client.send_later(
        kube::create_request(resource_of(object), space, object, {.field_manager = field_manager}),
        [self = shared_from_this(), index, objects, done](const Reply<json::value>& made) {
          if (!made && !made.error().is_already_exists()) {
            return done(judge_refusal(made.error()));
          }
          self->make_from(index + 1, objects, done);
        });
  }

  /// Whoever may not make the class may still use one that somebody else made.
  void need_priority_class(std::function<void(std::optional<MadeObjects> refused)> then) {
    if (priority_class.empty() || has_priority_class) return then(std::nullopt);
    const kube::Resource resource = kube::resources::priority_classes();
    client.send_later(kube::create_request(resource, "", priority_class_object(priority_class),
                                           {.field_manager = field_manager}),
                      [self = shared_from_this(), resource, then](const Reply<json::value>& made) {
                        if (made || made.error().is_already_exists()) {
                          self->has_priority_class = true;
                          return then(std::nullopt);
                        }
                        if (!made.error().is_forbidden()) return then(judge_refusal(made.error()));
                        self->client.send_later(
                            kube::get_request(resource, "", self->priority_class),
                            [self, then, why = made.error()](const Reply<json::value>& found) {
                              if (!found) return then(judge_refusal(why));
                              self->has_priority_class = true;
                              then(std::nullopt);
                            });
                      });
  }

  void remove_from(std::size_t index, const std::string& selector,
                   const std::function<void()>& done) {
    const std::array<kube::Resource, 4> kinds = {kube::resources::jobs(), kube::resources::pods(),
                                                 services(), kube::resources::secrets()};
    if (index == kinds.size()) return done();
    kube::DeleteOptions options;
    // The Job stays until its pods are gone, and makes no others meanwhile.
    if (index == 0) options.propagation = "Foreground";
    client.send_later(
        kube::delete_collection_request(kinds.at(index), ns, {.label_selector = selector}, options),
        [self = shared_from_this(), index, selector, done](const Reply<json::value>& deleted) {
          if (!deleted && is_open(deleted.error())) return done();
          self->remove_from(index + 1, selector, done);
        });
  }

  void list(const kube::Resource& resource, const std::string& selector, std::int64_t limit,
            const std::function<void(const Reply<json::value>&)>& then) {
    client.send_later(
        kube::list_request(resource, ns, {.label_selector = selector, .limit = limit}),
        [then](const Reply<json::value>& found) { then(found); });
  }

  kube::Client& client;
  const std::string ns;
  const std::string priority_class;
  std::atomic<bool> has_priority_class{false};
};

ObjectWriter::ObjectWriter(kube::Client& client, std::string ns, std::string priority_class)
    : core_(std::make_shared<Core>(client, std::move(ns), std::move(priority_class))) {}
ObjectWriter::~ObjectWriter() = default;

void ObjectWriter::make(std::vector<json::value> objects, std::function<void(MadeObjects)> done) {
  auto shared = std::make_shared<const std::vector<json::value>>(std::move(objects));
  core_->need_priority_class(
      [core = core_, shared, done = std::move(done)](const std::optional<MadeObjects>& refused) {
        if (refused) return done(*refused);
        core->make_from(0, shared, done);
      });
}

void ObjectWriter::remove(const ports::Attempt& attempt, std::function<void()> done) {
  core_->remove_from(0, attempt_selector(attempt), done);
}

void ObjectWriter::confirm_gone(const ports::Attempt& attempt, std::function<void(bool)> done) {
  const std::string selector = attempt_selector(attempt);
  // Jobs before pods: when there is no Job any more, nobody makes pods.
  core_->list(kube::resources::jobs(), selector, 1,
              [core = core_, selector, done = std::move(done)](const Reply<json::value>& jobs) {
                if (!jobs || !kube::items_at(*jobs, {"items"}).empty()) return done(false);
                core->list(kube::resources::pods(), selector, 1,
                           [done](const Reply<json::value>& pods) {
                             done(pods && kube::items_at(*pods, {"items"}).empty());
                           });
              });
}

void ObjectWriter::find_attempts(std::function<void(Attempts)> done) {
  const auto add = [](const json::value& list, std::set<ports::Attempt>& into) {
    for (const json::value& item : kube::items_at(list, {"items"})) {
      const JobSight sight = job_sight_of(item);  // pods are labelled as their Jobs are
      if (!sight.job.empty()) into.insert({sight.job, sight.attempt});
    }
  };
  const std::string selector(job_label);
  core_->list(
      kube::resources::jobs(), selector, 0,
      [core = core_, selector, add, done = std::move(done)](const Reply<json::value>& jobs) {
        if (!jobs) return done(jobs.error());
        std::set<ports::Attempt> found;
        add(*jobs, found);
        core->list(kube::resources::pods(), selector, 0,
                   [found, add, done](const Reply<json::value>& pods) {
                     if (!pods) return done(pods.error());
                     std::set<ports::Attempt> all = found;
                     add(*pods, all);
                     done(std::move(all));
                   });
      });
}

}  // namespace muster::clusters
