// Requests to an API server as values: what to send, apart from sending it. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "kube/resource.h"

namespace muster::kube {

struct ApiRequest {
  std::string method = "GET";
  std::string path = {};
  std::vector<std::pair<std::string, std::string>> query = {};
  std::string content_type = {};  // of the body; "": none
  std::string body = {};
  std::string accept = "application/json";
  std::optional<Duration> timeout = {};       // instead of the client's, of one attempt
  std::optional<Duration> idle_timeout = {};  // without a byte; of streams, which have none else
  bool may_retry = true;
  bool is_answer_read = true;  // false: of an answer that is no error nothing is wanted, it is null
  bool is_patient = false;     // in line, lets the others go first for up to two seconds
};

ApiRequest get_request(const Resource& resource, std::string_view ns, std::string_view name,
                       std::string_view subresource = "");

struct ListOptions {
  std::string label_selector = {};
  std::string field_selector = {};
  std::int64_t limit = 0;  // objects a page; 0: all at once
  std::string continue_token = {};
  /// "": the newest, consistent; "0": whatever the server's cache has.
  std::string resource_version = {};
};
ApiRequest list_request(const Resource& resource, std::string_view ns,
                        const ListOptions& options = ListOptions());

struct WatchOptions {
  std::string label_selector = {};
  std::string field_selector = {};
  std::string resource_version = {};  // events after this one
  Duration timeout = minutes(8);      // after which the server ends it in good order
};
ApiRequest watch_request(const Resource& resource, std::string_view ns,
                         const WatchOptions& options = WatchOptions());

struct WriteOptions {
  std::string field_manager = {};
  bool dry_run = false;
  /// "Strict": fields the server does not know are errors. "": the server's default (a warning).
  std::string field_validation = {};
};
ApiRequest create_request(const Resource& resource, std::string_view ns,
                          const boost::json::value& object,
                          const WriteOptions& options = WriteOptions());
/// With the object's resourceVersion as precondition, if it has one.
ApiRequest replace_request(const Resource& resource, std::string_view ns, std::string_view name,
                           const boost::json::value& object,
                           const WriteOptions& options = WriteOptions(),
                           std::string_view subresource = "");

/// Merge is RFC 7386, Json is RFC 6902, Strategic knows Kubernetes' lists (not for CRDs).
enum class Patch { Merge, Json, Strategic };
ApiRequest patch_request(const Resource& resource, std::string_view ns, std::string_view name,
                         Patch kind, const boost::json::value& patch,
                         const WriteOptions& options = WriteOptions(),
                         std::string_view subresource = "");
/// Server-side apply: the object as this manager wants it. Fields of others are a conflict, with a
/// cause each, unless forced. Name and namespace are the object's.
ApiRequest apply_request(const Resource& resource, const boost::json::value& object,
                         std::string_view field_manager, bool force = false,
                         std::string_view subresource = "");

struct DeleteOptions {
  std::string uid = {};               // precondition: only this very object
  std::string resource_version = {};  // precondition: only this state of it
  std::string propagation = {};       // "Background", "Foreground", "Orphan"; "": the kind's own
  std::optional<std::int64_t> grace_seconds = {};
  bool dry_run = false;
};
ApiRequest delete_request(const Resource& resource, std::string_view ns, std::string_view name,
                          const DeleteOptions& options = DeleteOptions());
ApiRequest delete_collection_request(const Resource& resource, std::string_view ns,
                                     const ListOptions& which,
                                     const DeleteOptions& options = DeleteOptions());

struct LogOptions {
  std::string container = {};
  bool follow = false;
  bool previous = false;
  bool timestamps = false;
  std::optional<std::int64_t> tail_lines = {};
  std::optional<std::int64_t> since_seconds = {};
  std::string since_time = {};
  std::optional<std::int64_t> limit_bytes = {};
};
ApiRequest log_request(std::string_view ns, std::string_view pod,
                       const LogOptions& options = LogOptions());

/// The same request, of whose answer nothing but its success is wanted.
inline ApiRequest unread(ApiRequest request) {
  request.is_answer_read = false;
  return request;
}

/// "/path?query", encoded.
std::string target_of(const ApiRequest& request);

}  // namespace muster::kube
