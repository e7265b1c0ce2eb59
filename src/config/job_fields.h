// The keys of job files and of the API's job documents, each once. The reader, the writer and the
// JSON Schema all walk these tables. What a pod needs of its node is in Kubernetes' spelling.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "config/affinity_fields.h"
#include "config/codecs.h"
#include "config/container_fields.h"
#include "config/job_codecs.h"
#include "config/job_document.h"
#include "config/shared_fields.h"

namespace muster::config {

template <>
struct EnumNames<model::OnClusterLoss> {
  static constexpr std::array<std::pair<std::string_view, model::OnClusterLoss>, 2> names = {
      {{"wait", model::OnClusterLoss::Wait}, {"rerun", model::OnClusterLoss::Rerun}}};
};
template <>
struct EnumNames<model::ReadyGrowth> {
  static constexpr std::array<std::pair<std::string_view, model::ReadyGrowth>, 3> names = {
      {{"none", model::ReadyGrowth::None},
       {"linear", model::ReadyGrowth::Linear},
       {"exponential", model::ReadyGrowth::Exponential}}};
};
template <>
struct EnumNames<ParameterType> {
  static constexpr std::array<std::pair<std::string_view, ParameterType>, 4> names = {
      {{"string", ParameterType::String},
       {"integer", ParameterType::Integer},
       {"number", ParameterType::Number},
       {"boolean", ParameterType::Boolean}}};
};

template <>
struct Fields<model::CommandFile> {
  static constexpr std::string_view name = "file";
  template <typename V>
  static void visit(V& v) {
    v.field("path", &model::CommandFile::path, "relative to the pod's own folder",
            Rule{.required = true, .length_max = 1000});
    v.field("content", &model::CommandFile::content, "text of the file");
    v.field("executable", &model::CommandFile::executable, "may be run");
  }
};

template <>
struct Fields<model::HubObject> {
  static constexpr std::string_view name = "hub";
  template <typename V>
  static void visit(V& v) {
    constexpr Rule word = {.required = true, .length_max = 4096};
    v.field("cluster", &model::HubObject::cluster, "the cluster it is in", word);
    v.field("api_version", &model::HubObject::api_version, "its apiVersion", word);
    v.field("kind", &model::HubObject::kind, "its kind", word);
    v.field("namespace", &model::HubObject::ns, "its namespace", word);
    v.field("name", &model::HubObject::name, "its name", word);
    v.field("uid", &model::HubObject::uid, "its uid", word);
    v.field("is_work", &model::HubObject::is_work,
            "it is what the job runs, and is started where it is");
  }
};

template <>
struct Fields<model::NodeMark> {
  static constexpr std::string_view name = "node_mark";
  template <typename V>
  static void visit(V& v) {
    constexpr Rule word = {.required = true, .length_max = 4096};
    v.field("resource", &model::NodeMark::resource, "of pods that ask for it", word);
    v.field("label", &model::NodeMark::label, "of the node", word);
    v.field("value", &model::NodeMark::value, "of that label", word);
  }
};

template <>
struct Fields<model::ObjectCare> {
  static constexpr std::string_view name = "care";
  template <typename V>
  static void visit(V& v) {
    using Care = model::ObjectCare;
    v.field("starts_when_made", &Care::starts_when_made,
            "it has started when all objects are made, however their pods are");
    v.field("ready_pods", &Care::ready_pods, "so many pods that run are enough; 0: all",
            between(0, 1'000'000));
    v.field("ready_within", &Care::ready_within,
            "taken back when fewer pods are ready for so long; 0: the cluster's");
    v.field("ready_within_next", &Care::ready_within_next,
            "after the first requeue, if it grows exponentially; 0: as ready_within");
    v.field("ready_within_most", &Care::ready_within_most,
            "ready_within grows up to this; 0: without end");
    v.field("ready_growth", &Care::ready_growth, "how ready_within grows with every requeue");
    v.field("requeues_most", &Care::requeues_most, "then it fails; -1: never",
            between(-1, 1'000'000));
    v.field("requeue_pause", &Care::requeue_pause,
            "before it is tried again; a pause that grows if not given");
    v.field("requeues_failures", &Care::requeues_failures, "what fails is requeued too");
    v.field("terminal_exit_codes", &Care::terminal_exit_codes, "not after one of these",
            between(0, 255));
    v.field("retryable_exit_codes", &Care::retryable_exit_codes,
            "if any are given, only after one of these", between(0, 255));
    v.field("keep_ended", &Care::keep_ended, "its objects stay when it has ended by itself");
    v.field("keep_failed", &Care::keep_failed,
            "of one that failed they stay so long; none: as keep_ended says");
    v.field("waits_for_pods", &Care::waits_for_pods,
            "complete objects whose pods run: it ends when these have ended");
    v.field("ends_with_pods", &Care::ends_with_pods,
            "it succeeds when all its pods have; what has no end holds it up");
    v.field("takes_existing", &Care::takes_existing,
            "objects without pods that are there already count as made");
    v.field("pods_within", &Care::pods_within,
            "taken back when not all pods are there, ready or not, for so long");
    v.field("failed_within", &Care::failed_within,
            "pods that failed are borne so long; none: its objects alone judge");
    v.field("missing_fails", &Care::missing_fails,
            "an object that somebody deletes fails it, without a requeue");
    v.field("force_after", &Care::force_after,
            "pods that do not go are forced away so long after they were deleted");
    v.field("leaves", &Care::leaves,
            "it is requeued, uncounted, when it has pods on nodes with these labels");
  }
};

template <>
struct Fields<PodDoc> {
  static constexpr std::string_view name = "pod";
  template <typename V>
  static void visit(V& v) {
    constexpr Rule at_most_long = {.length_max = 4096};
    v.field("command", &PodDoc::command, "a text for the shell, or a list: program and arguments");
    v.field("script", &PodDoc::script, "a program text, run by its first line (#!) or by sh");
    v.field("image", &PodDoc::image, "container image; then only clusters of containers run it",
            at_most_long);
    v.field("env", &PodDoc::env, "environment of the processes");
    v.field("gpus", &PodDoc::gpus, "GPUs of one pod; 0.5 is a share of one");
    v.field("gpu_type", &PodDoc::gpu_type, "allowed types of GPU; any if not given", at_most_long);
    v.field("gpu_memory", &PodDoc::gpu_memory, "a share of one GPU by its memory");
    v.field("cpu", &PodDoc::cpu, "cores of one pod");
    v.field("memory", &PodDoc::memory, "memory of one pod");
    v.field("resources", &PodDoc::resources, "further resources, as {rdma/hca: 1}", at_least(1));
    v.field("pods", &PodDoc::pods, "how many pods; all start together", between(1, 100'000));
    v.field("min_pods", &PodDoc::min_pods, "may start with this many; 0: all of them",
            between(0, 100'000));
    v.field("pods_per_node", &PodDoc::pods_per_node, "at most this many on a node; 0: any",
            between(0, 100'000));
    v.field("node_selector", &PodDoc::node_selector, "labels that a node must have");
    v.field("affinity", &PodDoc::affinity, "nodes and pods to be near to or away from");
    v.field("tolerations", &PodDoc::tolerations, "taints that do not matter");
    v.field("spread", &PodDoc::spread, "evenly over domains");
    v.field("pod_labels", &PodDoc::pod_labels, "labels of the pods, seen by affinity and spread");
    v.field("host_ports", &PodDoc::host_ports, "ports of the node", between(1, 65535));
    v.field("volume_zones", &PodDoc::volume_zones, "zones that its volumes allow", at_most_long);
  }
};

template <>
struct Fields<PodSetDoc> {
  static constexpr std::string_view name = "pod_set";
  template <typename V>
  static void visit(V& v) {
    v.field("name", &PodSetDoc::name, "unique in its job", required_name());
    Fields<PodDoc>::visit(v);
  }
};

template <>
struct Fields<JobDoc> {
  static constexpr std::string_view name = "plain_job";
  template <typename V>
  static void visit(V& v) {
    constexpr Rule word = {.length_max = 4096};
    v.field("name", &JobDoc::name, "for people; need not be unique", Rule{.length_max = 253});
    v.field("queue", &JobDoc::queue, "where it waits", optional_name());
    v.field("extra_queues", &JobDoc::extra_queues, "queues of further trees that it charges",
            optional_name());
    v.field("priority", &JobDoc::priority, "higher goes first",
            between(model::priority_min, model::priority_max));
    Fields<PodDoc>::visit(v);
    v.seeded("pod_sets", &JobDoc::pod_sets, "pods of different kinds; each starts as the job");
    v.field("workdir", &JobDoc::workdir, "absolute; the pod's own folder if not given", word);
    v.field("files", &JobDoc::files, "written into the pod's own folder before it starts");
    v.field("stop_grace", &JobDoc::stop_grace,
            "between TERM and KILL; 30s if not given, unless the cluster says otherwise");
    v.field("namespace", &JobDoc::kube_namespace, "of Kubernetes; the cluster's if not given",
            optional_name());
    Fields<ContainerDoc>::visit(v);
    v.field("objects", &JobDoc::objects,
            "Kubernetes objects instead of a command, or {template, podSets: [{path, replicas}]}");
    v.field("hub", &JobDoc::hub, "of objects: what they belong to; written by the server only");
    v.field("care", &JobDoc::care, "of objects: how they are looked after");
    v.field("topology", &JobDoc::topology, "all pods under one value of this node label");
    v.field("pool", &JobDoc::pool, "a pool or a fleet pool", optional_name());
    v.field("clusters", &JobDoc::clusters, "only in these", word);
    v.field("exclude_clusters", &JobDoc::exclude_clusters, "not in these", word);
    v.field("data", &JobDoc::data, "clusters with this label are near its data", word);
    v.field("run_limit", &JobDoc::run_limit, "stopped after this; 0: never");
    v.field("preemptible", &JobDoc::preemptible, "may be stopped for others and run again");
    v.field("min_runtime", &JobDoc::min_runtime, "not stopped for others before this");
    v.field("max_retries", &JobDoc::max_retries, "run again after a failure", between(0, 1000));
    v.field("start_after", &JobDoc::start_after, "a time, or a duration from now");
    v.field("deadline", &JobDoc::deadline, "fails if it has not started by then");
    v.field("depends_on", &JobDoc::depends_on,
            "starts after all of these succeeded: names in the same file, or ids", word);
    v.field("on_cluster_loss", &JobDoc::on_cluster_loss, "when its cluster falls silent");
    v.field("held", &JobDoc::held, "does not start before it is released");
    v.field("labels", &JobDoc::labels, "for people and filters; the scheduler does not look");
  }
};

/// The long form of a parameter; the short form is its default alone.
template <>
struct Fields<ParameterDoc> {
  static constexpr std::string_view name = "parameter";
  template <typename V>
  static void visit(V& v) {
    v.field("type", &ParameterDoc::type, "what its value must be");
    v.field("default", &ParameterDoc::standard, "its value if none is given; none: must be given");
    v.field("choices", &ParameterDoc::choices, "the only values it may have");
    v.field("help", &ParameterDoc::help, "what it is for");
  }
};

/// The long form of a topology; the short form is its key alone.
template <>
struct Fields<TopologyDoc> {
  static constexpr std::string_view name = "topology";
  template <typename V>
  static void visit(V& v) {
    v.field("key", &TopologyDoc::key, "label of the nodes", Rule{.required = true});
    v.field("required", &TopologyDoc::required, "a demand; false: a wish");
  }
};

template <>
struct Fields<ArrayDoc> {
  static constexpr std::string_view name = "array";
  template <typename V>
  static void visit(V& v) {
    v.field("count", &ArrayDoc::count, "so many jobs; ${index} counts from 0",
            between(1, 1'000'000));
    v.field("over", &ArrayDoc::over, "one job for every combination, as {lr: [1, 2], seed: 1..5}");
  }
};

template <>
struct Fields<TemplateDoc> {
  static constexpr std::string_view name = "template";
  template <typename V>
  static void visit(V& v) {
    v.field("parameters", &TemplateDoc::parameters, "values that ${name} stands for");
    v.field("array", &TemplateDoc::array, "many jobs from this one");
  }
};

template <>
struct Fields<JobDocument> {
  static constexpr std::string_view name = "job";
  template <typename V>
  static void visit(V& v) {
    Fields<JobDoc>::visit(v);
    Fields<TemplateDoc>::visit(v);
  }
};

template <>
struct Fields<BatchDocument> {
  static constexpr std::string_view name = "batch";
  template <typename V>
  static void visit(V& v) {
    v.field("jobs", &BatchDocument::jobs, "several jobs", Rule{.required = true});
    v.field("parameters", &BatchDocument::parameters, "values that ${name} stands for in all");
  }
};

}  // namespace muster::config
