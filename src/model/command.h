// What the pods of a job run: the payload of a job that is a command. It stays in the store until
// the job is dispatched; the scheduler never sees it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/amount.h"
#include "model/job.h"
#include "model/node_health.h"

namespace muster::model {

/// Of clusters that do not say another.
constexpr Duration stop_grace_default = seconds(30);

using Environment = std::map<std::string, std::string>;

/// Where a volume appears in a container.
struct VolumeMount {
  std::string volume;
  std::string path;  // absolute
  std::string sub_path = {};
  bool read_only = false;
  friend bool operator==(const VolumeMount&, const VolumeMount&) = default;
};

/// What the pods of a cluster of containers are made of. What is empty is as the pool or the
/// cluster says; a cluster without containers takes no job that has an image.
struct Container {
  std::string image;
  std::string pull_policy;  // Always, IfNotPresent or Never
  std::string ns;           // where its objects are made
  std::string service_account;
  std::vector<std::string> pull_secrets;
  std::vector<std::string> volumes;  // each a JSON object, as Kubernetes writes it
  std::vector<VolumeMount> mounts;
  friend bool operator==(const Container&, const Container&) = default;
};

/// Written into the pod's own directory before it starts.
struct CommandFile {
  std::string path;  // relative, without ".."
  std::string content;
  bool executable = false;
  friend bool operator==(const CommandFile&, const CommandFile&) = default;
};

/// What is particular to the pods of one set.
struct CommandSet {
  std::string name;
  std::vector<std::string> argv;  // empty: that of the command
  Environment environment;        // on top of the command's
  MilliCpu cpu;                   // limits of one pod; 0: none
  Bytes memory;
  std::string image = {};  // empty: that of the command
  PodShape pod = {};       // as the gang has it; filled in by ports::Payloads
  friend bool operator==(const CommandSet&, const CommandSet&) = default;
};

/// The object on a hub cluster that a job stands for: an AppWrapper, or what is labelled there.
struct HubObject {
  std::string cluster;  // as Muster calls it
  std::string api_version;
  std::string kind;
  std::string ns;
  std::string name;
  std::string uid;
  /// It is the job's one object itself: it is there already, and is started and stopped in its
  /// place instead of being made and deleted.
  bool is_work = false;
  friend bool operator==(const HubObject&, const HubObject&) = default;
};
/// How the ids of jobs begin whose hub object is the work: nobody has to look at the others.
constexpr std::string_view in_place_prefix = "ray-";

/// How the time to get ready grows when a gang was taken back and is tried again.
enum class ReadyGrowth { None, Linear, Exponential };

/// How a list of objects is looked after, where that differs from what a cluster does with every
/// list.
struct ObjectCare {
  /// It is started as soon as all its objects are made, however its pods are. A limit of its own
  /// needs this: until a gang is started the loop's limit holds too.
  bool starts_when_made = false;
  int ready_pods = 0;        // so many that run, or have succeeded, are enough; 0: all of the gang
  Duration ready_within{0};  // from made to ready, and whenever later fewer are; 0: the cluster's,
                             // and with ready_pods = 0 only until it has started
  Duration ready_within_next{0};  // after a requeue, where it grows exponentially; 0: ready_within
  Duration ready_within_most{0};  // the limit grows with every requeue up to this; 0: without end
  ReadyGrowth ready_growth = ReadyGrowth::None;
  int requeues_most = -1;                      // then it fails; -1: never
  std::optional<Duration> requeue_pause = {};  // before it is tried again; none: the cluster's own
  /// What fails is requeued too, unless its exit code says that it is not worth it.
  bool requeues_failures = false;
  std::vector<int> terminal_exit_codes = {};   // not after one of these
  std::vector<int> retryable_exit_codes = {};  // if any are given, only after one of these
  bool keep_ended = false;  // its objects stay when it has ended by itself, until they are deleted
  std::optional<Duration> keep_failed = {};  // those of one that failed: so long only
  bool waits_for_pods = false;  // objects complete and pods running: it ends when these have
  /// Fewer pods than it needs may be there at all for so long only; none: as ready_within says.
  std::optional<Duration> pods_within = {};
  /// Pods that failed are borne so long, then it has failed; none: its objects alone judge.
  std::optional<Duration> failed_within = {};
  /// It has succeeded only when all its pods have: kinds without an end hold it up, and of a kind
  /// that says nothing of its end the pods tell it.
  bool ends_with_pods = false;
  /// Objects without pods whose names are taken already count as made.
  bool takes_existing = false;
  bool missing_fails = false;  // somebody deletes one of its objects: it fails, without a requeue
  /// Pods of it that were deleted so long ago are forced away; none: only those of lost nodes are.
  std::optional<Duration> force_after = {};
  /// With a pod on such a node it is requeued, which does not count as one.
  std::vector<NodeMark> leaves = {};
  friend bool operator==(const ObjectCare&, const ObjectCare&) = default;
};

struct Command {
  std::string name;  // of the job
  std::string user;
  std::vector<std::string> argv;
  Environment environment;
  std::string working_dir;  // absolute; empty: the pod's own directory
  std::vector<CommandFile> files;
  std::optional<Duration> stop_grace;  // between TERM and KILL; none: as the cluster says
  std::vector<CommandSet> sets;        // as many, and in the same order, as Gang::sets
  Container container;
  /// A JSON list of Kubernetes objects, or of {template, podSets}: then it has no argv, and a set
  /// for every pod template in them.
  std::string objects;
  std::optional<HubObject> hub;  // of objects: whose they are, if anybody's
  ObjectCare care;               // of objects
  std::string pool;              // a pool or a fleet pool; filled in by ports::Payloads
  friend bool operator==(const Command&, const Command&) = default;

  const std::vector<std::string>& argv_of(const CommandSet& set) const {
    return set.argv.empty() ? argv : set.argv;
  }
  const std::string& image_of(const CommandSet& set) const {
    return set.image.empty() ? container.image : set.image;
  }
};

/// Whether only a cluster that runs containers can run it.
bool needs_containers(const Command& command);
/// Whether a cluster of containers needs an image of its own to run it.
bool needs_default_image(const Command& command);

/// What is wrong with it by itself, with the name of the field.
Status validate(const Command& command);

}  // namespace muster::model
