// The objects of a resource, kept up to date: a reflector that fills a store and tells handlers
// what changed. After a gap (a relist) only real differences are told, deletions among them.
//
// Threads: handlers run on the client's I/O thread, one at a time, in the order of events, and see
// the store as it is after the event; they must not wait. The store may be read from any thread.
// No handler runs after stop() or the destructor returned.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "kube/json.h"
#include "kube/object_store.h"
#include "kube/reflector.h"

namespace muster::kube {

template <typename T>
struct InformerHandlers {
  using Value = std::shared_ptr<const T>;
  std::function<void(const std::string& key, const Value& added)> on_add = {};
  std::function<void(const std::string& key, const Value& before, const Value& after)> on_update =
      {};
  std::function<void(const std::string& key, const Value& last)> on_delete = {};
  /// All there was at the start, or after a gap, is in the store.
  std::function<void()> on_synced = {};
  std::function<void(const ApiError& error, int failures)> on_failure = {};
  std::function<void()> on_recovery = {};
};

template <typename T>
class Informer {
 public:
  using Value = std::shared_ptr<const T>;
  /// What to keep of an object.
  using Make = std::function<T(const boost::json::value&)>;

  Informer(Client& client, ReflectorOptions options, Make make, InformerHandlers<T> handlers = {},
           typename ObjectStore<T>::Indexes indexes = {})
      : sink_(std::make_shared<Sink>(std::move(make), std::move(handlers), std::move(indexes))),
        reflector_(client, std::move(options), sink_) {}

  const ObjectStore<T>& store() const { return sink_->store; }
  bool has_synced() const {
    const std::lock_guard lock(sink_->mutex);
    return sink_->has_synced;
  }
  /// False: not within that time. Not on the I/O thread.
  bool wait_for_sync(Duration limit) const {
    std::unique_lock lock(sink_->mutex);
    return sink_->synced.wait_for(lock, std::chrono::milliseconds(limit.ms),
                                  [this] { return sink_->has_synced; });
  }
  ReflectorStats stats() const { return reflector_.stats(); }
  void stop() { reflector_.stop(); }

 private:
  struct Sink final : ObjectSink {
    Sink(Make m, InformerHandlers<T> h, typename ObjectStore<T>::Indexes i)
        : store(std::move(i)), make(std::move(m)), on(std::move(h)) {}

    void begin_list() override { store.begin_round(); }
    void upsert(const boost::json::value& object) override {
      const std::string key = key_of(object);
      const auto change =
          store.put(key, uid_of(object), version_of(object), [&] { return make(object); });
      if (!change.after) return;
      if (change.is_another && on.on_delete) on.on_delete(key, change.before);
      if (!change.before || change.is_another) {
        if (on.on_add) on.on_add(key, change.after);
      } else if (on.on_update) {
        on.on_update(key, change.before, change.after);
      }
    }
    void remove(const boost::json::value& last_state) override {
      const std::string key = key_of(last_state);
      if (const Value last = store.erase(key); last && on.on_delete) on.on_delete(key, last);
    }
    void end_list() override {
      for (const auto& [key, last] : store.erase_unseen()) {
        if (on.on_delete) on.on_delete(key, last);
      }
      {
        const std::lock_guard lock(mutex);
        has_synced = true;
      }
      synced.notify_all();
      if (on.on_synced) on.on_synced();
    }
    void failed(const ApiError& error, int failures) override {
      if (on.on_failure) on.on_failure(error, failures);
    }
    void recovered() override {
      if (on.on_recovery) on.on_recovery();
    }

    ObjectStore<T> store;
    const Make make;
    const InformerHandlers<T> on;
    std::mutex mutex;
    std::condition_variable synced;
    bool has_synced = false;  // guarded by mutex
  };

  std::shared_ptr<Sink> sink_;
  Reflector reflector_;
};

}  // namespace muster::kube
