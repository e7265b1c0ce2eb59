// The schemas in docs/ and the readers say the same: the same keys, and the same verdict about
// documents, told by a small validator of the keywords that the schemas use.
#include "config/schema.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/config_fields.h"
#include "config/job_fields.h"
#include "config/job_file.h"

namespace muster::config {
namespace {

bool is_number(const Node& node) {
  const std::string text(node.text);
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return node.kind == Node::Kind::Plain && !text.empty() && *end == '\0';
}

class Validator {
 public:
  explicit Validator(const std::string& schema) : parsed_(parse_json(schema)) {}

  bool accepts(const Node& value) const { return accepts(parsed_.roots.at(0), value); }
  const Node& definition(std::string_view name) const {
    return *parsed_.roots.at(0).find("$defs")->find(name);
  }

 private:
  static bool has_type(std::string_view type, const Node& value) {
    const bool truth =
        value.kind == Node::Kind::Plain && (value.text == "true" || value.text == "false");
    if (type == "object") return value.kind == Node::Kind::Map;
    if (type == "array") return value.kind == Node::Kind::List;
    if (type == "boolean") return truth;
    if (type == "number") return is_number(value);
    if (type == "integer")
      return is_number(value) && value.text.find_first_not_of("-0123456789") == std::string::npos;
    if (type == "null") return value.is_null();
    return value.is_scalar() && !truth && !is_number(value);
  }
  static bool type_fits(const Node& type, const Node& value) {
    if (type.is_scalar()) return has_type(type.text, value);
    return std::any_of(type.items().begin(), type.items().end(),
                       [&](const Node& one) { return has_type(one.text, value); });
  }
  static bool in_range(const Node& schema, const Node& value) {
    if (!is_number(value)) return true;
    const double number = std::strtod(std::string(value.text).c_str(), nullptr);
    const Node* low = schema.find("minimum");
    const Node* high = schema.find("maximum");
    return (low == nullptr || number >= std::strtod(std::string(low->text).c_str(), nullptr)) &&
           (high == nullptr || number <= std::strtod(std::string(high->text).c_str(), nullptr));
  }
  static bool matches(const Node* pattern, std::string_view text) {
    return pattern == nullptr ||
           std::regex_search(std::string(text), std::regex(std::string(pattern->text)));
  }
  bool object_fits(const Node& schema, const Node& value) const {
    const Node* properties = schema.find("properties");
    const Node* others = schema.find("additionalProperties");
    const Node* names = schema.find("propertyNames");
    const Node* required = schema.find("required");
    for (const Member& member : value.members()) {
      const Node* known = properties == nullptr ? nullptr : properties->find(member.key);
      if (names != nullptr && !matches(names->find("pattern"), member.key)) return false;
      if (known == nullptr && others == nullptr) continue;  // a map of somebody else's keys
      if (known == nullptr && others->is_scalar()) return false;
      if (!accepts(known == nullptr ? *others : *known, member.value)) return false;
    }
    return required == nullptr ||
           std::all_of(required->items().begin(), required->items().end(),
                       [&](const Node& key) { return value.find(key.text) != nullptr; });
  }
  bool accepts(const Node& schema, const Node& value) const {
    if (const Node* reference = schema.find("$ref")) {
      if (!accepts(definition(reference->text.substr(8)), value)) return false;
    }
    if (const Node* choices = schema.find("anyOf")) {
      if (std::none_of(choices->items().begin(), choices->items().end(),
                       [&](const Node& choice) { return accepts(choice, value); }))
        return false;
    }
    if (const Node* type = schema.find("type"); type != nullptr && !type_fits(*type, value))
      return false;
    if (const Node* words = schema.find("enum")) {
      if (std::none_of(words->items().begin(), words->items().end(),
                       [&](const Node& word) { return word.text == value.text; }))
        return false;
    }
    if (value.is_scalar() && !matches(schema.find("pattern"), value.text)) return false;
    if (!in_range(schema, value)) return false;
    if (value.kind == Node::Kind::Map) return !schema.find("type") || object_fits(schema, value);
    const Node* items = schema.find("items");
    return value.kind != Node::Kind::List || items == nullptr ||
           std::all_of(value.items().begin(), value.items().end(),
                       [&](const Node& item) { return accepts(*items, item); });
  }

  Parsed parsed_;
};

/// The keys of the table, of the schema, and of what the reader takes are the same.
template <typename T>
void agree(const Validator& schema) {
  const Node& properties = *schema.definition(Fields<T>::name).find("properties");
  std::vector<std::string_view> described;
  for (const Member& member : properties.members()) {
    described.push_back(member.key);
    EXPECT_NE(member.value.find("description"), nullptr) << Fields<T>::name << "." << member.key;
  }
  EXPECT_EQ(described, keys_of<T>()) << Fields<T>::name;
  Tree tree;
  MapMaker map(tree);
  for (const std::string_view key : described) map.add(key, Node{});
  map.add("no_key_at_all", Node{});
  Problems problems;
  Reader reader(problems);
  T object;
  read_object(reader, map.done(), object);
  std::vector<std::string> unknown;
  for (const Problem& problem : problems) {
    if (problem.message.starts_with("unknown key"))
      unknown.push_back(problem.message.substr(0, 27));
  }
  EXPECT_EQ(unknown, std::vector<std::string>{"unknown key 'no_key_at_all'"}) << Fields<T>::name;
}

template <typename... T>
void all_agree(const Validator& schema) {
  (agree<T>(schema), ...);
}

TEST(Schema, EveryKeyOfTheConfigurationIsDescribedAndReadAndNoOther) {
  all_agree<Config, Tls, Store, Cluster, NodeGroup, TaintEntry, TolerationEntry, Pool, FleetPool,
            Queue, QueueTree, Scheduling, ScoreWeights, Retention, Limits, Log, Defaults,
            PodDefaults, model::VolumeMount>(Validator(config_schema()));
}

TEST(Schema, EveryKeyOfJobFilesIsDescribedAndReadAndNoOther) {
  all_agree<JobDocument, PodSetDoc, BatchDocument, ArrayDoc, ParameterDoc, TopologyDoc, AffinityDoc,
            NodeAffinityDoc, PodAffinityDoc, NodeSelectorDoc, SpreadDoc, model::Requirement,
            model::NodeTerm, model::PreferredTerm, model::LabelSelector, model::PodAffinityTerm,
            model::CommandFile, TolerationEntry, model::VolumeMount>(Validator(job_schema()));
}

TEST(Schema, ReaderAndSchemaJudgeConfigurationsAlike) {
  const Validator schema(config_schema());
  const std::vector<std::pair<std::string, bool>> cases = {
      {std::string(demo_yaml()), true},
      {to_yaml(check(demo_yaml()).config, true), true},
      {"{}", true},
      {"queues: [{name: a, weight: 70000}]", false},
      {"queues: [{name: a, wieght: 1}]", false},
      {"queues: [{weight: 1}]", false},
      {"queues: [{name: a, guaranteed: {gpus: 1}}]", false},
      {"queues: [{name: a, guaranteed: {rdma/hca: 1, gpu.A100: 500m}}]", true},
      {"queues: [{name: a, queues: [{name: b, strategy: first}]}]", false},
      {"queues: {name: a}", false},
      {"scheduling: {half_life: 1h30m, default_run_time: 90}", true},
      {"scheduling: {half_life: 1h30}", false},
      {"log: {level: 3}", false},
      {"limits: {request_bytes: 4Mi}", true},
      {"limits: {request_bytes: 4MB}", false},
  };
  for (const auto& [yaml, fine] : cases) {
    EXPECT_EQ(check(yaml).ok(), fine) << yaml;
    EXPECT_EQ(schema.accepts(parse_yaml(yaml).roots.at(0)), fine) << yaml;
  }
}

TEST(Schema, ReaderAndSchemaJudgeJobsAlike) {
  const Validator schema(job_schema());
  JobOptions options;
  options.default_queue = "q";
  const std::vector<std::pair<std::string, bool>> cases = {
      {"{command: x}", true},
      {"{command: [x, 1], gpus: 0.5, cpu: 500m, memory: 4Gi, gpu_type: A100}", true},
      {"{command: x, gpus: '${n}', array: {over: {n: 1..3}}}", true},
      {"{command: x, held: '${h}', array: {over: {h: [true, false]}}}", true},
      {"{command: x, array: {count: 3}, parameters: {a: 1, b: {default: x, choices: [x]}}}", true},
      {"{jobs: [{command: x}]}", true},
      {"[{command: x}]", true},
      {"{command: x, start_after: 2h, deadline: '2026-07-01T08:00:00Z'}", true},
      {"{command: x, topology: {key: rack, required: false}}", true},
      {"{command: x, pod_sets: [{name: a, pods: 2}]}", true},
      {"{command: x, pod_sets: [{pods: 2}]}", false},
      {"{command: x, image: a:1, volumes: [{name: v, emptyDir: {}}], mounts: [{name: v, mountPath:"
       " /v}]}",
       true},
      {"{command: x, image_pull_policy: Rarely}", false},
      {"{command: x, volumes: [v]}", false},
      {"{objects: [{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{}]}}]}",
       true},
      {"{objects: [1]}", false},
      {"{command: x, pods: 0}", false},
      {"{command: x, pods: many}", false},
      {"{command: x, gpu: 1}", false},
      {"{command: x, env: {A: [1]}}", false},
      {"{command: x, on_cluster_loss: cry}", false},
      {"{command: x, deadline: tomorrow}", false},
      {"{command: x, tolerations: [{op: Exists}]}", false},
      {"{jobs: [{command: x}], name: a}", false},
  };
  for (const auto& [yaml, fine] : cases) {
    const JobFile file = read_job_file(yaml, options);
    EXPECT_EQ(file.ok(), fine) << yaml;
    EXPECT_EQ(schema.accepts(parse_yaml(yaml).roots.at(0)), fine) << yaml;
  }
}

}  // namespace
}  // namespace muster::config
