// Which pods come of a list of Kubernetes objects: the pod templates in them and how many pods each
// makes, by what Muster knows of a kind, or as the list itself says by path. Pure.
//
// A list holds objects, or wrapped ones, {template: OBJECT, podSets: [{path, replicas}]}, as the
// components of an AppWrapper are written: a path begins with `template`, which is the object, and
// leads to a pod template: `template.spec.workers[0].template`.
//
// A wrapped object may say what its pods need: {template, podResources: [{replicas, requests}]}, as
// custompodresources do. If these are as many sets of as many pods as the object's templates, each
// is what the pods of its template need. If not, they count instead of the templates: sets without
// one. So an empty list means that none of its pods count. An entry with podResources alone keeps
// room that no object takes.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "manifest/amounts.h"

namespace muster::manifest {

/// Keys and indexes on the way from an object into it.
using Path = std::vector<std::variant<std::string, std::size_t>>;
/// "template.spec.workers[0].template" without its first word, which is the object.
Result<Path> parse_path(std::string_view text);
std::string to_text(const Path& path);
/// Null when it leads nowhere.
const boost::json::value* at(const boost::json::value& object, const Path& path);
boost::json::value* at(boost::json::value& object, const Path& path);

constexpr std::size_t no_object = static_cast<std::size_t>(-1);

/// Pods that are made of one template.
struct PodTemplate {
  std::size_t object = 0;  // index in the list; no_object: room that is kept
  Path path = {};          // to a map with metadata and spec
  std::string set = {};    // unique in the list
  std::int64_t count = 1;
  std::int64_t least = 0;                // elastic: so many are enough; 0: all of them
  Path replicas_at = {};                 // elastic: to the map whose `replicas` makes them
  std::int64_t pods_a_replica = 1;       // elastic
  std::int64_t lowest = 0;               // elastic: to so many it may be scaled down, later
  bool comes_later = false;              // its pods are made when those of others have succeeded
  std::optional<Amounts> requests = {};  // what a pod needs, whatever its containers say
  bool has_template = true;              // false: there is no path, see `covered`
  boost::json::array added = {};         // containers that its controller adds to each pod
};

struct ObjectList {
  std::vector<boost::json::value> objects = {};
  std::vector<PodTemplate> templates = {};  // a set each; objects in order, and those of one too
  /// Templates of objects whose sets have none: such a set's pods may come of any of these.
  std::vector<PodTemplate> covered = {};
};

/// What a kind makes: "Job" of "batch/v1". Objects of kinds without pods, and of unknown ones, make
/// none. Fault::Invalid for kinds that cannot start as a gang, with the reason.
Result<std::vector<PodTemplate>> infer_templates(const boost::json::value& object);

/// Reads a JSON list. Lists of kind List are taken apart. Errors name the object and the field.
Result<ObjectList> read_objects(const boost::json::value& list);
/// The objects of a list that reads, where they stand in it, in the same order.
std::vector<boost::json::value*> objects_in(boost::json::value& list);

/// The pod of a template of that object, with what its controller adds to it.
boost::json::value pod_of(const boost::json::value& object, const PodTemplate& one);

/// "Job train", for messages.
std::string title_of(const boost::json::value& object);

}  // namespace muster::manifest
