// The kind of cluster that is a Kubernetes: nodes and the pods of others become sight; a gang
// becomes a Job a pod set, made just in time with affinity to its planned nodes, and placed by the
// cluster's own scheduler. All objects of an attempt have names made of job and attempt, so that a
// second create meets the first; what they say of themselves (labels, annotations) is all that a
// new instance needs to go on.
//
// What is whose fault: an object the API server finds wrong is Finished without success and exit
// code 126; no quota, no permission, a missing namespace, pods that do not get ready in time or are
// taken away by others are StartFailed, and the gang queues again.
//
// Thread contract: apply and relist only queue, and one thread of its own does the rest; it never
// waits for the API server. Inbox, Payloads, LogSink, PodNotes and AttemptSights must outlive the
// cluster. Destroying it leaves the pods running.
#pragma once

#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "clusters/kubernetes/acquaintance.h"
#include "clusters/kubernetes/attempt_book.h"
#include "clusters/kubernetes/bound_pods.h"
#include "clusters/kubernetes/clearing.h"
#include "clusters/kubernetes/command_objects.h"
#include "clusters/kubernetes/event_watch.h"
#include "clusters/kubernetes/extra_use.h"
#include "clusters/kubernetes/foster_pods.h"
#include "clusters/kubernetes/gang_watch.h"
#include "clusters/kubernetes/namespace_watch.h"
#include "clusters/kubernetes/node_model.h"
#include "clusters/kubernetes/object_writer.h"
#include "clusters/kubernetes/pod_logs.h"
#include "clusters/kubernetes/quota_claims.h"
#include "clusters/kubernetes/runtime_class_watch.h"
#include "clusters/kubernetes/sight.h"
#include "clusters/kubernetes/sight_teller.h"
#include "clusters/kubernetes/workload_watch.h"
#include "clusters/outgoing.h"
#include "clusters/wishes.h"
#include "kube/access.h"
#include "kube/client.h"
#include "ports/attempt_sights.h"
#include "ports/cluster.h"
#include "ports/departures.h"
#include "ports/inbox.h"
#include "ports/kept_objects.h"
#include "ports/log_sink.h"
#include "ports/payloads.h"
#include "ports/pod_commands.h"
#include "ports/pod_notes.h"

namespace muster::clusters {

/// What pods sent to a pool have, over the cluster's own defaults.
struct PoolObjects {
  std::string pool;
  std::vector<std::string> fleet_pools;  // that it belongs to
  PodDefaults pod;
};

struct KubernetesOptions {
  std::string name = {};  // of the cluster
  kube::Access access = {};
  ObjectOptions objects = {};  // everything is made in objects.pod.ns, in that of a pool, or in one
                               // of objects.namespaces that a job names
  std::vector<PoolObjects> pools = {};
  GpuNaming gpus = {};
  bool is_aggregate = false;  // its nodes are told as one; objects.binding is to be none then
  BookOptions book = {};
  Duration silence_max = seconds(15);  // then it is said to be unreachable
  std::size_t queue_most = 65536;      // actions; more are dropped and handed over again later
};

class KubernetesCluster : public ports::Cluster,
                          public ports::PodCommands,
                          public ports::KeepsObjects {
 public:
  struct Ports {
    ports::Inbox& inbox;
    ports::Payloads& payloads;
    ports::LogSink& logs;
    ports::PodNotes* notes = nullptr;         // null: nobody wants them
    ports::AttemptSights* sights = nullptr;   // likewise; of jobs that stand for a hub object
    ports::Departures* departures = nullptr;  // null: nobody has to know that such jobs are made
  };
  /// Does not wait for the cluster: one that cannot be reached is opened and says so.
  static Result<std::unique_ptr<KubernetesCluster>> open(KubernetesOptions options, Ports ports);
  ~KubernetesCluster() override;

  void apply(const ports::Action& action) override { wishes_.put(action); }
  void relist(std::span<const ports::Expected> expected) override { wishes_.put(expected); }

  std::string problem() const override { return sight_->problem(); }
  std::string trouble() const override;
  std::string identity() const override { return acquaintance_.identity(); }
  ports::ClusterAbout about() const override { return acquaintance_.about(); }
  model::RuntimeClasses runtime_classes() const override;
  void leave() override;
  void remove_kept(const std::string& ns, const std::string& job,
                   std::function<void(bool is_gone)> done) override {
    writer_->remove_kept(ns, job, std::move(done));
  }

  Result<std::shared_ptr<ports::PodCommandSession>> run(
      const ports::PodCommand& command, ports::PodCommandCallbacks callbacks) override;

  /// Waits until everything asked for is done: started or over, and said. False if that takes
  /// longer than `at_most`.
  bool wait_settled(Duration at_most) { return wishes_.wait_done(at_most); }

 private:
  KubernetesCluster(KubernetesOptions options, Ports ports, std::unique_ptr<kube::Client> client);

  // ---- the thread
  void work();
  void do_answers();
  void do_wishes(Time now);
  void look_at_gangs(Time now);
  void tell_stand(const ports::Attempt& attempt, const std::optional<GangState>& state);
  void expect_pods(const ports::Attempt& attempt, std::vector<model::PodPlace> places,
                   std::vector<model::Resources> counted);
  void look_at_nodes(const ports::Attempt& attempt, const std::vector<PodSight>& pods, Time now);
  void pass_logs(Time now);
  void do_commands(Time now);
  void free_stuck(Time now);
  void tell_held(const ports::Attempt& attempt, Time now);
  void leave_sick_nodes(Time now);
  void tell_notes(Time now);
  void tell_trouble(Time now);
  void get_acquainted(Time now);
  void clear_to_leave();
  bool is_done();
  std::optional<GangState> state_of(const ports::Attempt& attempt) const;
  std::vector<PodSight> pods_of(const ports::Attempt& attempt) const;  // from any thread
  /// Look at it even if it does not change.
  void touch(const ports::Attempt& attempt) { watches_.front()->gangs->touch(attempt); }
  void watch_namespace(const std::string& ns);
  /// From the I/O thread: an answer that was promised has come.
  void answer(std::function<void()> function);

  /// Whether the objects of an attempt that nobody expects are to stay, and that is known.
  WorkloadWatch::Kept is_kept(const ports::Attempt& attempt) const;
  void keep_failures(std::set<ports::Attempt>& unwanted, Time now);
  void begin_relist(std::vector<ports::Expected> expected);
  void end_relist(const std::vector<ports::Expected>& expected, ObjectWriter::Attempts found);
  void act(const ports::Action& action, Time now);
  void make(const ports::Attempt& attempt, Time now);
  using OnMade = std::function<void(MadeObjects)>;
  /// Of a list that comes from another cluster: that one is told first, and gives what goes along.
  void depart(const ports::Attempt& attempt, const model::HubObject& hub, ListedObjects listed,
              const OnMade& done);
  void note(const ports::Attempt& attempt, const LuggageNote& note, Time now);
  Result<ListedObjects> listed_for(const ports::Action& action, const model::Command& command,
                                   const ObjectOptions& options);
  /// False: the namespace does not allow it, and the book knows. Else its room is claimed.
  bool is_allowed(const ports::Attempt& attempt, std::vector<PodsAsked> pods,
                  const std::vector<boost::json::value>& objects, Time now);
  const ObjectOptions& objects_for(const std::string& pool) const;
  void remove(const ports::Attempt& attempt);
  void stop(const ports::Attempt& attempt);
  void remove_objects(const ports::Attempt& attempt);
  std::string namespace_of(const ports::Attempt& attempt) const;
  AttemptCare care_of(const ports::Attempt& attempt) const;
  bool may_have_objects(const ports::Attempt& attempt) const;
  void confirm(const ports::Attempt& attempt);

  const KubernetesOptions options_;
  const std::map<std::string, ObjectOptions> pool_objects_;  // where it is not options_.objects
  Ports ports_;
  Wishes wishes_;
  /// For answers of the hub, which may come when the cluster is no more.
  struct Door {
    std::mutex mutex;
    bool is_open = true;  // guarded by mutex
  };
  const std::shared_ptr<Door> door_ = std::make_shared<Door>();
  mutable std::mutex mutex_;
  std::deque<std::function<void()>> answers_;  // guarded by mutex_, as the next two
  std::string trouble_;
  std::optional<std::promise<void>> leaving_;  // kept when all that ended is removed

  // Of the thread alone.
  Outgoing outgoing_;
  AttemptBook book_;
  BoundPods bound_;
  ExtraUse extra_;
  std::deque<Wish> held_;                           // wait for a relist, or for the first sight
  std::map<ports::Attempt, ports::Action> making_;  // what their objects are made of
  QuotaClaims claims_;
  Clearing clearing_;  // to be deleted before anything is made
  int promised_ = 0;   // answers to come
  bool is_relisting_ = false;
  bool is_clearing_ = false;                      // it leaves, and what ended is being removed
  bool has_cleared_ = false;                      // and that is done
  std::map<ports::Attempt, Time> podless_since_;  // of those that are deleted and not gone yet
  Time relist_not_before_;
  Time next_pass_;
  Time next_free_;
  Time next_prepare_;
  Time next_logs_;
  bool has_logs_due_ = false;  // put off: they were looked through a moment ago

  // The client goes first: with it the last callback.
  Acquaintance acquaintance_;
  std::unique_ptr<ObjectWriter> writer_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<KubernetesSight> sight_;
  std::unique_ptr<RuntimeClassWatch> runtime_classes_;
  /// Of one namespace, or of all there are.
  struct Watches {
    std::string ns;  // "": all
    std::unique_ptr<GangWatch> gangs;
    std::unique_ptr<WorkloadWatch> workloads;
    std::unique_ptr<NamespaceWatch> rules;
    std::unique_ptr<EventWatch> events;  // null: nobody wants notes
  };
  std::vector<std::unique_ptr<Watches>> watches_;  // the cluster's own namespace first
  std::unique_ptr<PodLogs> logs_;
  std::unique_ptr<FosterPods> fosters_;
  SightTeller teller_;
  std::set<ports::Attempt> unread_;  // ended, but for the rest of their output
  std::thread thread_;
};

}  // namespace muster::clusters
