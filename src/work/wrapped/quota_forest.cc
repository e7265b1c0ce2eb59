#include "work/wrapped/quota_forest.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <set>
#include <utility>

#include "kube/json.h"
#include "model/amount.h"

namespace muster::work {

namespace {

namespace json = boost::json;
using kube::find;
using kube::flag_at;
using kube::items_at;
using kube::map_at;
using kube::text_at;

constexpr std::string_view gpu_resources[] = {"nvidia.com/gpu", "amd.com/gpu"};

/// One node as an object says it.
struct Node {
  std::string name;
  std::string parent;  // "": it is the root
  bool is_hard = false;
  bool is_disabled = false;
  std::map<std::string, std::int64_t> quota;  // by resource, as queues count it
};

/// MCAD counts cpu in thousandths when it is written as a quantity; a bare number is whole cores.
Status read_amount(const std::string& resource, const json::value& value, const std::string& field,
                   std::map<std::string, std::int64_t>& quota) {
  const std::string text = value.is_string()  ? std::string(value.get_string())
                           : value.is_int64() ? std::to_string(value.get_int64())
                                              : json::serialize(value);
  const bool is_gpu = std::find(std::begin(gpu_resources), std::end(gpu_resources), resource) !=
                      std::end(gpu_resources);
  const bool is_milli = resource == "cpu" || is_gpu;
  const auto amount =
      model::parse_quantity(text, field, is_milli ? model::Scale::Milli : model::Scale::Whole);
  if (!amount) return amount.error();
  quota[is_gpu ? "gpu" : resource] = *amount;
  // In the profile of MCAD they are amounts like any other (wrapped_job.cc).
  if (is_gpu) quota[resource] = *amount / 1000;
  return Ok{};
}

/// When the first of its objects was made.
std::string_view oldest(const std::vector<const json::value*>& objects) {
  std::string_view first;
  for (const json::value* object : objects) {
    const std::string_view made = text_at(*object, {"metadata", "creationTimestamp"});
    if (first.empty() || made < first) first = made;
  }
  return first;
}

class TreeReader {
 public:
  TreeReader(std::string tree, QuotaForest& forest) : tree_(std::move(tree)), forest_(forest) {}

  void add(const json::value& subtree) {
    const std::string title(kube::name_of(subtree));
    const std::string parent(text_at(subtree, {"spec", "parent"}));
    const json::array& children = items_at(subtree, {"spec", "children"});
    for (std::size_t i = 0; i < children.size(); ++i) {
      const std::string field = fmt::format("QuotaSubtree {}: spec.children[{}]", title, i);
      add_child(children[i], parent, field);
    }
  }

  void finish() {
    put_below("", {});
    for (const auto& [name, node] : nodes_) {
      if (!placed_.contains(name))
        forest_.problems.push_back(
            fmt::format("tree {}: node {} is left out: its parent {} is not in the tree", tree_,
                        name, node.parent));
    }
  }

 private:
  void add_child(const json::value& child, const std::string& parent, const std::string& field) {
    Node node;
    node.name = text_at(child, {"name"});
    node.parent = parent;
    if (node.name.empty()) {
      forest_.problems.push_back(field + ".name: is missing");
      return;
    }
    node.is_hard = flag_at(child, {"quotas", "hardLimit"});
    node.is_disabled = flag_at(child, {"quotas", "disabled"});
    for (const auto& [key, value] : map_at(child, {"quotas", "requests"})) {
      const std::string resource(key);
      const Status read = read_amount(
          resource, value, fmt::format("{}.quotas.requests.{}", field, resource), node.quota);
      if (!read) forest_.problems.push_back(read.error().message);
    }
    if (!nodes_.emplace(node.name, node).second)
      forest_.problems.push_back(fmt::format("{}: node {} is there twice", field, node.name));
  }

  void put_below(const std::string& parent, const std::string& parent_queue) {
    for (const auto& [name, node] : nodes_) {
      const bool is_below = node.parent == parent && name != parent;
      if (!is_below || !placed_.insert(name).second) continue;
      model::QueueSpec spec;
      spec.name = queue_name(tree_, name);
      spec.parent = parent_queue;
      if (parent_queue.empty() && forest_.trees.front() != tree_) spec.tree = tree_;
      spec.strategy = model::Strategy::SkipAhead;  // one that backs off never blocks another
      for (const auto& [resource, amount] : node.quota) {
        if (node.is_disabled) break;
        model::Limit& limit = spec.limits[resource];
        const bool is_root = parent.empty();
        if (!is_root) limit.guaranteed = amount;
        if (is_root || node.is_hard) limit.maximum = amount;
      }
      forest_.queues.push_back(spec);
      put_below(name, spec.name);
    }
  }

  const std::string tree_;
  QuotaForest& forest_;
  std::map<std::string, Node> nodes_;
  std::set<std::string> placed_;
};

}  // namespace

std::string queue_name(const std::string& tree, const std::string& node) {
  return tree + "." + node;
}

QuotaForest read_quota_forest(const std::vector<json::value>& subtrees) {
  QuotaForest forest;
  std::map<std::string, std::vector<const json::value*>> by_tree;
  for (const json::value& subtree : subtrees) {
    const std::string tree(text_at(subtree, {"metadata", "labels", "tree"}));
    if (!tree.empty()) by_tree[tree].push_back(&subtree);  // without the label MCAD looks away
  }
  for (auto& [tree, objects] : by_tree) {
    forest.trees.push_back(tree);
    std::sort(objects.begin(), objects.end(),
              [](const auto* a, const auto* b) { return kube::key_of(*a) < kube::key_of(*b); });
  }
  std::sort(forest.trees.begin(), forest.trees.end(), [&](const auto& a, const auto& b) {
    return std::pair(oldest(by_tree[a]), a) < std::pair(oldest(by_tree[b]), b);
  });
  for (const std::string& tree : forest.trees) {
    TreeReader reader(tree, forest);
    for (const json::value* object : by_tree[tree]) reader.add(*object);
    reader.finish();
  }
  return forest;
}

Designation designation_of(const model::Labels& labels, const std::vector<std::string>& trees) {
  Designation made;
  for (const std::string& tree : trees) {
    const auto label = labels.find(tree);
    if (label == labels.end()) made.missing[tree] = default_node;
    const std::string queue =
        queue_name(tree, label == labels.end() ? default_node : label->second);
    if (tree == trees.front()) {
      made.queue = queue;
    } else {
      made.extra_queues.push_back(queue);
    }
  }
  return made;
}

bool may_have_named(const model::Labels& labels, const std::string& queue) {
  const bool is_named = std::any_of(labels.begin(), labels.end(), [&](const auto& label) {
    return queue_name(label.first, label.second) == queue;
  });
  const std::string suffix = queue_name("", default_node);
  if (is_named || !queue.ends_with(suffix)) return is_named;
  return !labels.contains(queue.substr(0, queue.size() - suffix.size()));  // not written yet
}

}  // namespace muster::work
