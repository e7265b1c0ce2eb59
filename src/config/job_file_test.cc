#include "config/job_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace muster::config {
namespace {

using Strings = std::vector<std::string>;

JobOptions options() {
  JobOptions options;
  options.default_queue = "default";
  options.now = Time{1'000'000};
  return options;
}

Submission one(std::string_view yaml) {
  JobFile file = read_job_file(yaml, options());
  EXPECT_TRUE(file.problems.empty()) << to_text(file.problems.at(0), "f") << "\n" << yaml;
  EXPECT_EQ(file.jobs.size(), 1U) << yaml;
  return file.jobs.empty() ? Submission{} : file.jobs[0];
}

Strings names_of(const JobFile& file) {
  Strings names;
  for (const Problem& problem : file.problems) names.push_back(to_text(problem, "f"));
  for (const Submission& job : file.jobs) names.push_back(job.spec.name);
  return names;
}

TEST(JobFile, ASmallFileNeedsLittle) {
  const Submission job = one("command: python train.py --lr 0.1\n");
  EXPECT_EQ(job.spec.name, "python");
  EXPECT_EQ(job.spec.queue, "default");
  EXPECT_EQ(job.spec.priority, 50);
  EXPECT_EQ(job.command.argv, (Strings{"/bin/sh", "-c", "python train.py --lr 0.1"}));
  ASSERT_EQ(job.spec.gang.sets.size(), 1U);
  EXPECT_EQ(job.spec.gang.sets[0].count, 1);
  EXPECT_TRUE(job.spec.id.empty());
}

const std::string everything = R"(
name: train
queue: vision
extra_queues: [acme]
priority: 70
command: [python, train.py]
env: {LR: 0.1, DEBUG: true}
gpus: 8
gpu_type: [A100, H100]
cpu: 1500m
memory: 64Gi
resources: {rdma/hca: 2}
pods: 4
min_pods: 2
pods_per_node: 1
node_selector: {zone: a}
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions: [{key: disk, operator: In, values: [ssd]}]
        matchFields: [{key: metadata.name, operator: NotIn, values: [bad]}]
    preferredDuringSchedulingIgnoredDuringExecution:
    - {weight: 10, preference: {matchExpressions: [{key: fast, operator: Exists}]}}
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - {labelSelector: {matchLabels: {app: db}}, topologyKey: zone}
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - {labelSelector: {matchExpressions: [{key: app, operator: In, values: [web]}]},
       topologyKey: host}
tolerations: [{key: dedicated, operator: Exists, effect: NoSchedule}, {key: a, value: b}]
spread: [{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway,
          labelSelector: {matchLabels: {app: train}}}]
pod_labels: {app: train}
host_ports: [8080]
volume_zones: [z1]
workdir: /data
files: [{path: conf/a.txt, content: "x: 1\n", executable: true}]
stop_grace: 1m
image: pytorch:2
image_pull_policy: Always
namespace: team
service_account: robot
pull_secrets: [registry]
volumes: [{name: data, hostPath: {path: /data}}]
mounts: [{name: data, mountPath: /mnt, subPath: sub, readOnly: true}]
topology: {key: rack, required: false}
pool: fast
clusters: [one, two]
exclude_clusters: three
data: imagenet
run_limit: 2h
preemptible: false
min_runtime: 10m
max_retries: 3
start_after: 1h
deadline: 2026-07-01T08:00:00+02:00
depends_on: [j-1, j-2]
on_cluster_loss: rerun
held: true
labels: {team: vision}
)";

TEST(JobFile, EveryKeyOfTheJobReachesTheEngine) {
  const Submission job = one(everything);
  const model::JobSpec& spec = job.spec;
  const model::Gang& gang = spec.gang;
  EXPECT_EQ(spec.name, "train");
  EXPECT_EQ(spec.queue, "vision");
  EXPECT_EQ(spec.extra_queues, Strings{"acme"});
  EXPECT_EQ(spec.priority, 70);
  EXPECT_EQ(spec.run_limit, hours(2));
  EXPECT_EQ(spec.start_after, Time{1'000'000} + hours(1));
  EXPECT_EQ(spec.deadline.ms, 1'782'885'600'000);
  EXPECT_EQ(spec.depends_on, (Strings{"j-1", "j-2"}));
  EXPECT_TRUE(spec.held);
  EXPECT_EQ(gang.topology, (model::TopologyDomain{"rack", false}));
  EXPECT_EQ(gang.pool, "fast");
  EXPECT_EQ(gang.clusters, (Strings{"one", "two"}));
  EXPECT_EQ(gang.excluded_clusters, Strings{"three"});
  EXPECT_EQ(gang.data_label, "imagenet");
  EXPECT_FALSE(gang.preemptible);
  EXPECT_EQ(gang.min_runtime, minutes(10));
  EXPECT_EQ(gang.max_retries, 3);
  EXPECT_EQ(gang.on_cluster_loss, model::OnClusterLoss::Rerun);
}

TEST(JobFile, EveryKeyOfThePodsReachesTheEngine) {
  const Submission job = one(everything);
  const model::Gang& gang = job.spec.gang;
  ASSERT_EQ(gang.sets.size(), 1U);
  model::PodSet set;
  set.name = "main";
  set.count = 4;
  set.min_count = 2;
  set.pods_per_node = 1;
  model::PodShape& pod = set.pod;
  pod.requests = {{1500}, {std::int64_t{64} << 30}, {{"rdma/hca", 2}}};
  pod.gpu.count = 8;
  pod.gpu_types = {"A100", "H100"};
  pod.node_selector = {{"zone", "a"}};
  pod.required_affinity = {{{{"disk", model::Operator::In, {"ssd"}}},
                            {{"metadata.name", model::Operator::NotIn, {"bad"}}}}};
  pod.preferred_affinity = {{10, {{{"fast", model::Operator::Exists, {}}}, {}}}};
  pod.pod_affinity = {{{{{"app", "db"}}, {}}, "zone"}};
  pod.pod_anti_affinity = {{{{}, {{"app", model::Operator::In, {"web"}}}}, "host"}};
  pod.tolerations = {{"dedicated", true, "", "NoSchedule"}, {"a", false, "b", ""}};
  pod.spread = {{2, "zone", {{{"app", "train"}}, {}}, false}};
  pod.labels = {{"app", "train"}};
  pod.host_ports = {8080};
  pod.volume_zones = {"z1"};
  EXPECT_EQ(gang.sets[0], set);
}

TEST(JobFile, EveryKeyOfTheCommandReachesTheProcess) {
  const Submission job = one(everything);
  EXPECT_EQ(job.command.argv, (Strings{"python", "train.py"}));
  EXPECT_EQ(job.command.environment, (model::Environment{{"DEBUG", "true"}, {"LR", "0.1"}}));
  EXPECT_EQ(job.command.working_dir, "/data");
  EXPECT_EQ(job.command.stop_grace, minutes(1));
  ASSERT_EQ(job.command.files.size(), 1U);
  EXPECT_EQ(job.command.files[0], (model::CommandFile{"conf/a.txt", "x: 1\n", true}));
  EXPECT_EQ(job.command.sets[0].cpu.v, 1500);
  EXPECT_EQ(job.command.container,
            (model::Container{"pytorch:2",
                              "Always",
                              "team",
                              "robot",
                              {"registry"},
                              {R"({"name":"data","hostPath":{"path":"/data"}})"},
                              {{"data", "/mnt", "sub", true}}}));
  EXPECT_EQ(job.labels.at("team"), "vision");
}

TEST(JobFile, GpusAreWholeOrAShareOfOne) {
  EXPECT_EQ(one("{command: x, gpus: 0.5}").spec.gang.sets[0].pod.gpu,
            (model::GpuAsk{1, {500}, {0}}));
  EXPECT_EQ(one("{command: x, gpus: 2}").spec.gang.sets[0].pod.gpu,
            (model::GpuAsk{2, {1000}, {0}}));
  EXPECT_EQ(one("{command: x, gpu_memory: 20Gi}").spec.gang.sets[0].pod.gpu,
            (model::GpuAsk{1, {1000}, {std::int64_t{20} << 30}}));
}

TEST(JobFile, ObjectsOfKubernetesAreAGangOfTheirPods) {
  const Submission job = one(R"(
queue: vision
objects:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {version: "1.10", n: 5}}
- apiVersion: kubeflow.org/v1
  kind: PyTorchJob
  metadata: {name: train}
  spec:
    pytorchReplicaSpecs:
      Master: {template: {spec: {containers: [{name: a}]}}}
      Worker:
        replicas: 3
        template:
          spec:
            containers: [{name: a, resources: {limits: {nvidia.com/gpu: 2, cpu: 500m}}}]
)");
  EXPECT_EQ(job.spec.name, "train");
  ASSERT_EQ(job.spec.gang.sets.size(), 2U);
  EXPECT_EQ(job.spec.gang.sets[1].name, "worker");
  EXPECT_EQ(job.spec.gang.sets[1].count, 3);
  EXPECT_EQ(job.spec.gang.sets[1].pod.gpu.count, 2);
  EXPECT_EQ(job.spec.gang.sets[1].pod.requests.cpu.v, 500);
  EXPECT_THAT(job.command.objects, testing::HasSubstr(R"("data":{"version":"1.10","n":5}})"));
  EXPECT_EQ(job.command.sets.size(), 2U);
  const JobFile again = read_job_json(to_json(job), {});
  ASSERT_TRUE(again.ok()) << to_text(again.problems[0], "f");
  EXPECT_EQ(again.jobs[0].command, job.command);
  EXPECT_EQ(again.jobs[0].spec.gang, job.spec.gang);
}

TEST(JobFile, ObjectsMayBeLookedAfterInTheirOwnWay) {
  const Submission job = one(R"(
queue: vision
objects:
- {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a}]}}
hub: {cluster: east, api_version: v1, kind: ConfigMap, namespace: team, name: owner, uid: u-1,
      is_work: true}
care: {starts_when_made: true, ready_pods: 2, ready_within: 1m, ready_within_next: 2m,
       ready_within_most: 1h,
       ready_growth: exponential, requeues_most: 3, requeue_pause: 0s, keep_ended: true,
       requeues_failures: true, terminal_exit_codes: [3], retryable_exit_codes: [7, 9],
       keep_failed: 5m, waits_for_pods: true, pods_within: 30s, failed_within: 40s,
       ends_with_pods: true, takes_existing: true, missing_fails: true, force_after: 10m,
       leaves: [{resource: nvidia.com/gpu, label: health, value: EVICT}]}
)");
  EXPECT_EQ(job.command.hub,
            (model::HubObject{"east", "v1", "ConfigMap", "team", "owner", "u-1", true}));
  EXPECT_EQ(job.command.care,
            (model::ObjectCare{.starts_when_made = true,
                               .ready_pods = 2,
                               .ready_within = minutes(1),
                               .ready_within_next = minutes(2),
                               .ready_within_most = hours(1),
                               .ready_growth = model::ReadyGrowth::Exponential,
                               .requeues_most = 3,
                               .requeue_pause = Duration{0},
                               .requeues_failures = true,
                               .terminal_exit_codes = {3},
                               .retryable_exit_codes = {7, 9},
                               .keep_ended = true,
                               .keep_failed = minutes(5),
                               .waits_for_pods = true,
                               .pods_within = seconds(30),
                               .failed_within = seconds(40),
                               .ends_with_pods = true,
                               .takes_existing = true,
                               .missing_fails = true,
                               .force_after = minutes(10),
                               .leaves = {{"nvidia.com/gpu", "health", "EVICT"}}}));
  for (const std::string& text : {to_json(job), to_yaml(job)}) {
    const JobFile again = read_job_file(text, {});
    ASSERT_TRUE(again.ok()) << to_text(again.problems[0], "f") << text;
    EXPECT_EQ(again.jobs[0].command, job.command) << text;
  }
}

TEST(JobFile, APlainManifestIsOneJob) {
  const Submission job = one(R"(
apiVersion: v1
kind: Service
metadata: {name: web, labels: {muster.dev/queue: speech, muster.dev/priority: "70"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 2, template: {spec: {containers: [{name: a}]}}}
---
)");
  EXPECT_EQ(job.spec.name, "web");
  EXPECT_EQ(job.spec.queue, "speech");
  EXPECT_EQ(job.spec.priority, 70);
  ASSERT_EQ(job.spec.gang.sets.size(), 1U);
  EXPECT_EQ(job.spec.gang.sets[0].count, 2);
}

TEST(JobFile, WhatDoesNotGoWithObjectsIsNamed) {
  const auto problems = [](const std::string& yaml) {
    JobOptions options;
    options.default_queue = "q";
    std::string all;
    for (const Problem& problem : read_job_file(yaml, options).problems)
      all += to_text(problem, "f") + "\n";
    return all;
  };
  EXPECT_EQ(problems("{gpus: 1, objects: [{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: "
                     "{containers: [{name: a}]}}]}"),
            "f:1:8: gpus: does not go with objects: it stands in their pod templates\n");
  EXPECT_EQ(problems("objects: [{apiVersion: v1, kind: Pod, metadata: {name: p}}]"),
            "f:1:10: objects[0] (Pod p): it has no containers\n");
  EXPECT_EQ(problems("{command: x, care: {keep_ended: true}}"),
            "f:1:20: care: is for jobs of objects\n");
}

TEST(JobFile, AScriptRunsByItsFirstLineOrByTheShell) {
  EXPECT_EQ(one("script: |\n  echo a\n  echo b\n").command.argv,
            (Strings{"/bin/sh", "-c", "echo a\necho b\n"}));
  const Submission python = one("script: |\n  #!/usr/bin/env python3\n  print(1)\n");
  EXPECT_EQ(python.command.argv, Strings{"./muster-script"});
  EXPECT_EQ(python.command.files.at(0),
            (model::CommandFile{"muster-script", "#!/usr/bin/env python3\nprint(1)\n", true}));
}

TEST(JobFile, APodSetStartsAsItsJob) {
  const Submission job = one(R"(
command: serve
env: {A: 1, B: 1}
cpu: 2
tolerations: [{operator: Exists}]
pod_sets:
- {name: head}
- {name: workers, pods: 3, gpus: 1, command: [work], env: {B: 2}, cpu: 4}
- {name: watch, script: "#!/bin/sh\nsleep 1\n"}
)");
  ASSERT_EQ(job.spec.gang.sets.size(), 3U);
  EXPECT_EQ(job.spec.gang.sets[0].pod.requests.cpu.v, 2000);
  EXPECT_EQ(job.spec.gang.sets[1].count, 3);
  EXPECT_EQ(job.spec.gang.sets[1].pod.requests.cpu.v, 4000);
  EXPECT_EQ(job.spec.gang.sets[1].pod.tolerations.size(), 1U);
  EXPECT_EQ(job.command.argv_of(job.command.sets[0]), (Strings{"/bin/sh", "-c", "serve"}));
  EXPECT_EQ(job.command.argv_of(job.command.sets[1]), Strings{"work"});
  EXPECT_EQ(job.command.sets[1].environment, (model::Environment{{"B", "2"}}));
  EXPECT_EQ(job.command.argv_of(job.command.sets[2]), Strings{"./muster-script-watch"});
}

TEST(JobFile, AnArrayMakesAJobForEveryCombination) {
  const JobFile file = read_job_file(
      "name: t\narray: {over: {lr: [0.1, 0.01], seed: 1..3}}\ngpus: ${seed}\n"
      "command: run --lr ${lr} --seed ${seed} --i ${index} $HOME $${HOME}\n",
      options());
  ASSERT_EQ(names_of(file), (Strings{"t-0", "t-1", "t-2", "t-3", "t-4", "t-5"}));
  EXPECT_EQ(file.jobs[4].command.argv[2], "run --lr 0.01 --seed 2 --i 4 $HOME ${HOME}");
  EXPECT_EQ(file.jobs[4].spec.gang.sets[0].pod.gpu.count, 2);
  EXPECT_EQ(
      names_of(read_job_file("{name: 'a-${index}', command: x, array: {count: 2}}", options())),
      (Strings{"a-0", "a-1"}));
}

TEST(JobFile, WithoutATemplateReferencesAreLeftToTheShell) {
  EXPECT_EQ(one("command: echo ${HOME} ${X:-y}").command.argv[2], "echo ${HOME} ${X:-y}");
}

TEST(JobFile, ParametersHaveDefaultsTypesAndChoices) {
  const std::string yaml = R"(
parameters:
  lr: 0.1
  gpus: {type: integer, default: 1, choices: [1, 2, 4], help: GPUs of one pod}
  data:
name: train-${data}
command: run ${lr} ${data}
gpus: ${gpus}
)";
  JobOptions given = options();
  given.set = {{"data", "imagenet"}, {"gpus", "4"}};
  const JobFile file = read_job_file(yaml, given);
  ASSERT_EQ(names_of(file), Strings{"train-imagenet"});
  EXPECT_EQ(file.jobs[0].command.argv[2], "run 0.1 imagenet");
  EXPECT_EQ(file.jobs[0].spec.gang.sets[0].pod.gpu.count, 4);

  struct Case {
    std::map<std::string, std::string> set;
    Strings problems;
  };
  const std::vector<Case> cases = {
      {{}, {"f:5:3: parameters.data: has no default: give it with --set data=VALUE"}},
      {{{"data", "x"}, {"gpus", "3"}},
       {"f:4:3: parameters.gpus: --set gpus=3: not one of 1, 2, 4"}},
      {{{"data", "x"}, {"gpus", "many"}},
       {"f:4:3: parameters.gpus: --set gpus=many: not of type integer",
        "f:8:7: gpus: not a quantity: 'many'; write for example 500m, 1.5 or 2"}},
      {{{"dta", "x"}, {"data", "x"}}, {"f: --set dta: no such parameter; did you mean 'data'?"}},
  };
  for (const Case& c : cases) {
    JobOptions with = options();
    with.set = c.set;
    EXPECT_EQ(names_of(read_job_file(yaml, with)), c.problems);
  }
}

TEST(JobFile, SeveralDocumentsAndListsOfJobs) {
  EXPECT_EQ(names_of(read_job_file("{name: a, command: x}\n---\n{name: b, command: x}\n---\n",
                                   options())),
            (Strings{"a", "b"}));
  EXPECT_EQ(
      names_of(read_job_file("- {name: a, command: x}\n- {name: b, command: x}\n", options())),
      (Strings{"a", "b"}));
  EXPECT_EQ(names_of(read_job_file(
                "parameters: {n: 2}\njobs:\n- {name: 'a${n}', command: x}\n- {name: b, command: x, "
                "array: {count: \"${n}\"}}\n",
                options())),
            (Strings{"a2", "b-0", "b-1"}));
}

TEST(JobFile, DependenciesInsideTheFileAreByNameOthersById) {
  JobFile file = read_job_file(R"(
{name: prepare, command: x}
---
{name: train, command: x, array: {count: 2}, depends_on: prepare}
---
{name: report, command: x, depends_on: [train, job-77]}
---
{name: eval, command: x, array: {count: 2}, depends_on: ['train-${index}']}
)",
                               options());
  ASSERT_TRUE(file.problems.empty()) << names_of(file)[0];
  EXPECT_EQ(file.jobs[1].after, std::vector<std::size_t>{0});
  EXPECT_EQ(file.jobs[3].after, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(file.jobs[3].spec.depends_on, Strings{"job-77"});
  EXPECT_EQ(file.jobs[5].after, std::vector<std::size_t>{2});
  give_ids(file.jobs, Strings{"i0", "i1", "i2", "i3", "i4", "i5"});
  EXPECT_EQ(file.jobs[3].spec.depends_on, (Strings{"job-77", "i1", "i2"}));
  EXPECT_EQ(file.jobs[3].spec.id, "i3");
}

struct WrongFile {
  std::string yaml;
  Strings problems;
};
const std::vector<WrongFile> wrong_files = {
    {"", {"f: no job in it"}},
    {"name: a\n", {"f:1:1: 'command' is missing; give it or 'script'"}},
    {"{command: x, script: y}", {"f:1:1: command and script are both given; drop one of them"}},
    {"command: x\ncomand: y\n", {"f:2:1: unknown key 'comand'; did you mean 'command'?"}},
    {"command: []", {"f:1:10: command: is empty; give the program to run"}},
    {"command: {a: b}", {"f:1:10: command: is a map, not a text"}},
    {"{command: x, gpus: 1.5}", {"f:1:20: gpus: a share is of one GPU: write 0.5, or whole GPUs"}},
    {"{command: x, gpus: 17}", {"f:1:20: gpus: 17 is above 16"}},
    {"{command: x, gpu_type: A100}", {"f:1:24: gpu_type: is given without gpus"}},
    {"{command: x, pods: 2, min_pods: 3}", {"f:1:33: min_pods: 3 is above pods, which is 2"}},
    {"{command: x, memory: 4GB}",
     {"f:1:22: memory: unknown suffix 'GB' in '4GB'; write G for powers of 1000 or Gi for powers "
      "of 1024"}},
    {"{command: x, held: yes}", {"f:1:20: held: is neither true nor false: 'yes'"}},
    {"{command: x, deadline: tomorrow}",
     {"f:1:24: deadline: neither a time nor a duration: 'tomorrow'; write for example "
      "2026-07-01T08:00:00Z or 2h"}},
    {"{command: x, deadline: 2026-02-30T00:00:00Z}",
     {"f:1:24: deadline: not a time: '2026-02-30T00:00:00Z'; write for example "
      "2026-07-01T08:00:00Z"}},
    {"{command: x, start_after: 2h, deadline: 1h}", {"f:1:41: deadline: is before start_after"}},
    {"{command: x, workdir: data}", {"f:1:23: workdir: not an absolute path: 'data'"}},
    {"{command: x, files: [{path: ../a}]}",
     {"f:1:1: files[0].path: '../a' may not have empty parts, '.' or '..'"}},
    {"{command: x, env: {A: }}", {"f:1:23: env.A: is empty, not a text"}},
    {"{command: x, tolerations: [{operator: Exist}]}",
     {"f:1:39: tolerations[0].operator: unknown: 'Exist'; did you mean 'Exists'?"}},
    {"{command: x, pod_sets: [{pods: 2}]}", {"f:1:25: pod_sets[0]: 'name' is missing"}},
    {"{command: x, clusters: [a], exclude_clusters: [a]}",
     {"f:1:47: exclude_clusters: 'a' is in clusters too"}},
    {"{command: x, array: {}}", {"f:1:21: array: needs either count or over"}},
    {"{command: x, array: {over: {a: 5..1}}}",
     {"f:1:32: array.over.a: the range ends before it begins"}},
    {"{command: x, array: {over: {a: 7}}}",
     {"f:1:32: array.over.a: neither a list nor a range: '7'; write [a, b] or 1..5"}},
    {"{command: x, array: {over: {index: [1]}}}",
     {"f:1:29: array.over.index: not a name for a value; use letters, digits and _, and not "
      "'index'"}},
    {"{command: x, array: {count: 200000}}", {"f:1:21: array: more than 100000 jobs in all"}},
    {"{command: '${lrr}', array: {over: {lr: [1, 2]}}}",
     {"f:1:11: command: unknown parameter 'lrr'; did you mean 'lr'?"}},
    {"{command: '${HOME}', array: {count: 2}}",
     {"f:1:11: command: unknown parameter 'HOME'; write $${HOME} to leave it to the shell"}},
    {"{command: '${A:-b}', array: {count: 2}}",
     {"f:1:11: command: '${A:-b}' is not a reference to a parameter; write $${A:-b} to leave it "
      "as it is"}},
    {"{command: '${a', array: {count: 2}}",
     {"f:1:11: command: '${' without '}'; write $${ for a plain ${"}},
    {"{parameters: {a: {type: integer, default: x}}, command: y}",
     {"f:1:18: parameters.a: 'x' does not fit type integer"}},
    {"{parameters: {a: {choices: [1, 2], default: 3}}, command: y}",
     {"f:1:18: parameters.a: the default '3' is none of the choices"}},
    {"{name: a, command: x, depends_on: a}", {"f:1:1: depends_on: job 'a' cannot wait for itself"}},
    {"{name: a, command: x, depends_on: b}\n---\n{name: b, command: x, depends_on: a}",
     {"f:1:1: depends_on: job 'a' waits, through others, for itself"}},
    {"{name: a, command: x}\n---\n{name: a, command: x}\n---\n{name: b, command: x, depends_on: "
     "a}",
     {"f:5:1: depends_on: job 'b' names 'a', and two jobs of the file are called so"}},
};

TEST(JobFile, WrongFilesAreNamedWithPlaceAndPath) {
  for (const WrongFile& c : wrong_files)
    EXPECT_EQ(names_of(read_job_file(c.yaml, options())), c.problems) << c.yaml;
  JobOptions without = options();
  without.default_queue.clear();
  EXPECT_EQ(names_of(read_job_file("{name: a, command: x}", without))[0],
            "f:1:1: 'queue' is missing, and there is no default queue");
}

TEST(JobFile, ExpansionStopsAtItsLimits) {
  JobOptions small = options();
  small.limits.expanded_bytes = 5000;
  EXPECT_EQ(names_of(read_job_file("{command: x, array: {count: 100}}", small))[0],
            "f:1:1: the jobs are larger than 5000 bytes in all");
  small = options();
  small.limits.jobs = 2;
  EXPECT_EQ(names_of(read_job_file("[{command: x}, {command: x}, {command: x}]", small))[0],
            "f:1:30: [2]: more than 2 jobs in all");
  small = options();
  small.limits.dependencies = 10;
  EXPECT_EQ(names_of(read_job_file("{name: a, command: x, array: {count: 5}}\n---\n"
                                   "{name: b, command: x, array: {count: 5}, depends_on: a}",
                                   small))[0],
            "f:3:1: depends_on: job 'b-2' has one dependency too many for a file");
  const std::string doubling = "parameters: {p: '" + std::string(1000, 'x') + "'}\ncommand: '" +
                               [] {
                                 std::string text;
                                 for (int i = 0; i < 2000; ++i) text += "${p}";
                                 return text;
                               }() +
                               "'\n";
  EXPECT_EQ(names_of(read_job_file(doubling, options()))[0],
            "f:2:10: command: longer than 1048576 bytes after replacement");
}

TEST(JobFile, AJobThatGrowsByReplacementStopsAtALimit) {
  std::string yaml = "parameters: {p: '" + std::string(100'000, 'x') + "'}\ncommand: x\nenv:\n";
  for (int i = 0; i < 300; ++i) yaml += fmt::format("  V{}: ${{p}}\n", i);
  EXPECT_EQ(names_of(read_job_file(yaml, options())).at(0),
            "f:171:9: env.V167: the job is larger than 16777216 bytes after replacement");
}

TEST(JobFile, TheExamplesOfTheDocumentsAreRead) {
  std::ifstream in("docs/job-files.md", std::ios::binary);
  std::string line;
  std::string block;
  bool inside = false;
  int read = 0;
  while (std::getline(in, line)) {
    const bool fence = line.find("```") != std::string::npos;
    if (fence && inside) {
      JobOptions given = options();
      if (block.find("parameters:") != std::string::npos) given.set = {{"data", "x"}};
      const JobFile file = read_job_file(block, given);
      EXPECT_TRUE(file.ok()) << to_text(file.problems.at(0), "example") << "\n" << block;
      ++read;
    }
    if (fence) inside = !inside;
    block = fence ? "" : block + line + "\n";
  }
  EXPECT_EQ(read, 4);
}

TEST(JobFile, JsonIsTheSameDocument) {
  const std::string json =
      R"({"jobs": [{"name": "a", "command": ["echo", "\u00e9\n"], "gpus": 2, "env": {"N": 1},
         "cpu": "500m", "priority": null},
         {"name": "b", "command": "x", "depends_on": ["a"]}]})";
  const JobFile file = read_job_json(json, options());
  ASSERT_EQ(names_of(file), (Strings{"a", "b"}));
  EXPECT_EQ(file.jobs[0].command.argv, (Strings{"echo", "\xc3\xa9\n"}));
  EXPECT_EQ(file.jobs[0].spec.gang.sets[0].pod.requests.cpu.v, 500);
  EXPECT_EQ(file.jobs[1].after, std::vector<std::size_t>{0});

  struct Case {
    std::string json;
    std::string problem;
  };
  const std::vector<Case> cases = {
      {R"({"command": "x", "pods": "2"})",
       "f: pods: is text, not a whole number: '2'; drop the quotes"},
      {R"({"jobs": [{"command": "x"}, {"command": "x", "gpu": 1}]})",
       "f: jobs[1]: unknown key 'gpu'; did you mean 'gpus'?"},
      {R"({"command": "x", "command": "y"})", "f: key 'command' is there twice"},
      {R"({"command": "x",})", "f:1:17: not JSON: syntax error"},
      {"{\"command\": \"x\"\n} x", "f:2:3: not JSON: extra data"},
      {R"({"command": "a\u0000b"})", "f: command: contains a NUL character"},
      {"\"x\"", "f: is a single value, not a map of keys and values"},
  };
  for (const Case& c : cases)
    EXPECT_EQ(names_of(read_job_json(c.json, options())).at(0), c.problem) << c.json;
}

TEST(JobFile, TheSchemaInTheDocumentsIsCurrent) {
  std::ifstream in("docs/job.schema.json", std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_EQ(text.str(), job_schema())
      << "write it again: muster config schema --jobs > docs/job.schema.json";
}

TEST(JobFile, SettingsAreNameAndValue) {
  EXPECT_EQ(*parse_setting("a=b=c"), (std::pair<std::string, std::string>("a", "b=c")));
  for (const std::string_view bad : {"a", "=b", "1a=b", "a-b=c"})
    EXPECT_FALSE(parse_setting(bad).ok()) << bad;
}

}  // namespace
}  // namespace muster::config
