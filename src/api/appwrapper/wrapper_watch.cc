#include "api/appwrapper/wrapper_watch.h"

#include <map>
#include <set>
#include <utility>

#include "kube/json.h"
#include "kube/watch.h"

namespace muster::api {

namespace json = boost::json;

kube::Resource appwrappers(WrapperGroup group) {
  kube::Resource resource;
  resource.group = group == WrapperGroup::Workload ? "workload.codeflare.dev" : "mcad.ibm.com";
  resource.version = "v1beta1";  // how both are stored: nothing is left out of it
  resource.plural = "appwrappers";
  resource.kind = "AppWrapper";
  return resource;
}

class WrapperWatch::Sink final : public kube::ObjectSink {
 public:
  Sink(WrapperGroup group, Handlers handlers) : group_(group), on_(std::move(handlers)) {}

  void begin_list() override { unseen_ = known_; }
  void upsert(const json::value& object) override {
    WrapperChange change = change_of(object);
    const auto [at, is_new] = known_.try_emplace(change.key, change.uid);
    if (!is_new && at->second != change.uid) {  // deleted and made anew, unseen
      on_.on_change({change.key, std::exchange(at->second, change.uid), nullptr});
    }
    unseen_.erase(change.key);
    change.object = std::make_shared<const json::value>(kube::own_copy(object));
    on_.on_change(std::move(change));
  }
  void remove(const json::value& last_state) override {
    WrapperChange change = change_of(last_state);
    known_.erase(change.key);
    on_.on_change(std::move(change));
  }
  void end_list() override {
    for (auto& [key, uid] : std::exchange(unseen_, {})) {
      known_.erase(key);
      on_.on_change({key, uid, nullptr});
    }
    tell_synced();
  }
  void failed(const kube::ApiError& error, int) override {
    // Its definition is not there, or does not serve the version. Should it come, it is found.
    if (error.is_not_found()) return on_.on_missing();
    on_.on_failure(error.message);
  }
  void recovered() override { on_.on_failure(""); }

 private:
  WrapperChange change_of(const json::value& object) const {
    return {{group_, std::string(kube::namespace_of(object)), std::string(kube::name_of(object))},
            std::string(kube::uid_of(object)),
            nullptr};
  }
  void tell_synced() {
    if (!std::exchange(has_synced_, true)) on_.on_synced();
  }

  const WrapperGroup group_;
  const Handlers on_;
  std::map<WrapperKey, std::string> known_;   // uids; of the I/O thread, as all that follows
  std::map<WrapperKey, std::string> unseen_;  // in the list that comes
  bool has_synced_ = false;
};

WrapperWatch::WrapperWatch(kube::Client& client, WrapperGroup group, const std::string& ns,
                           Handlers handlers)
    : sink_(std::make_shared<Sink>(group, std::move(handlers))) {
  kube::ReflectorOptions options;
  options.resource = appwrappers(group);
  options.ns = ns;
  reflector_ = std::make_unique<kube::Reflector>(client, options, sink_);
}

WrapperWatch::~WrapperWatch() { reflector_->stop(); }

}  // namespace muster::api
