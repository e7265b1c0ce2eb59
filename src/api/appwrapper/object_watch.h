// One watch on objects of a kind: what appears, changes and goes, told as it comes. Nothing is kept
// but which ones are there.
//
// Threads: handlers are called on the client's I/O thread and must only queue.
#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <memory>
#include <string>

#include "kube/client.h"
#include "kube/reflector.h"

namespace muster::api {

struct ObjectChange {
  std::string ns = {};
  std::string name = {};
  std::string uid = {};
  /// Null: it is gone.
  std::shared_ptr<const boost::json::value> object = {};
};

class ObjectWatch {
 public:
  struct Handlers {
    std::function<void(ObjectChange)> on_change;
    std::function<void()> on_synced;                     // all there was is told; once
    std::function<void(const std::string&)> on_failure;  // "" when it is over
    /// There is no such resource; as often as it is looked for. Empty: then all is told.
    std::function<void()> on_missing = {};
  };
  /// The client must outlive it.
  ObjectWatch(kube::Client& client, kube::ReflectorOptions options, Handlers handlers);
  ~ObjectWatch();

 private:
  class Sink;
  std::shared_ptr<Sink> sink_;
  std::unique_ptr<kube::Reflector> reflector_;
};

}  // namespace muster::api
