#include "kube/requests.h"

#include <boost/json/serialize.hpp>

#include "base/check.h"
#include "kube/json.h"
#include "net/url.h"

namespace muster::kube {

namespace {

namespace json = boost::json;

using Query = std::vector<std::pair<std::string, std::string>>;

void add(Query& query, std::string_view key, std::string_view value) {
  if (!value.empty()) query.emplace_back(key, value);
}

void add_selectors(Query& query, const std::string& labels, const std::string& fields) {
  add(query, "labelSelector", labels);
  add(query, "fieldSelector", fields);
}

void add_write(Query& query, const WriteOptions& options) {
  add(query, "fieldManager", options.field_manager);
  if (options.dry_run) add(query, "dryRun", "All");
  add(query, "fieldValidation", options.field_validation);
}

void set_body(ApiRequest& request, const json::value& value,
              std::string_view content_type = "application/json") {
  request.content_type = content_type;
  request.body = json::serialize(value);
}

std::string_view media_type(Patch kind) {
  switch (kind) {
    case Patch::Merge:
      return "application/merge-patch+json";
    case Patch::Json:
      return "application/json-patch+json";
    case Patch::Strategic:
      return "application/strategic-merge-patch+json";
  }
  return "";
}

json::value delete_body(const DeleteOptions& options) {
  json::value body = json::object();
  set_at(body, {"apiVersion"}, "v1");
  set_at(body, {"kind"}, "DeleteOptions");
  if (!options.uid.empty()) set_at(body, {"preconditions", "uid"}, json::string(options.uid));
  if (!options.resource_version.empty()) {
    set_at(body, {"preconditions", "resourceVersion"}, json::string(options.resource_version));
  }
  if (!options.propagation.empty()) {
    set_at(body, {"propagationPolicy"}, json::string(options.propagation));
  }
  if (options.grace_seconds) set_at(body, {"gracePeriodSeconds"}, *options.grace_seconds);
  if (options.dry_run) set_at(body, {"dryRun"}, json::array({"All"}));
  return body;
}

}  // namespace

ApiRequest get_request(const Resource& resource, std::string_view ns, std::string_view name,
                       std::string_view subresource) {
  MUSTER_CHECK(!name.empty(), "get of {} without a name", resource.plural);
  return {.path = path_of(resource, ns, name, subresource)};
}

ApiRequest list_request(const Resource& resource, std::string_view ns, const ListOptions& options) {
  ApiRequest request{.path = path_of(resource, ns)};
  add_selectors(request.query, options.label_selector, options.field_selector);
  if (options.limit > 0) add(request.query, "limit", std::to_string(options.limit));
  add(request.query, "continue", options.continue_token);
  // A continue token has its version inside; both together are refused.
  if (options.continue_token.empty()) {
    add(request.query, "resourceVersion", options.resource_version);
  }
  return request;
}

ApiRequest watch_request(const Resource& resource, std::string_view ns,
                         const WatchOptions& options) {
  ApiRequest request{.path = path_of(resource, ns)};
  add(request.query, "watch", "true");
  add(request.query, "allowWatchBookmarks", "true");
  add_selectors(request.query, options.label_selector, options.field_selector);
  add(request.query, "resourceVersion", options.resource_version);
  if (options.timeout.ms > 0) {
    add(request.query, "timeoutSeconds", std::to_string(options.timeout.ms / 1000));
  }
  return request;
}

ApiRequest create_request(const Resource& resource, std::string_view ns, const json::value& object,
                          const WriteOptions& options) {
  ApiRequest request{.method = "POST", .path = path_of(resource, ns)};
  add_write(request.query, options);
  set_body(request, object);
  return request;
}

ApiRequest replace_request(const Resource& resource, std::string_view ns, std::string_view name,
                           const json::value& object, const WriteOptions& options,
                           std::string_view subresource) {
  ApiRequest request{.method = "PUT", .path = path_of(resource, ns, name, subresource)};
  add_write(request.query, options);
  set_body(request, object);
  return request;
}

ApiRequest patch_request(const Resource& resource, std::string_view ns, std::string_view name,
                         Patch kind, const json::value& patch, const WriteOptions& options,
                         std::string_view subresource) {
  ApiRequest request{.method = "PATCH", .path = path_of(resource, ns, name, subresource)};
  add_write(request.query, options);
  set_body(request, patch, media_type(kind));
  return request;
}

ApiRequest apply_request(const Resource& resource, const json::value& object,
                         std::string_view field_manager, bool force, std::string_view subresource) {
  ApiRequest request{.method = "PATCH",
                     .path = path_of(resource, namespace_of(object), name_of(object), subresource)};
  add(request.query, "fieldManager", field_manager);
  if (force) add(request.query, "force", "true");
  set_body(request, object, "application/apply-patch+yaml");  // JSON is YAML
  return request;
}

ApiRequest delete_request(const Resource& resource, std::string_view ns, std::string_view name,
                          const DeleteOptions& options) {
  // Without a name it would delete all of them.
  MUSTER_CHECK(!name.empty(), "delete of {} without a name", resource.plural);
  ApiRequest request{.method = "DELETE", .path = path_of(resource, ns, name)};
  set_body(request, delete_body(options));
  return request;
}

ApiRequest delete_collection_request(const Resource& resource, std::string_view ns,
                                     const ListOptions& which, const DeleteOptions& options) {
  ApiRequest request = list_request(resource, ns, which);
  request.method = "DELETE";
  set_body(request, delete_body(options));
  return request;
}

ApiRequest log_request(std::string_view ns, std::string_view pod, const LogOptions& options) {
  ApiRequest request = get_request(resources::pods(), ns, pod, "log");
  request.accept = "*/*";
  add(request.query, "container", options.container);
  if (options.follow) add(request.query, "follow", "true");
  if (options.previous) add(request.query, "previous", "true");
  if (options.timestamps) add(request.query, "timestamps", "true");
  if (options.tail_lines) add(request.query, "tailLines", std::to_string(*options.tail_lines));
  if (options.since_seconds) {
    add(request.query, "sinceSeconds", std::to_string(*options.since_seconds));
  }
  add(request.query, "sinceTime", options.since_time);
  if (options.limit_bytes) add(request.query, "limitBytes", std::to_string(*options.limit_bytes));
  return request;
}

std::string target_of(const ApiRequest& request) {
  std::string target = request.path;
  char separator = '?';
  for (const auto& [key, value] : request.query) {
    target += separator;
    target += net::percent_encode(key) + "=" + net::percent_encode(value);
    separator = '&';
  }
  return target;
}

}  // namespace muster::kube
