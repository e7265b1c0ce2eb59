#include "work/wrapped/rights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/check.h"
#include "kube/json.h"
#include "kube/resource.h"
#include "manifest/kinds.h"

namespace muster::work {

namespace {

namespace json = boost::json;
using manifest::kind_text;

// An API server gives the expressions of a policy 10,000,000 units for an object, and a question of
// rights costs 350,000: one for each usual kind, and no more.
constexpr std::size_t questions_most = 28;

std::vector<manifest::KnownKind> usual() {
  std::vector<manifest::KnownKind> kinds;
  for (const manifest::KnownKind& one : manifest::known_kinds()) {
    if (one.is_usual) kinds.push_back(one);
  }
  MUSTER_CHECK(kinds.size() <= questions_most, "{} kinds are too many to ask for", kinds.size());
  return kinds;
}

json::value validation(std::string expression, std::string message) {
  return json::object({{"expression", json::string(expression)},
                       {"message", json::string(message)},
                       {"reason", "Forbidden"}});
}

/// "batch/Job" of everything that is wrapped, in either dialect.
constexpr std::string_view wrapped_kinds =
    "(has(object.spec.resources) && has(object.spec.resources.GenericItems)"
    " ? object.spec.resources.GenericItems.filter(i, has(i.generictemplate))"
    ".map(i, i.generictemplate) : [])"
    ".map(o, o.apiVersion.contains('/') ? o.apiVersion.split('/')[0] + '/' + o.kind : o.kind)"
    " + (has(object.spec.components) ? object.spec.components.map(c, c.template) : [])"
    ".map(o, o.apiVersion.contains('/') ? o.apiVersion.split('/')[0] + '/' + o.kind : o.kind)";

/// What the API server writes where nothing is said.
bool is_nothing(std::string_view key, const json::value& value) {
  if (value.is_object()) return value.get_object().empty();
  if (value.is_array()) return value.get_array().empty();
  if (key == "matchPolicy") return value == "Equivalent";
  if (key == "scope") return value == "*";
  return value.is_null();
}

bool is_same(const json::value& there, const json::value& wanted) {
  if (there.is_array() && wanted.is_array()) {
    const json::array& all = there.get_array();
    return std::equal(all.begin(), all.end(), wanted.get_array().begin(), wanted.get_array().end(),
                      is_same);
  }
  if (!there.is_object() || !wanted.is_object()) return there == wanted;
  const json::object& given = wanted.get_object();
  const bool has_all = std::all_of(given.begin(), given.end(), [&](const auto& member) {
    const json::value* found = there.get_object().if_contains(member.key());
    return found != nullptr && is_same(*found, member.value());
  });
  return has_all &&
         std::all_of(there.get_object().begin(), there.get_object().end(), [&](const auto& member) {
           return given.contains(member.key()) || is_nothing(member.key(), member.value());
         });
}

}  // namespace

std::vector<std::string> usual_kinds() {
  std::vector<std::string> all;
  for (const manifest::KnownKind& one : usual()) all.push_back(kind_text(one.group, one.kind));
  return all;
}

Status check_kinds(const AppWrapper& wrapper, const std::vector<std::string>& allowed) {
  const auto is_allowed = [&](std::string_view text) {
    return std::any_of(allowed.begin(), allowed.end(),
                       [&](const std::string& one) { return one == "*" || one == text; });
  };
  for (const WrappedItem& item : wrapper.items) {
    const auto version = kube::parse_group_version(kube::text_at(item.object, {"apiVersion"}));
    const std::string text = kind_text(version.group, kube::text_at(item.object, {"kind"}));
    if (is_allowed(text)) continue;
    return invalid(fmt::format(
        "{}: {} is not among the kinds that AppWrappers may wrap here; its administrator may add "
        "it to appwrappers.kinds",
        item.field, text));
  }
  return Ok{};
}

bool is_as_installed(const json::value& there, const json::value& wanted) {
  const json::value* spec = kube::find(there, {"spec"});
  return spec != nullptr && is_same(*spec, wanted.at("spec"));
}

std::vector<json::value> creators_policy() {
  json::array validations;
  std::vector<std::string> quoted;
  for (const manifest::KnownKind& one : usual()) {
    const std::string text = kind_text(one.group, one.kind);
    quoted.push_back("'" + text + "'");
    validations.push_back(
        validation(fmt::format("!('{}' in variables.kinds) || authorizer.group('{}').resource('{}')"
                               ".namespace(request.namespace).check('create').allowed()",
                               text, one.group, one.plural),
                   fmt::format("it wraps a {}, and you may not create {} here", text, one.plural)));
  }
  validations.push_back(
      validation(fmt::format("variables.kinds.all(k, k in [{}])", fmt::join(quoted, ", ")),
                 "it wraps a kind that AppWrappers may not wrap here"));
  json::array variables;
  variables.push_back(
      json::object({{"name", "kinds"}, {"expression", json::string(wrapped_kinds)}}));
  json::array rules;
  rules.push_back({{"apiGroups", {"workload.codeflare.dev", "mcad.ibm.com"}},
                   {"apiVersions", {"*"}},
                   {"operations", {"CREATE", "UPDATE"}},
                   {"resources", {"appwrappers"}}});
  const json::string name(creators_policy_name);
  // An object that is only being deleted, or whose spec stays, is not judged by who touches it.
  json::array conditions;
  conditions.push_back({{"name", "spec-is-new"},
                        {"expression", "oldObject == null || object.spec != oldObject.spec"}});
  json::value policy = {{"apiVersion", "admissionregistration.k8s.io/v1"},
                        {"kind", "ValidatingAdmissionPolicy"},
                        {"metadata", {{"name", name}}},
                        {"spec",
                         {{"failurePolicy", "Fail"},
                          {"matchConstraints", {{"resourceRules", rules}}},
                          {"matchConditions", conditions},
                          {"variables", variables},
                          {"validations", validations}}}};
  json::value binding = {{"apiVersion", "admissionregistration.k8s.io/v1"},
                         {"kind", "ValidatingAdmissionPolicyBinding"},
                         {"metadata", {{"name", name}}},
                         {"spec", {{"policyName", name}, {"validationActions", {"Deny"}}}}};
  return {std::move(policy), std::move(binding)};
}

}  // namespace muster::work
