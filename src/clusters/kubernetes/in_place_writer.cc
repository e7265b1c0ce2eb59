#include "clusters/kubernetes/in_place_writer.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "clusters/kubernetes/in_place.h"
#include "clusters/kubernetes/listed_objects.h"
#include "clusters/kubernetes/names.h"
#include "kube/json.h"
#include "kube/requests.h"
#include "manifest/pod_sets.h"
#include "manifest/ray_rest.h"

namespace muster::clusters {

namespace {

namespace json = boost::json;
using Making = AttemptBook::Making;
using kube::Reply;
using manifest::RayRest;

bool is_deleting(const json::value& object) {
  return kube::find(object, {"metadata", "deletionTimestamp"}) != nullptr;
}

class Start : public std::enable_shared_from_this<Start> {
 public:
  Start(kube::Client& client, StartInPlace what, std::function<void(MadeObjects)> done,
        InPlacePatience patience)
      : client_(client), what_(std::move(what)), done_(std::move(done)), patience_(patience) {}

  void look() {
    client_.send_later(
        kube::get_request(what_.resource, kube::namespace_of(what_.dressed),
                          kube::name_of(what_.dressed)),
        [self = shared_from_this()](const Reply<json::value>& there) { self->found(there); });
  }

 private:
  void found(const Reply<json::value>& there) {
    if (!there && there.error().is_not_found()) return not_now("it is not there any more");
    if (!there) return done_(judge_refusal(there.error()));
    if (kube::uid_of(*there) != what_.uid)
      return not_now("it was deleted, and there is another one");
    if (is_deleting(*there)) return not_now("it is being deleted");
    const bool is_ours = is_same_attempt(*there, what_.dressed);
    if (is_ours && !kube::flag_at(*there, {"spec", "suspend"})) return done_({});
    if (!is_ours && is_marked(*there)) return not_now("another job has it");
    if (!is_as_queued(*there, what_.queued)) return not_now("it was changed after it was queued");
    const RayRest rest = manifest::rest_of(*there);
    const bool may_start =
        rest == RayRest::Rests || (rest == RayRest::Unseen && tries_ >= patience_.tries_unseen);
    if (may_start) return write(*there);
    look_again("what ran of it before has not been stopped yet");
  }

  void write(const json::value& there) {
    client_.send_later(
        kube::replace_request(what_.resource, kube::namespace_of(there), kube::name_of(there),
                              started(there, what_.dressed), {.field_manager = field_manager}),
        [self = shared_from_this()](const Reply<json::value>& put) {
          if (put) return self->done_({});
          if (put.error().is_conflict()) return self->look_again("others write it all the time");
          if (put.error().is_not_found()) return self->not_now("it is not there any more");
          self->done_(judge_refusal(put.error()));
        });
  }

  void look_again(const char* why) {
    if (++tries_ >= patience_.tries_most) return not_now(why);
    client_.run_after(patience_.pause, [self = shared_from_this()](bool is_stopping) {
      if (is_stopping) return self->done_({Making::Unavailable, "the server stops"});
      self->look();
    });
  }

  void not_now(const char* why) {
    done_({Making::NotNow, fmt::format("{}: {}", manifest::title_of(what_.dressed), why)});
  }

  kube::Client& client_;
  const StartInPlace what_;
  const std::function<void(MadeObjects)> done_;
  const InPlacePatience patience_;
  int tries_ = 0;
};

class Stop : public std::enable_shared_from_this<Stop> {
 public:
  Stop(kube::Client& client, StopInPlace what, std::function<void(bool)> done)
      : client_(client), what_(std::move(what)), done_(std::move(done)) {}

  void look() {
    client_.send_later(
        kube::get_request(what_.resource, what_.hub.ns, what_.hub.name),
        [self = shared_from_this()](const Reply<json::value>& there) { self->found(there); });
  }

 private:
  void found(const Reply<json::value>& there) {
    if (!there) return done_(there.error().is_not_found());
    const bool is_its = kube::uid_of(*there) == what_.hub.uid && is_marked(*there, what_.attempt);
    if (!is_its || is_deleting(*there)) return done_(true);
    if (manifest::has_ended(*there)) return drop_cluster(manifest::cluster_made_for(*there));
    client_.send_later(
        kube::replace_request(what_.resource, what_.hub.ns, what_.hub.name,
                              stopped(*there, what_.queued), {.field_manager = field_manager}),
        [self = shared_from_this()](const Reply<json::value>& put) {
          if (!put && put.error().is_conflict()) return self->look_soon();
          self->done_(put.ok() || put.error().is_not_found());
        });
  }

  void look_soon() {
    client_.run_after(milliseconds(50), [self = shared_from_this()](bool is_stopping) {
      if (is_stopping) return self->done_(false);
      self->look();
    });
  }

  void drop_cluster(std::string_view name) {
    if (name.empty()) return done_(true);
    kube::Resource clusters = what_.resource;
    clusters.plural = "rayclusters";
    clusters.kind = "RayCluster";
    kube::DeleteOptions options;
    options.propagation = "Background";
    client_.send_later(kube::unread(kube::delete_request(clusters, what_.hub.ns, name, options)),
                       [self = shared_from_this()](const Reply<json::value>& gone) {
                         self->done_(gone.ok() || gone.error().is_not_found());
                       });
  }

  kube::Client& client_;
  const StopInPlace what_;
  const std::function<void(bool)> done_;
};

}  // namespace

void start_in_place(kube::Client& client, StartInPlace what, std::function<void(MadeObjects)> done,
                    InPlacePatience patience) {
  std::make_shared<Start>(client, std::move(what), std::move(done), patience)->look();
}

void stop_in_place(kube::Client& client, StopInPlace what,
                   std::function<void(bool is_stopped)> done) {
  std::make_shared<Stop>(client, std::move(what), std::move(done))->look();
}

}  // namespace muster::clusters
