#include "clusters/kubernetes/permissions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "manifest/kinds.h"

namespace muster::clusters {

namespace {

enum class Where { Everywhere, Namespace };
enum class What {
  All,
  Objects,
  EachKind,
  Hub,
  AppWrappers,
  WrappedKind,
  TravelFrom,
  TravelTo,
  Crds
};

struct Rule {
  Where where;
  What what = What::All;
  std::string_view group = {};
  std::vector<std::string_view> resources = {};
  std::vector<std::string_view> verbs = {};
  bool is_vital = true;
  std::string_view only = {};  // this object and no other
  std::string_view note = {};  // for people
};

Rule rule(Where where, What what, std::string_view resources_dot_group,
          std::vector<std::string_view> verbs) {
  Rule made{.where = where, .what = what, .verbs = std::move(verbs)};
  const std::size_t dot = resources_dot_group.find('.');
  if (dot != std::string_view::npos) made.group = resources_dot_group.substr(dot + 1);
  made.resources = split(resources_dot_group.substr(0, dot), ' ');
  if (resources_dot_group.empty()) made.resources.clear();
  return made;
}
/// It works without, but less well.
Rule helpful(Rule made, std::string_view note, std::string_view only = "") {
  made.is_vital = false;
  made.note = note;
  made.only = only;
  return made;
}

constexpr std::string_view old_mcad = "for clients of MCAD before 1.35";
constexpr std::string_view left_by_another = "to take over what another controller left";
constexpr std::string_view owners_protected = "needed where owners are protected, as on OpenShift";

const std::vector<Rule>& rules() {
  constexpr Where all = Where::Everywhere;
  constexpr Where ns = Where::Namespace;
  static const std::vector<Rule> table = {
      rule(all, What::All, "nodes pods", {"list", "watch"}),
      helpful(rule(all, What::All, "priorityclasses.scheduling.k8s.io", {"create", "get"}),
              "not needed when the class `muster` is there and may be read"),
      helpful(rule(all, What::All, "namespaces", {"get"}),
              "tells whether this cluster is joined already under another name", "kube-system"),
      helpful(rule(all, What::All, "runtimeclasses.node.k8s.io", {"list", "watch"}),
              "what they put into pods is planned with"),
      rule(ns, What::All, "jobs.batch", {"create", "list", "watch", "deletecollection"}),
      rule(ns, What::All, "pods", {"list", "watch", "deletecollection"}),
      helpful(rule(ns, What::All, "pods", {"delete"}), "to force away those of lost nodes"),
      helpful(rule(ns, What::All, "pods/log", {"get"}), "for the output of jobs"),
      helpful(rule(ns, What::All, "pods/exec", {"create", "get"}),
              "for commands in running pods; which of the two depends on the version"),
      rule(ns, What::All, "services", {"create"}),
      helpful(rule(ns, What::All, "services", {"list", "delete"}),
              "to leave nothing behind when the cluster leaves"),
      rule(ns, What::All, "secrets", {"create", "deletecollection"}),
      helpful(rule(ns, What::All, "resourcequotas limitranges", {"list", "watch"}),
              "without them the API server alone judges"),
      helpful(rule(ns, What::All, "events", {"list", "watch"}), "for the timeline of jobs"),
      rule(ns, What::Objects, "configmaps", {"create", "get", "list", "watch", "deletecollection"}),
      rule(ns, What::EachKind, "", {"create", "get", "list", "watch"}),
      rule(ns, What::Hub, "secrets", {"get", "list"}),
      rule(ns, What::Hub, "clusterprofiles.multicluster.x-k8s.io", {"list"}),
      rule(ns, What::AppWrappers, "appwrappers.workload.codeflare.dev",
           {"get", "list", "watch", "patch"}),
      rule(ns, What::AppWrappers, "appwrappers/status.workload.codeflare.dev", {"patch"}),
      helpful(rule(ns, What::AppWrappers, "appwrappers.workload.codeflare.dev", {"delete"}),
              "to remove those that succeeded when their time to live is over"),
      helpful(
          rule(ns, What::AppWrappers, "appwrappers/finalizers.workload.codeflare.dev", {"update"}),
          owners_protected),
      helpful(rule(ns, What::AppWrappers, "appwrappers.mcad.ibm.com",
                   {"get", "list", "watch", "patch"}),
              old_mcad),
      helpful(rule(ns, What::AppWrappers, "appwrappers/status.mcad.ibm.com", {"patch"}), old_mcad),
      helpful(rule(ns, What::AppWrappers, "rayclusters rayjobs.ray.io",
                   {"get", "list", "watch", "patch", "update"}),
              "to start and stop those with the label `muster.dev/queue`"),
      helpful(rule(ns, What::AppWrappers, "rayclusters.ray.io", {"delete"}),
              "those of labelled RayJobs that have ended"),
      helpful(rule(ns, What::AppWrappers, "rayclusters/finalizers rayjobs/finalizers.ray.io",
                   {"update"}),
              owners_protected),
      helpful(rule(ns, What::AppWrappers, "events", {"create"}), "with appwrappers.events"),
      helpful(rule(all, What::AppWrappers, "quotasubtrees.quota.codeflare.dev", {"list", "watch"}),
              "with appwrappers.quota"),
      helpful(rule(all, What::AppWrappers, "quotasubtrees.ibm.com", {"list", "watch"}),
              "with appwrappers.quota"),
      helpful(rule(ns, What::AppWrappers, "pods configmaps", {"patch"}), left_by_another),
      helpful(rule(ns, What::AppWrappers, "replicasets.apps", {"get"}), left_by_another),
      helpful(rule(ns, What::WrappedKind, "", {"patch", "delete"}),
              "to take over, or to stop, what another controller left"),
      helpful(rule(all, What::AppWrappers,
                   "validatingadmissionpolicies validatingadmissionpolicybindings"
                   ".admissionregistration.k8s.io",
                   {"get"}),
              "with appwrappers.creators"),
      rule(all, What::Crds, "customresourcedefinitions.apiextensions.k8s.io",
           {"create", "get", "patch"}),
  };
  return table;
}

/// What goes along with AppWrappers that run elsewhere.
const std::vector<Rule>& travel_rules() {
  constexpr Where all = Where::Everywhere;
  constexpr Where ns = Where::Namespace;
  static const std::vector<Rule> table = {
      helpful(rule(all, What::TravelFrom, "namespaces", {"get"}),
              "whose Secrets may travel, and how strict they are with pods"),
      helpful(rule(ns, What::TravelFrom, "secrets configmaps serviceaccounts", {"get"}),
              "that pods name"),
      helpful(rule(all, What::TravelTo, "namespaces", {"create", "get"}),
              "those that are missing are made"),
      helpful(rule(ns, What::TravelTo, "secrets configmaps serviceaccounts",
                   {"create", "get", "update"}),
              "that pods name"),
      helpful(rule(ns, What::TravelTo, "persistentvolumeclaims", {"get"}),
              "to say which one that pods name is missing"),
  };
  return table;
}

const std::vector<Rule>& all_rules() {
  static const std::vector<Rule> all = [] {
    std::vector<Rule> made = rules();
    made.insert(made.end() - 1, travel_rules().begin(), travel_rules().end());  // before Crds
    return made;
  }();
  return all;
}

bool is_of_kinds(const Rule& rule) {
  return rule.what == What::EachKind || rule.what == What::WrappedKind;
}

bool is_asked(const Rule& rule, const PermissionAsk& ask) {
  switch (rule.what) {
    case What::All:
      return true;
    case What::Objects:
      return ask.with_objects || ask.with_appwrappers || !ask.kinds.empty();
    case What::EachKind:
      return !ask.kinds.empty();
    case What::Hub:
      return ask.with_hub;
    case What::AppWrappers:
      return ask.with_appwrappers;
    case What::WrappedKind:
      return ask.with_appwrappers && !ask.kinds.empty();
    case What::TravelFrom:
      return ask.with_travel && ask.with_appwrappers;
    case What::TravelTo:
      return ask.with_travel && !ask.with_appwrappers;
    case What::Crds:
      return ask.with_crds;
  }
  return false;
}

/// The rules that are asked for, those of kinds written out.
struct PlainRule {
  const Rule* rule;
  std::string group;
  std::vector<std::string> resources;
};
std::vector<PlainRule> plain_rules(const PermissionAsk& ask) {
  std::vector<PlainRule> plain;
  for (const Rule& rule : all_rules()) {
    if (!is_asked(rule, ask)) continue;
    if (!is_of_kinds(rule)) {
      plain.push_back(
          {&rule, std::string(rule.group), {rule.resources.begin(), rule.resources.end()}});
      continue;
    }
    for (const KindRule& kind : ask.kinds) plain.push_back({&rule, kind.group, {kind.resource}});
  }
  return plain;
}

/// Where a rule holds: "" for everywhere.
std::vector<std::string> places_of(const Rule& rule, const PermissionAsk& ask) {
  if (rule.where == Where::Everywhere) return {""};
  std::vector<std::string> all = {ask.ns};
  if (rule.what == What::Hub) return all;
  for (const std::string& ns : ask.namespaces) {
    if (ns == "*") return {""};
    if (std::find(all.begin(), all.end(), ns) == all.end()) all.push_back(ns);
  }
  return all;
}

std::string quoted_list(const auto& words) {
  std::string text;
  for (const auto& word : words) text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", word);
  return "[" + text + "]";
}

/// "" if no rule holds there.
std::string rules_yaml(const PermissionAsk& ask, const std::string& place) {
  std::string text;
  for (const PlainRule& plain : plain_rules(ask)) {
    const auto places = places_of(*plain.rule, ask);
    if (std::find(places.begin(), places.end(), place) == places.end()) continue;
    if (text.empty()) text = "rules:\n";
    text += fmt::format("- apiGroups: [\"{}\"]\n  resources: {}\n  verbs: {}\n", plain.group,
                        quoted_list(plain.resources), quoted_list(plain.rule->verbs));
    if (!plain.rule->only.empty())
      text += fmt::format("  resourceNames: [\"{}\"]\n", plain.rule->only);
  }
  return text;
}

std::string subject_yaml(const PermissionAsk& ask, const RbacSubject& subject) {
  constexpr std::string_view accounts = "system:serviceaccount:";
  if (subject.user.empty())
    return fmt::format("subjects:\n- kind: ServiceAccount\n  name: {}\n  namespace: {}\n",
                       subject.name, ask.ns);
  if (subject.user.starts_with(accounts)) {
    const auto parts = split(std::string_view(subject.user).substr(accounts.size()), ':');
    if (parts.size() == 2)
      return fmt::format("subjects:\n- kind: ServiceAccount\n  name: {}\n  namespace: {}\n",
                         parts[1], parts[0]);
  }
  return fmt::format(
      "subjects:\n- kind: User\n  apiGroup: rbac.authorization.k8s.io\n  name: \"{}\"\n",
      subject.user);
}

/// A role and its binding.
std::string role_yaml(std::string_view kind, const std::string& metadata, const std::string& name,
                      const std::string& rules, const std::string& subject) {
  return fmt::format(
      "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {0}\nmetadata: {1}\n{3}"
      "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {0}Binding\nmetadata: {1}\n"
      "roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: {0}, name: {2}}}\n{4}",
      kind, metadata, name, rules, subject);
}

std::string what_text(const Rule& rule) {
  if (is_of_kinds(rule)) return "each kind in them";
  std::string text = fmt::format("{}", fmt::join(rule.resources, ", "));
  if (!rule.group.empty()) text += fmt::format(" ({})", rule.group);
  if (!rule.only.empty()) text += fmt::format(" {}", rule.only);
  return text;
}

std::string where_text(const Rule& rule) {
  const std::string where = rule.where == Where::Everywhere ? "everywhere" : "in the namespace";
  switch (rule.what) {
    case What::Objects:
    case What::EachKind:
      return where + ", for lists of objects";
    case What::Hub:
      return where + ", to find clusters";
    case What::AppWrappers:
    case What::WrappedKind:
      return where + ", for AppWrappers";
    case What::TravelFrom:
      return where + ", of a hub whose AppWrappers run elsewhere";
    case What::TravelTo:
      return where + ", for AppWrappers of another cluster";
    case What::Crds:
      return where + ", to install definitions";
    case What::All:
      break;
  }
  return where;
}

}  // namespace

Result<std::vector<KindRule>> kind_rules(std::string_view name) {
  std::vector<KindRule> found;
  std::vector<std::string_view> words;
  for (const manifest::KnownKind& known : manifest::known_kinds()) {
    if (known.kind == name || manifest::kind_text(known.group, known.kind) == name)
      found.push_back({std::string(known.group), std::string(known.plural)});
    if (words.empty() || words.back() != known.kind) words.push_back(known.kind);
  }
  if (!found.empty()) return found;
  const std::size_t dot = name.find('.');
  const bool is_plural = name.find('/') == std::string_view::npos;
  if (is_plural && dot != std::string_view::npos && dot > 0 && dot + 1 < name.size())
    return std::vector{
        KindRule{std::string(name.substr(dot + 1)), std::string(name.substr(0, dot))}};
  return invalid(fmt::format(
      "kinds: '{}' is not known; there are {}; others are written as widgets.example.com", name,
      fmt::join(words, ", ")));
}

std::vector<NeededPermission> needed_permissions(const PermissionAsk& ask) {
  std::vector<NeededPermission> needed;
  for (const PlainRule& plain : plain_rules(ask)) {
    for (const std::string& resource : plain.resources) {
      const std::size_t slash = resource.find('/');
      for (const std::string_view verb : plain.rule->verbs) {
        kube::Permission permission;
        permission.verb = verb;
        permission.group = plain.group;
        permission.resource = resource.substr(0, slash);
        if (slash != std::string::npos) permission.subresource = resource.substr(slash + 1);
        permission.name = plain.rule->only;
        for (const std::string& place : places_of(*plain.rule, ask)) {
          permission.ns = place;
          needed.push_back({permission, plain.rule->is_vital});
        }
      }
    }
  }
  return needed;
}

std::vector<std::string> permission_rows() {
  std::vector<std::string> rows;
  for (const Rule& rule : all_rules()) {
    std::string verbs = fmt::format("{}", fmt::join(rule.verbs, ", "));
    if (!rule.note.empty()) verbs += fmt::format("; {}", rule.note);
    rows.push_back(fmt::format("| {} | {} | {} |", where_text(rule), what_text(rule), verbs));
  }
  return rows;
}

std::string rbac_manifest(const PermissionAsk& ask, const RbacSubject& subject) {
  // Names of what belongs to no namespace must not meet those of another server.
  const std::string wide = fmt::format("{}-{}", subject.name, ask.ns);
  const std::string who = subject_yaml(ask, subject);
  std::string text;
  if (subject.user.empty())
    text += fmt::format(
        "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {}, namespace: {}}}\n",
        subject.name, ask.ns);
  text +=
      role_yaml("ClusterRole", fmt::format("{{name: {}}}", wide), wide, rules_yaml(ask, ""), who);
  std::vector<std::string> namespaces = {ask.ns};
  for (const std::string& ns : ask.namespaces) {
    if (std::find(namespaces.begin(), namespaces.end(), ns) == namespaces.end())
      namespaces.push_back(ns);
  }
  for (const std::string& ns : namespaces) {
    const std::string rules = rules_yaml(ask, ns);
    if (rules.empty()) continue;
    text += role_yaml("Role", fmt::format("{{name: {}, namespace: {}}}", subject.name, ns),
                      subject.name, rules, who);
  }
  return text;
}

}  // namespace muster::clusters
