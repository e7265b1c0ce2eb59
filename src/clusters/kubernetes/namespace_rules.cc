#include "clusters/kubernetes/namespace_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <utility>

#include "kube/json.h"
#include "kube/resource.h"
#include "manifest/kinds.h"
#include "manifest/pod_use.h"

namespace muster::clusters {

namespace {

namespace json = boost::json;
using kube::find;
using kube::items_at;
using kube::map_at;
using kube::set_at;
using kube::text_at;
using manifest::Amounts;

json::string text(std::string_view from) { return json::string(from.data(), from.size()); }

/// "requests.cpu" is about cpu.
std::string resource_of(std::string_view word) {
  for (const std::string_view prefix : {"requests.", "limits."}) {
    if (word.starts_with(prefix)) return std::string(word.substr(prefix.size()));
  }
  return std::string(word);
}

std::string shown(std::int64_t amount, const std::string& word) {
  return model::quantity_text(amount, manifest::scale_of(resource_of(word)));
}

/// Amounts of a quota, whose words are not names of resources.
std::map<std::string, std::int64_t> quota_amounts(const json::object& map) {
  std::map<std::string, std::int64_t> amounts;
  for (const auto& member : map) {
    const std::string word(member.key());
    const json::object one({{text(resource_of(word)), member.value()}});
    const Amounts read = manifest::amounts_of(one);
    amounts[word] = read.empty() ? 0 : read.begin()->second;
  }
  return amounts;
}

void put_missing(json::value& container, std::string_view kind, const Amounts& amounts) {
  json::object all = map_at(container, {"resources", kind});
  for (const auto& [name, amount] : amounts) {
    if (!all.contains(name)) all[name] = text(shown(amount, name));
  }
  if (!all.empty()) set_at(container, {"resources", kind}, std::move(all));
}

Status check_bounds(const LimitRule& rule, const std::string& who, const Amounts& requests,
                    const Amounts& limits) {
  for (const auto& [name, most] : rule.max) {
    const auto limit = limits.find(name);
    const auto request = requests.find(name);
    const std::int64_t asked = std::max(limit == limits.end() ? 0 : limit->second,
                                        request == requests.end() ? 0 : request->second);
    if (asked > most)
      return invalid(fmt::format("{}: {} of {} is above the {} that LimitRange {} allows", who,
                                 shown(asked, name), name, shown(most, name), rule.range));
    if (limit == limits.end())
      return invalid(fmt::format("{}: has no limit of {}; LimitRange {} wants one of at most {}",
                                 who, name, rule.range, shown(most, name)));
  }
  for (const auto& [name, least] : rule.min) {
    const auto request = requests.find(name);
    if (request == requests.end() || request->second < least)
      return invalid(fmt::format("{}: {} of {} is below the {} that LimitRange {} wants", who,
                                 shown(request == requests.end() ? 0 : request->second, name), name,
                                 shown(least, name), rule.range));
  }
  for (const auto& [name, most] : rule.ratio) {
    const auto limit = limits.find(name);
    const auto request = requests.find(name);
    const bool is_said = limit != limits.end() && request != requests.end();
    if (is_said && static_cast<double>(limit->second) * 1000 <=
                       static_cast<double>(request->second) * static_cast<double>(most))
      continue;
    return invalid(fmt::format(
        "{}: limit {} of {} to request {} is above the ratio of {} that LimitRange {} allows", who,
        shown(limit == limits.end() ? 0 : limit->second, name), name,
        shown(request == requests.end() ? 0 : request->second, name),
        model::quantity_text(most, model::Scale::Milli), rule.range));
  }
  return Ok{};
}

bool is_best_effort(json::value pod) {
  set_at(pod, {"spec", "overhead"}, nullptr);  // which is none of its containers'
  const Amounts requests = manifest::pod_requests_of(pod);
  return !requests.contains("cpu") && !requests.contains("memory");
}

/// Whether the quota is about pods like this.
bool counts(const QuotaSight& quota, const json::value& pod) {
  for (const std::string& scope : quota.scopes) {
    const bool has_deadline = find(pod, {"spec", "activeDeadlineSeconds"}) != nullptr;
    if (scope == "Terminating" && !has_deadline) return false;
    if (scope == "NotTerminating" && has_deadline) return false;
    if (scope == "BestEffort" && !is_best_effort(pod)) return false;
    if (scope == "NotBestEffort" && is_best_effort(pod)) return false;
  }
  if (quota.priority_classes.empty()) return true;
  const std::string_view own = text_at(pod, {"spec", "priorityClassName"});
  return std::find(quota.priority_classes.begin(), quota.priority_classes.end(), own) !=
         quota.priority_classes.end();
}

/// What one pod takes of what the word is about.
std::int64_t taken_by(const json::value& pod, const std::string& word) {
  if (word == "pods" || word == "count/pods") return 1;
  if (word.starts_with("count/")) return 0;
  const bool is_limit = word.starts_with("limits.");
  const Amounts amounts = is_limit ? manifest::pod_limits_of(pod) : manifest::pod_requests_of(pod);
  const auto found = amounts.find(resource_of(word));
  return found == amounts.end() ? 0 : found->second;
}

/// Whether a pod or a container has an amount for the word, be it 0. A limit is a request too.
bool says(const json::value& resources_of, const std::string& word) {
  const std::string resource = resource_of(word);
  return map_at(resources_of, {"resources", "limits"}).contains(resource) ||
         (!word.starts_with("limits.") &&
          map_at(resources_of, {"resources", "requests"}).contains(resource));
}

/// Who does not say what a quota with this word counts, and would have to: the server demands cpu
/// and memory of every container, unless the pod says it as a whole. "": all do.
std::string silent_container(const json::value& pod, const std::string& word) {
  const std::string resource = resource_of(word);
  const json::value* spec = find(pod, {"spec"});
  if ((resource != "cpu" && resource != "memory") || spec == nullptr || says(*spec, word))
    return "";
  for (const std::string_view key : {"initContainers", "containers"}) {
    for (const json::value& container : items_at(pod, {"spec", key})) {
      if (!says(container, word)) return std::string(text_at(container, {"name"}));
    }
  }
  return "";
}

}  // namespace

std::vector<LimitRule> limit_rules_of(const json::value& limit_range) {
  std::vector<LimitRule> rules;
  for (const json::value& item : items_at(limit_range, {"spec", "limits"})) {
    const std::string_view type = text_at(item, {"type"});
    if (type != "Container" && type != "Pod") continue;
    LimitRule& rule = rules.emplace_back();
    rule.ns = kube::namespace_of(limit_range);
    rule.range = kube::name_of(limit_range);
    rule.is_of_pod = type == "Pod";
    rule.default_limits = manifest::amounts_of(map_at(item, {"default"}));
    rule.default_requests = manifest::amounts_of(map_at(item, {"defaultRequest"}));
    rule.min = manifest::amounts_of(map_at(item, {"min"}));
    rule.max = manifest::amounts_of(map_at(item, {"max"}));
    for (const auto& member : map_at(item, {"maxLimitRequestRatio"})) {
      const Amounts read = manifest::amounts_of({{"cpu", member.value()}});  // in thousandths
      if (!read.empty()) rule.ratio[std::string(member.key())] = read.begin()->second;
    }
  }
  return rules;
}

QuotaSight quota_sight_of(const json::value& quota) {
  QuotaSight sight;
  sight.ns = kube::namespace_of(quota);
  sight.name = kube::name_of(quota);
  sight.hard = quota_amounts(map_at(quota, {"spec", "hard"}));
  sight.used = quota_amounts(map_at(quota, {"status", "used"}));
  for (const json::value& scope : items_at(quota, {"spec", "scopes"})) {
    if (scope.is_string()) sight.scopes.emplace_back(scope.get_string());
  }
  for (const json::value& one : items_at(quota, {"spec", "scopeSelector", "matchExpressions"})) {
    const std::string scope(text_at(one, {"scopeName"}));
    const std::string_view op = text_at(one, {"operator"});
    if (scope != "PriorityClass" && op == "Exists") {
      sight.scopes.push_back(scope);
    } else if (scope == "PriorityClass" && op == "In") {
      for (const json::value& value : items_at(one, {"values"})) {
        if (value.is_string()) sight.priority_classes.emplace_back(value.get_string());
      }
    } else if (!(scope == "PriorityClass" && op == "Exists")) {  // every pod of ours has one
      sight.has_unknown_scope = true;
    }
  }
  for (const std::string& scope : sight.scopes) {
    const bool is_known = scope == "Terminating" || scope == "NotTerminating" ||
                          scope == "BestEffort" || scope == "NotBestEffort" ||
                          scope == "PriorityClass";
    sight.has_unknown_scope |= !is_known;
  }
  return sight;
}

void put_defaults(json::value& pod, const std::vector<LimitRule>& rules) {
  for (const std::string_view key : {"initContainers", "containers"}) {
    json::array containers = items_at(pod, {"spec", key});
    for (json::value& container : containers) {
      for (const LimitRule& rule : rules) {
        if (rule.is_of_pod) continue;
        // A limit that is said is the request too, before any default is.
        put_missing(container, "requests",
                    manifest::amounts_of(map_at(container, {"resources", "limits"})));
        put_missing(container, "limits", rule.default_limits);
        put_missing(container, "requests", rule.default_requests);
        put_missing(container, "requests", rule.default_limits);
      }
    }
    if (!containers.empty()) set_at(pod, {"spec", key}, std::move(containers));
  }
}

Status check_limits(const json::value& pod, const std::vector<LimitRule>& rules) {
  for (const LimitRule& rule : rules) {
    if (rule.is_of_pod) {
      if (Status s = check_bounds(rule, "a pod", manifest::pod_requests_of(pod),
                                  manifest::pod_limits_of(pod));
          !s)
        return s;
      continue;
    }
    for (const std::string_view key : {"initContainers", "containers"}) {
      for (const json::value& container : items_at(pod, {"spec", key})) {
        const Amounts limits = manifest::amounts_of(map_at(container, {"resources", "limits"}));
        Amounts requests = limits;
        for (const auto& [name, amount] :
             manifest::amounts_of(map_at(container, {"resources", "requests"})))
          requests[name] = amount;
        const std::string who = fmt::format("container {}", text_at(container, {"name"}));
        if (Status s = check_bounds(rule, who, requests, limits); !s) return s;
      }
    }
  }
  return Ok{};
}

Result<QuotaAsks> asks_of(const std::vector<PodsAsked>& pods,
                          const std::map<std::string, std::int64_t>& objects,
                          const std::vector<QuotaSight>& quotas) {
  QuotaAsks asks;
  for (const QuotaSight& quota : quotas) {
    if (quota.has_unknown_scope) continue;
    for (const auto& [word, hard] : quota.hard) {
      const auto made = objects.find(word);
      if (made != objects.end()) asks.by_objects[{quota.name, word}] = made->second;
      for (const PodsAsked& one : pods) {
        if (!counts(quota, one.pod)) continue;
        if (const std::string silent = silent_container(one.pod, word); !silent.empty())
          return invalid(fmt::format(
              "quota {} counts {}: every container must say how much it wants, and {} does not",
              quota.name, word, silent));
        const std::int64_t taken = taken_by(one.pod, word);
        if (taken > 0) asks.by_pods[{quota.name, word}] += taken * one.count;
      }
    }
  }
  return asks;
}

Status check_quotas(const QuotaAsks& asks, const std::vector<QuotaSight>& quotas) {
  const auto amount_in = [](const auto& amounts, const auto& key) {
    const auto found = amounts.find(key);
    return found == amounts.end() ? 0 : found->second;
  };
  for (const QuotaSight& quota : quotas) {
    for (const auto& [word, hard] : quota.hard) {
      const std::pair key{quota.name, word};
      const std::int64_t asked = amount_in(asks.by_pods, key) + amount_in(asks.by_objects, key);
      if (asked == 0) continue;
      const std::int64_t taken = amount_in(quota.used, word);
      if (asked > hard)
        return Error{Fault::Conflict,
                     fmt::format("quota {} allows {} {} in all, the job wants {}", quota.name,
                                 shown(hard, word), word, shown(asked, word))};
      if (asked > hard - taken)
        return Error{
            Fault::Conflict,
            fmt::format("quota {} has no room: {} {} wanted, {} of {} are used", quota.name,
                        shown(asked, word), word, shown(taken, word), shown(hard, word))};
    }
  }
  return Ok{};
}

Result<QuotaAsks> check_namespace(const NamespaceRules& rules, std::vector<PodsAsked> pods,
                                  const std::map<std::string, std::int64_t>& objects) {
  for (PodsAsked& one : pods) {
    put_defaults(one.pod, rules.limits);
    if (Status s = check_limits(one.pod, rules.limits); !s) return s.error();
    // Quotas count the overhead; LimitRanges do not.
    if (!one.overhead.empty()) set_at(one.pod, {"spec", "overhead"}, std::move(one.overhead));
  }
  auto asks = asks_of(pods, objects, rules.quotas);
  if (!asks) return asks;
  if (Status s = check_quotas(*asks, rules.quotas); !s) return s.error();
  return asks;
}

namespace {

/// As RBAC and quotas name them; of kinds that are not known, what most CRDs choose.
std::string plural_of(std::string_view group, std::string_view kind) {
  for (const manifest::KnownKind& known : manifest::known_kinds()) {
    if (known.group == group && known.kind == kind) return std::string(known.plural);
  }
  std::string word(kind);
  for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  constexpr std::string_view vowels = "aeiou";
  const bool ends_in_y = word.size() > 1 && word.back() == 'y' &&
                         vowels.find(word[word.size() - 2]) == std::string_view::npos;
  if (ends_in_y) return word.substr(0, word.size() - 1) + "ies";
  for (const std::string_view end : {"s", "x", "z", "ch", "sh"}) {
    if (word.ends_with(end)) return word + "es";
  }
  return word + "s";
}

}  // namespace

std::map<std::string, std::int64_t> counted(const std::vector<json::value>& objects) {
  std::map<std::string, std::int64_t> counts;
  for (const json::value& object : objects) {
    const auto version = kube::parse_group_version(text_at(object, {"apiVersion"}));
    const std::string plural = plural_of(version.group, text_at(object, {"kind"}));
    if (plural == "pods") continue;
    ++counts["count/" + plural + (version.group.empty() ? "" : "." + version.group)];
    if (version.group.empty()) ++counts[plural];
  }
  return counts;
}

std::vector<PodsAsked> pods_of_jobs(const std::vector<json::value>& objects) {
  std::vector<PodsAsked> pods;
  for (const json::value& object : objects) {
    const json::value* pod = find(object, {"spec", "template"});
    if (pod != nullptr)
      pods.push_back({*pod, kube::integer_at(object, {"spec", "completions"}, 1)});
  }
  return pods;
}

}  // namespace muster::clusters
