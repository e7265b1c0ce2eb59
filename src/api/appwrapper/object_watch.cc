#include "api/appwrapper/object_watch.h"

#include <map>
#include <utility>

#include "kube/json.h"
#include "kube/watch.h"

namespace muster::api {

namespace json = boost::json;

class ObjectWatch::Sink final : public kube::ObjectSink {
 public:
  explicit Sink(Handlers handlers) : on_(std::move(handlers)) {}

  void begin_list() override { unseen_ = known_; }
  void upsert(const json::value& object) override {
    ObjectChange change = change_of(object);
    const Key key{change.ns, change.name};
    const auto [at, is_new] = known_.try_emplace(key, change.uid);
    if (!is_new && at->second != change.uid) {  // deleted and made anew, unseen
      on_.on_change({change.ns, change.name, std::exchange(at->second, change.uid), nullptr});
    }
    unseen_.erase(key);
    change.object = std::make_shared<const json::value>(kube::own_copy(object));
    on_.on_change(std::move(change));
  }
  void remove(const json::value& last_state) override {
    ObjectChange change = change_of(last_state);
    known_.erase({change.ns, change.name});
    on_.on_change(std::move(change));
  }
  void end_list() override {
    for (auto& [key, uid] : std::exchange(unseen_, {})) {
      known_.erase(key);
      on_.on_change({key.first, key.second, uid, nullptr});
    }
    tell_synced();
  }
  void failed(const kube::ApiError& error, int) override {
    // Its definition is not there, or does not serve the version. Should it come, it is found.
    if (error.is_not_found()) return on_.on_missing ? on_.on_missing() : tell_synced();
    on_.on_failure(error.message);
  }
  void recovered() override { on_.on_failure(""); }

 private:
  using Key = std::pair<std::string, std::string>;  // namespace and name

  static ObjectChange change_of(const json::value& object) {
    return {std::string(kube::namespace_of(object)), std::string(kube::name_of(object)),
            std::string(kube::uid_of(object)), nullptr};
  }
  void tell_synced() {
    if (!std::exchange(has_synced_, true)) on_.on_synced();
  }

  const Handlers on_;
  std::map<Key, std::string> known_;   // uids; of the I/O thread, as all that follows
  std::map<Key, std::string> unseen_;  // in the list that comes
  bool has_synced_ = false;
};

ObjectWatch::ObjectWatch(kube::Client& client, kube::ReflectorOptions options, Handlers handlers)
    : sink_(std::make_shared<Sink>(std::move(handlers))),
      reflector_(std::make_unique<kube::Reflector>(client, std::move(options), sink_)) {}

ObjectWatch::~ObjectWatch() { reflector_->stop(); }

}  // namespace muster::api
