// What is written reads back to the same: trees, job documents, and whole configurations.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/prng.h"
#include "config/job_file.h"
#include "config/node.h"

namespace muster::config {
namespace {

constexpr std::array<std::string_view, 44> texts = {"a",
                                                    "",
                                                    "a b",
                                                    "no",
                                                    "True",
                                                    "null",
                                                    "~",
                                                    "1.10",
                                                    "0x1f",
                                                    "1e3",
                                                    "-5",
                                                    ".5",
                                                    "12:30:45",
                                                    "- a",
                                                    "-",
                                                    "? a",
                                                    "#x",
                                                    "a #b",
                                                    "a: b",
                                                    "a:",
                                                    ":a",
                                                    "[a]",
                                                    "{a}",
                                                    "a, b",
                                                    "&a",
                                                    "*a",
                                                    "!a",
                                                    "|",
                                                    ">",
                                                    "%a",
                                                    "@a",
                                                    "`a`",
                                                    "'q'",
                                                    "\"dq\" \\ ",
                                                    "${HOME} $${x}",
                                                    " lead",
                                                    "trail ",
                                                    "\ttab\t",
                                                    "one\ntwo\n",
                                                    "one\n\n  two",
                                                    "\n\nlate\n\n",
                                                    "cr\r\nlf",
                                                    "\xc3\xa9\xe2\x80\xa8\xc2\x85\xf0\x9f\x98\x80",
                                                    "--- x\n...\n"};

class Random {
 public:
  explicit Random(std::uint64_t seed) : prng_(seed) {}

  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(prng_.below(static_cast<std::uint64_t>(n)));
  }
  bool chance(std::int64_t one_in) { return below(one_in) == 0; }
  std::string text() {
    std::string out(texts[static_cast<std::size_t>(below(texts.size()))]);
    if (chance(4)) out += texts[static_cast<std::size_t>(below(texts.size()))];
    if (chance(20)) out += static_cast<char>(1 + below(31));
    return out;
  }
  std::string word() { return fmt::format("w{}", below(1000)); }
  std::vector<std::string> words() {  // different ones
    std::vector<std::string> out;
    for (std::int64_t i = below(4); i > 0; --i) out.push_back(fmt::format("w{}-{}", i, below(9)));
    return out;
  }
  std::map<std::string, std::string> labels() {
    std::map<std::string, std::string> out;
    for (std::int64_t i = below(3); i > 0; --i) out[chance(3) ? "k." + text() : word()] = text();
    return out;
  }
  Duration duration() { return Duration{chance(2) ? 0 : below(1'000'000'000)}; }

 private:
  Prng prng_;
};

Node random_tree(Random& random, Tree& tree, int depth) {
  if (depth == 0 || random.chance(3)) {
    return random.chance(3) ? tree.plain(std::to_string(random.below(100)))
                            : tree.text(random.text());
  }
  if (random.chance(2)) {
    std::vector<Node> items;
    for (std::int64_t i = random.below(5); i > 0; --i)
      items.push_back(random_tree(random, tree, depth - 1));
    return tree.list(items);
  }
  MapMaker map(tree);
  for (std::int64_t i = random.below(5); i > 0; --i)
    map.add(fmt::format("{}{}", i, random.text()), random_tree(random, tree, depth - 1));
  return map.done();
}

TEST(RoundTrip, EveryTreeReadsBackFromYamlAndJson) {
  Random random(1);
  for (int i = 0; i < 800; ++i) {
    Tree tree;
    const Node root = random_tree(random, tree, 4);
    const std::string expected = to_json(root);
    const std::string yaml = to_yaml(root);
    const Parsed from_yaml = parse_yaml(yaml);
    ASSERT_TRUE(from_yaml.problems.empty()) << from_yaml.problems[0].message << "\n" << yaml;
    ASSERT_EQ(from_yaml.roots.size(), 1U) << yaml;
    ASSERT_EQ(to_json(from_yaml.roots[0]), expected) << yaml;
    const Parsed from_json = parse_json(to_json(root, JsonStyle::Compact));
    ASSERT_TRUE(from_json.problems.empty()) << expected;
    ASSERT_EQ(to_json(from_json.roots[0]), expected);
  }
}

model::PodShape random_pod(Random& random) {
  model::PodShape pod;
  pod.requests.cpu.v = random.below(10'000);
  pod.requests.memory.v = random.below(1'000'000) * (random.chance(2) ? 1024 : 1);
  if (random.chance(3)) pod.requests.extended["rdma/hca"] = 1 + random.below(8);
  pod.gpu.count = static_cast<int>(random.below(4));
  if (pod.gpu.count == 1 && random.chance(2)) pod.gpu.each.v = 1 + random.below(999);
  if (pod.gpu.count == 1 && pod.gpu.each.v == 1000 && random.chance(2))
    pod.gpu.memory_each.v = 1 + random.below(1'000'000'000);
  if (pod.gpu.count > 0) pod.gpu_types = random.words();
  pod.node_selector = random.labels();
  pod.labels = random.labels();
  if (random.chance(3))
    pod.required_affinity = {{{{"k", model::Operator::In, {random.text()}}}, {}}};
  if (random.chance(3)) pod.preferred_affinity = {{7, {{{"k", model::Operator::Gt, {"5"}}}, {}}}};
  if (random.chance(3)) pod.tolerations = {{"a", false, random.text(), ""}, {"", true, "", ""}};
  if (random.chance(3)) pod.pod_affinity = {{{random.labels(), {}}, "zone"}};
  if (random.chance(3))
    pod.pod_anti_affinity = {{{{}, {{"k", model::Operator::DoesNotExist, {}}}}, "host"}};
  if (random.chance(3))
    pod.spread = {
        {static_cast<int>(1 + random.below(3)), "zone", {random.labels(), {}}, random.chance(2)}};
  if (random.chance(3)) pod.host_ports = {80, 443};
  if (random.chance(3)) pod.volume_zones = random.words();
  return pod;
}

std::vector<std::string> random_argv(Random& random) {
  if (random.chance(3)) return {"/bin/sh", "-c", "x" + random.text()};
  std::vector<std::string> argv = {random.word()};
  for (std::int64_t i = random.below(3); i > 0; --i) argv.push_back(random.text());
  return argv;
}

model::Container random_container(Random& random) {
  model::Container container;
  if (random.chance(2)) container.image = "registry/" + random.word() + ":1.10";
  if (random.chance(3)) container.pull_policy = "Never";
  if (random.chance(3)) container.ns = random.word();
  if (random.chance(3)) container.service_account = random.word();
  for (const std::string& word : random.words()) {
    container.pull_secrets.push_back(word);
    Tree tree;
    container.volumes.push_back(to_json(
        MapMaker(tree).add("name", word).add("hostPath", random_tree(random, tree, 2)).done(),
        JsonStyle::Compact));
    container.mounts.push_back(
        {word, "/m" + random.text(), random.chance(2) ? random.text() : "", random.chance(2)});
  }
  return container;
}

Submission random_job(Random& random) {
  Submission job;
  model::JobSpec& spec = job.spec;
  spec.name = random.chance(2) ? random.word() : "n" + random.text();
  spec.queue = random.word();
  spec.extra_queues = random.words();
  spec.priority = static_cast<int>(random.below(2000) - 1000);
  spec.run_limit = random.duration();
  if (random.chance(3)) spec.start_after = Time{random.below(4'000'000'000'000)};
  if (random.chance(3)) spec.deadline = spec.start_after + Duration{1 + random.below(1'000'000)};
  spec.depends_on = random.words();
  spec.held = random.chance(2);
  model::Gang& gang = spec.gang;
  const bool simple = random.chance(2);
  for (std::int64_t i = simple ? 0 : random.below(3); i >= 0; --i) {
    model::PodSet set;
    set.name = simple ? "main" : fmt::format("s{}", i);
    set.count = static_cast<int>(1 + random.below(10));
    set.min_count = static_cast<int>(random.below(set.count + 1));
    set.pods_per_node = static_cast<int>(random.below(3));
    set.pod = random_pod(random);
    model::CommandSet runs{set.name, {}, {}, set.pod.requests.cpu, set.pod.requests.memory};
    if (!simple && random.chance(2)) runs.argv = random_argv(random);
    if (!simple && random.chance(2)) runs.environment["SET_" + set.name] = random.text();
    job.command.sets.push_back(std::move(runs));
    gang.sets.push_back(std::move(set));
  }
  if (random.chance(3)) gang.topology = model::TopologyDomain{"rack", random.chance(2)};
  if (random.chance(3)) gang.pool = random.word();
  gang.clusters = random.words();
  if (gang.clusters.empty()) gang.excluded_clusters = random.words();
  gang.data_label = random.text();
  gang.preemptible = random.chance(2);
  gang.min_runtime = random.duration();
  gang.max_retries = static_cast<int>(random.below(4));
  if (random.chance(2)) gang.on_cluster_loss = model::OnClusterLoss::Rerun;
  model::Command& command = job.command;
  command.name = spec.name;
  command.argv = random_argv(random);
  for (std::int64_t i = random.below(3); i > 0; --i)
    command.environment[fmt::format("V{}", i)] = random.text();
  if (random.chance(3)) {
    command.files.push_back({"conf/x", random.text(), random.chance(2)});
  }
  if (random.chance(3) && simple) {
    command.argv = {"./muster-script"};
    command.files.push_back({"muster-script", "#!/bin/x\n" + random.text(), true});
  } else if (random.chance(3)) {
    command.working_dir = "/w" + random.text();
  }
  command.stop_grace = random.duration();
  job.labels = random.labels();
  command.container = random_container(random);
  return job;
}

void expect_same(const JobFile& file, const Submission& job, const std::string& text) {
  ASSERT_TRUE(file.problems.empty()) << to_text(file.problems[0], "f") << "\n" << text;
  ASSERT_EQ(file.jobs.size(), 1U);
  const model::JobSpec& a = file.jobs[0].spec;
  const model::JobSpec& b = job.spec;
  ASSERT_EQ(a.name, b.name) << text;
  ASSERT_EQ(a.queue, b.queue) << text;
  ASSERT_EQ(a.extra_queues, b.extra_queues) << text;
  ASSERT_EQ(a.priority, b.priority) << text;
  ASSERT_EQ(a.run_limit, b.run_limit) << text;
  ASSERT_EQ(a.start_after, b.start_after) << text;
  ASSERT_EQ(a.deadline, b.deadline) << text;
  ASSERT_EQ(a.depends_on, b.depends_on) << text;
  ASSERT_EQ(a.held, b.held) << text;
  ASSERT_EQ(a.gang, b.gang) << text;
  ASSERT_EQ(file.jobs[0].command, job.command) << text;
  ASSERT_EQ(file.jobs[0].labels, job.labels) << text;
}

TEST(RoundTrip, EveryJobReadsBackFromItsDocument) {
  Random random(2);
  for (int i = 0; i < 400; ++i) {
    const Submission job = random_job(random);
    const std::string yaml = to_yaml(job);
    ASSERT_NO_FATAL_FAILURE(expect_same(read_job_file(yaml, {}), job, yaml));
    const std::string json = to_json(job);
    ASSERT_NO_FATAL_FAILURE(expect_same(read_job_json(json, {}), job, json));
  }
}

}  // namespace
}  // namespace muster::config
