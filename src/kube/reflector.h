// Keeps somebody informed of all objects of one resource: lists them in pages, watches from where
// the list ended, takes the watch up where it broke off, and lists again when the server has
// forgotten that place. No change is missed; one may be told twice.
//
// The sink is called on the client's I/O thread, one call at a time, and never after stop()
// returned. Failures are told and tried again with back-off until it is stopped.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/time.h"
#include "kube/api_error.h"
#include "kube/client.h"
#include "kube/protobuf.h"
#include "kube/resource.h"

namespace muster::kube {

class ObjectSink {
 public:
  virtual ~ObjectSink() = default;
  /// A list begins: objects that do not come until end_list() are gone.
  virtual void begin_list() = 0;
  /// The object lives until this returns, and plain copies of it: own_copy() lives on.
  virtual void upsert(const boost::json::value& object) = 0;
  virtual void end_list() = 0;
  virtual void remove(const boost::json::value& last_state) = 0;
  /// No contact; `since` failures in a row. Tried again by itself.
  virtual void failed(const ApiError& error, int failures) = 0;
  /// Contact again after failed().
  virtual void recovered() = 0;
};

struct ReflectorOptions {
  Resource resource = {};
  std::string ns = {};  // "": all namespaces
  std::string label_selector = {};
  std::string field_selector = {};
  /// Watched as protobuf, if the server has it: the sink gets what this reads of an object. Lists
  /// are JSON, and whole. Null: all is JSON.
  const ProtoMessage* message = nullptr;
  std::int64_t page = 500;              // objects a request
  Duration watch_timeout = minutes(8);  // a watch is begun anew so often, without a gap
  Duration idle_timeout = minutes(3);   // servers send a bookmark a minute
  Duration backoff_min = milliseconds(500);
  Duration backoff_max = seconds(30);
  Duration retry_after_max = seconds(60);  // a server that wants more is asked all the same
};

struct ReflectorStats {
  std::uint64_t lists = 0;    // begun
  std::uint64_t watches = 0;  // begun
  std::uint64_t events = 0;   // without bookmarks
  std::uint64_t bookmarks = 0;
  std::string resource_version = {};  // up to which all is known
};

class Reflector {
 public:
  /// Begins at once. The client must live until stop() or longer.
  Reflector(Client& client, ReflectorOptions options, std::shared_ptr<ObjectSink> sink);
  ~Reflector();

  /// Waits for a call of the sink that is under way, unless it comes from there: hold no lock that
  /// the sink takes.
  void stop();
  ReflectorStats stats() const;

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace muster::kube
