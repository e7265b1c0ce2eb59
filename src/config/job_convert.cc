#include "config/job_convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "config/container_fields.h"
#include "config/job_fields.h"
#include "config/job_objects.h"

namespace muster::config {
namespace {

constexpr std::string_view script_file = "muster-script";
constexpr std::string_view only_set = "main";

std::vector<std::string> shell(std::string text) { return {"/bin/sh", "-c", std::move(text)}; }

bool is_shell(const std::vector<std::string>& argv) {
  return argv.size() == 3 && argv[0] == "/bin/sh" && argv[1] == "-c" && !argv[2].empty();
}

std::string script_name(const std::string& set) {
  return set.empty() ? std::string(script_file) : fmt::format("{}-{}", script_file, set);
}

/// What the pods run. A script with a first line of its own becomes a file beside the process;
/// any other is for the shell.
std::vector<std::string> argv_of(const PodDoc& pod, const std::string& set,
                                 model::Command& command) {
  if (pod.command) return pod.command->shell ? shell(pod.command->words[0]) : pod.command->words;
  if (!pod.script) return {};
  if (!pod.script->starts_with("#!")) return shell(*pod.script);
  const std::string file = script_name(set);
  command.files.push_back({file, *pod.script, true});
  return {"./" + file};
}

model::GpuAsk gpu_of(const PodDoc& pod) {
  model::GpuAsk gpu;
  gpu.count = static_cast<int>((pod.gpus.milli + 999) / 1000);
  gpu.each.v = pod.gpus.milli > 0 && pod.gpus.milli < 1000 ? pod.gpus.milli : 1000;
  gpu.memory_each = pod.gpu_memory;
  if (pod.gpu_memory.v > 0 && gpu.count == 0) gpu.count = 1;
  return gpu;
}

model::PodSet set_of(const PodDoc& doc, std::string name) {
  model::PodSet set;
  set.name = std::move(name);
  set.count = doc.pods;
  set.min_count = doc.min_pods;
  set.pods_per_node = doc.pods_per_node;
  model::PodShape& pod = set.pod;
  pod.requests = {doc.cpu, doc.memory, doc.resources.of};
  pod.gpu = gpu_of(doc);
  pod.gpu_types = doc.gpu_type.list;
  pod.node_selector = doc.node_selector;
  pod.required_affinity = doc.affinity.node.required.terms;
  pod.preferred_affinity = doc.affinity.node.preferred;
  for (const TolerationEntry& entry : doc.tolerations)
    pod.tolerations.push_back(toleration_of(entry));
  pod.labels = doc.pod_labels;
  pod.pod_affinity = doc.affinity.pod.required;
  pod.pod_anti_affinity = doc.affinity.pod_anti.required;
  for (const SpreadDoc& spread : doc.spread) {
    pod.spread.push_back({spread.max_skew, spread.topology_key, spread.selector,
                          spread.otherwise == SpreadDoc::Else::DoNotSchedule});
  }
  pod.host_ports = doc.host_ports;
  pod.volume_zones = doc.volume_zones;
  return set;
}

/// "python train.py" is called python, "/opt/run.sh" run.sh.
std::string name_from(const model::Command& command) {
  if (command.sets.empty()) return "job";  // objects that do not read
  const std::vector<std::string>& argv = command.argv.empty() ? command.sets[0].argv : command.argv;
  if (argv.empty()) return "job";
  const std::vector<std::string_view> words = split_words(is_shell(argv) ? argv[2] : argv[0]);
  if (words.empty()) return "job";
  const std::string_view word = words[0].substr(words[0].rfind('/') + 1);
  const std::string_view line = word.substr(0, word.find('\n'));
  return line.empty() ? "job" : std::string(line.substr(0, 60));
}

class Converter {
 public:
  Converter(const Node& node, Reader& reader, const JobOptions& options)
      : node_(node), reader_(reader), options_(options) {}

  Submission run(JobDoc doc) {
    const std::size_t before = reader_.problem_count();
    Submission job;
    job.line = node_.line;
    if (doc.objects.empty()) {
      if (doc.hub) problem("hub", "is for jobs of objects");
      if (doc.care != model::ObjectCare{}) problem("care", "is for jobs of objects");
      fill_command(doc, job);
      fill_sets(doc, job.spec.gang);
    } else {
      fill_objects(doc, job);
    }
    fill_gang(doc, job.spec.gang);
    fill_spec(doc, job.spec);
    if (job.spec.name.empty()) job.spec.name = name_from(job.command);
    job.command.name = job.spec.name;
    job.labels = std::move(doc.labels);
    if (reader_.problem_count() == before) validate(job);
    return job;
  }

 private:
  void problem(std::string_view key, std::string message) {
    const Node* at = node_.find(key);
    const Reader::Step step(reader_, key);
    reader_.problem(at == nullptr ? node_ : *at, std::move(message));
  }

  void check_pod(const PodDoc& doc, bool is_whole_job) {
    if (doc.command && doc.script)
      reader_.problem(node_, "command and script are both given; drop one of them");
    if (is_whole_job && !doc.command && !doc.script)
      reader_.problem(node_, "'command' is missing; give it or 'script'");
    if (doc.min_pods > doc.pods)
      problem("min_pods", fmt::format("{} is above pods, which is {}", doc.min_pods, doc.pods));
    if (doc.gpu_memory.v > 0 && doc.gpus.milli != 0 && doc.gpus.milli != 1000)
      problem("gpu_memory", "is a share of one GPU: drop gpus");
    if (!doc.gpu_type.list.empty() && doc.gpus.milli == 0 && doc.gpu_memory.v == 0)
      problem("gpu_type", "is given without gpus");
    for (const auto& [resource, amount] : doc.resources.of) {
      if (resource.find('/') == std::string::npos)
        problem("resources", fmt::format("'{}' belongs beside resources, not in it", resource));
    }
  }

  void fill_command(JobDoc& doc, Submission& job) {
    model::Command& command = job.command;
    command.files = std::move(doc.files);
    command.environment = doc.env;
    command.working_dir = doc.workdir;
    command.stop_grace = doc.stop_grace;
    fill_container(doc, command.container);
    if (!doc.workdir.empty() && doc.workdir[0] != '/')
      problem("workdir", fmt::format("not an absolute path: '{}'", doc.workdir.substr(0, 60)));
    check_pod(doc, doc.pod_sets.empty());
    command.argv = argv_of(doc, "", command);
    if (doc.pod_sets.empty()) {
      command.sets.push_back({std::string(only_set), {}, {}, doc.cpu, doc.memory});
    }
    for (const PodSetDoc& set : doc.pod_sets) fill_set(doc, set, command);
    for (const model::CommandFile& file : command.files) {
      if (file.path.starts_with(script_file) && !doc.workdir.empty())
        problem("workdir", "a script with #! runs in the pod's own folder; drop workdir");
    }
  }
  void fill_container(JobDoc& doc, model::Container& container) {
    container.image = doc.image;
    container.pull_policy = policy_word(doc.image_pull_policy);
    container.ns = doc.kube_namespace;
    container.service_account = std::move(doc.service_account);
    container.pull_secrets = std::move(doc.pull_secrets);
    for (VolumeDoc& volume : doc.volumes) container.volumes.push_back(std::move(volume.json));
    container.mounts = std::move(doc.mounts);
  }
  void fill_set(const JobDoc& doc, const PodSetDoc& set, model::Command& command) {
    check_pod(set, true);
    model::CommandSet out{set.name, {}, {}, set.cpu, set.memory};
    if (set.image != doc.image) out.image = set.image;
    if (set.command != doc.command || set.script != doc.script)
      out.argv = argv_of(set, set.name, command);
    for (const auto& [name, value] : set.env) {
      const auto same = doc.env.find(name);
      if (same == doc.env.end() || same->second != value) out.environment[name] = value;
    }
    command.sets.push_back(std::move(out));
  }

  static void fill_sets(const JobDoc& doc, model::Gang& gang) {
    if (doc.pod_sets.empty()) gang.sets.push_back(set_of(doc, std::string(only_set)));
    for (const PodSetDoc& set : doc.pod_sets) gang.sets.push_back(set_of(set, set.name));
  }

  /// What pods need and run stands in the objects.
  void fill_objects(JobDoc& doc, Submission& job) {
    std::vector<std::string_view> foreign = keys_of<PodDoc>();
    foreign.insert(foreign.end(), {"pod_sets", "workdir", "files", "stop_grace"});
    const std::vector<std::string_view>& container = keys_of<ContainerDoc>();
    foreign.insert(foreign.end(), container.begin(), container.end());
    for (const std::string_view key : foreign) {
      if (node_.find(key) != nullptr && node_.find("objects") != nullptr)
        problem(key, "does not go with objects: it stands in their pod templates");
    }
    fill_container(doc, job.command.container);
    auto read = read_listed(doc.objects);
    if (!read) {
      const Node* at = node_.find("objects");  // the message names the place in it
      return reader_.problem(at == nullptr ? node_ : *at, read.error().message);
    }
    job.command.objects = std::move(read->json);
    job.command.hub = std::move(doc.hub);
    job.command.care = doc.care;
    for (const model::PodSet& set : read->sets)
      job.command.sets.push_back({set.name, {}, {}, {}, {}});
    job.spec.gang.sets = std::move(read->sets);
    job.spec.gang.kinds = std::move(read->kinds);
    if (doc.name.empty()) doc.name = std::move(read->name);
    if (!doc.queue && !read->queue.empty()) doc.queue = std::move(read->queue);
    if (!doc.priority) doc.priority = read->priority;
  }

  void fill_gang(const JobDoc& doc, model::Gang& gang) {
    if (doc.topology)
      gang.topology = model::TopologyDomain{doc.topology->key, doc.topology->required};
    gang.pool = doc.pool;
    gang.clusters = doc.clusters.list;
    gang.excluded_clusters = doc.exclude_clusters.list;
    for (const std::string& cluster : gang.excluded_clusters) {
      if (std::find(gang.clusters.begin(), gang.clusters.end(), cluster) != gang.clusters.end())
        problem("exclude_clusters", fmt::format("'{}' is in clusters too", cluster));
    }
    gang.data_label = doc.data;
    gang.preemptible = doc.preemptible;
    gang.min_runtime = doc.min_runtime;
    gang.on_cluster_loss = doc.on_cluster_loss;
    gang.max_retries = doc.max_retries;
  }

  void fill_spec(JobDoc& doc, model::JobSpec& spec) {
    spec.name = std::move(doc.name);
    spec.queue = doc.queue.value_or(options_.default_queue);
    if (spec.queue.empty())
      reader_.problem(node_, "'queue' is missing, and there is no default queue");
    spec.extra_queues = std::move(doc.extra_queues);
    spec.priority = doc.priority.value_or(options_.default_priority);
    spec.run_limit = doc.run_limit;
    if (doc.start_after) spec.start_after = moment(*doc.start_after);
    if (doc.deadline) spec.deadline = moment(*doc.deadline);
    if (doc.start_after && doc.deadline && spec.deadline < spec.start_after)
      problem("deadline", "is before start_after");
    spec.depends_on = std::move(doc.depends_on.list);
    spec.held = doc.held;
  }
  Time moment(const When& when) const {
    if (when.at) return *when.at;
    const Time time = options_.now + when.in;
    return time.is_never() ? Time::never() : time;
  }

  /// What the model demands beyond the document's own rules.
  void validate(Submission& job) {
    job.spec.id = "-";
    if (const Status status = model::validate(job.spec); !status)
      reader_.problem(node_, status.error());
    else if (const Status runs = model::validate(job.command); !runs)
      reader_.problem(node_, runs.error());
    job.spec.id.clear();
  }

  const Node& node_;
  Reader& reader_;
  const JobOptions& options_;
};

// ---- and back

/// Takes the script's file out of the command if it is one.
void say_what_runs(const std::vector<std::string>& argv, const std::string& set,
                   std::vector<model::CommandFile>& files, PodDoc& doc) {
  if (argv.empty()) return;
  const std::string name = script_name(set);
  if (argv.size() == 1 && argv[0] == "./" + name) {
    const auto file = std::find_if(files.begin(), files.end(), [&](const model::CommandFile& f) {
      return f.path == name && f.executable;
    });
    if (file != files.end()) {
      doc.script = std::move(file->content);
      files.erase(file);
      return;
    }
  }
  doc.command = is_shell(argv) ? RunDoc{true, {argv[2]}} : RunDoc{false, argv};
}

void describe(const model::PodSet& set, PodDoc& doc) {
  const model::PodShape& pod = set.pod;
  doc.pods = set.count;
  doc.min_pods = set.min_count;
  doc.pods_per_node = set.pods_per_node;
  doc.cpu = pod.requests.cpu;
  doc.memory = pod.requests.memory;
  doc.resources.of = pod.requests.extended;
  const bool share = pod.gpu.count == 1 && pod.gpu.each.v < 1000;
  doc.gpus.milli = share ? pod.gpu.each.v : std::int64_t{pod.gpu.count} * 1000;
  doc.gpu_memory = pod.gpu.memory_each;
  if (doc.gpu_memory.v > 0) doc.gpus.milli = 0;
  doc.gpu_type.list = pod.gpu_types;
  doc.node_selector = pod.node_selector;
  doc.affinity.node = {{pod.required_affinity}, pod.preferred_affinity};
  doc.affinity.pod.required = pod.pod_affinity;
  doc.affinity.pod_anti.required = pod.pod_anti_affinity;
  for (const model::Toleration& t : pod.tolerations) doc.tolerations.push_back(entry_of(t));
  for (const model::Spread& spread : pod.spread) {
    doc.spread.push_back(
        {spread.max_skew, spread.topology_key,
         spread.required ? SpreadDoc::Else::DoNotSchedule : SpreadDoc::Else::ScheduleAnyway,
         spread.selector});
  }
  doc.pod_labels = pod.labels;
  doc.host_ports = pod.host_ports;
  doc.volume_zones = pod.volume_zones;
}

void describe(const model::Container& container, JobDoc& doc) {
  doc.image = container.image;
  doc.image_pull_policy = policy_of(container.pull_policy);
  doc.kube_namespace = container.ns;
  doc.service_account = container.service_account;
  doc.pull_secrets = container.pull_secrets;
  for (const std::string& volume : container.volumes) doc.volumes.push_back({{volume}});
  doc.mounts = container.mounts;
}

}  // namespace

Submission to_submission(JobDoc doc, const Node& node, Reader& reader, const JobOptions& options) {
  return Converter(node, reader, options).run(std::move(doc));
}

JobDoc document_of(const Submission& job) {
  JobDoc doc;
  const model::JobSpec& spec = job.spec;
  const model::Gang& gang = spec.gang;
  doc.name = spec.name;
  doc.queue = spec.queue;
  doc.extra_queues = spec.extra_queues;
  doc.priority = spec.priority;
  doc.workdir = job.command.working_dir;
  doc.files = job.command.files;
  doc.env = job.command.environment;
  doc.stop_grace = job.command.stop_grace;
  describe(job.command.container, doc);
  doc.labels = job.labels;
  doc.objects = split_listed(job.command.objects);
  doc.hub = job.command.hub;
  doc.care = job.command.care;
  const bool is_command = doc.objects.empty();
  say_what_runs(job.command.argv, "", doc.files, doc);
  const bool simple = gang.sets.size() == 1 && gang.sets[0].name == only_set &&
                      job.command.sets[0].argv.empty() && job.command.sets[0].image.empty() &&
                      job.command.sets[0].environment.empty();
  if (simple && is_command) describe(gang.sets[0], doc);
  for (std::size_t i = 0; i < gang.sets.size() && !simple && is_command; ++i) {
    PodSetDoc& set = doc.pod_sets.emplace_back();
    set.name = gang.sets[i].name;
    describe(gang.sets[i], set);
    set.env = job.command.sets[i].environment;
    set.image = job.command.sets[i].image;
    say_what_runs(job.command.sets[i].argv, set.name, doc.files, set);
  }
  if (gang.topology) doc.topology = TopologyDoc{gang.topology->key, gang.topology->required};
  doc.pool = gang.pool;
  doc.clusters.list = gang.clusters;
  doc.exclude_clusters.list = gang.excluded_clusters;
  doc.data = gang.data_label;
  doc.run_limit = spec.run_limit;
  doc.preemptible = gang.preemptible;
  doc.min_runtime = gang.min_runtime;
  doc.max_retries = gang.max_retries;
  if (spec.start_after.ms > 0) doc.start_after = When{spec.start_after, {}};
  if (!spec.deadline.is_never()) doc.deadline = When{spec.deadline, {}};
  doc.depends_on.list = spec.depends_on;
  doc.on_cluster_loss = gang.on_cluster_loss;
  doc.held = spec.held;
  return doc;
}

}  // namespace muster::config
