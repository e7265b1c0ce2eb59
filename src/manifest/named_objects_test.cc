#include "manifest/named_objects.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <string>

#include "kube/yaml.h"

namespace muster::manifest {
namespace {

/// "Secret a, ConfigMap b?" of objects in YAML: ? for what is optional.
std::string named_by(const std::string& yaml) {
  const auto objects = kube::parse_yaml(yaml);
  if (!objects) return objects.error().message;
  const auto list = read_objects(boost::json::array(objects->begin(), objects->end()));
  if (!list) return list.error().message;
  std::string text;
  for (const model::NamedObject& one : named_objects(*list))
    text +=
        fmt::format("{}{}{}", text.empty() ? "" : ", ", to_text(one), one.is_optional ? "?" : "");
  return text;
}

std::string pod_of(const std::string& spec) {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: "
         "i}]" +
         (spec.empty() ? "}" : ", " + spec + "}");
}
std::string pod_with_container(const std::string& fields) {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: "
         "i, " +
         fields + "}]}";
}

TEST(NamedObjects, AreFoundWhereverAPodNamesThem) {
  const std::pair<std::string, std::string> cases[] = {
      {pod_of(""), ""},
      {pod_of("volumes: [{name: v, secret: {secretName: s}}, {name: w, configMap: {name: m}}]"),
       "Secret s, ConfigMap m"},
      {pod_of("volumes: [{name: v, projected: {sources: [{secret: {name: s}}, "
              "{configMap: {name: m, optional: true}}, {serviceAccountToken: {path: t}}]}}]"),
       "Secret s, ConfigMap m?"},
      {pod_of("imagePullSecrets: [{name: registry}]"), "Secret registry?"},
      {pod_of("initContainers: [{name: i, image: i, envFrom: [{secretRef: {name: s}}]}]"),
       "Secret s"},
      {pod_with_container("envFrom: [{configMapRef: {name: m, optional: true}}]"), "ConfigMap m?"},
      {pod_with_container("env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}, "
                          "{name: B, valueFrom: {configMapKeyRef: {name: m, key: k}}}, "
                          "{name: C, value: c}]"),
       "Secret s, ConfigMap m"},
      {pod_of("volumes: [{name: v, configMap: {name: kube-root-ca.crt}}]"), ""},
      {pod_of("serviceAccountName: robot"), "ServiceAccount robot"},
      {pod_of("serviceAccount: robot"), "ServiceAccount robot"},
      {pod_of("serviceAccountName: default"), ""},
      {pod_of("volumes: [{name: v, persistentVolumeClaim: {claimName: data}}, {name: w, "
              "emptyDir: {}}]"),
       "PersistentVolumeClaim data"},
  };
  for (const auto& [yaml, names] : cases) EXPECT_EQ(named_by(yaml), names) << yaml;
}

TEST(NamedObjects, OneThatIsNeededSomewhereIsNotOptional) {
  EXPECT_EQ(named_by(pod_of("imagePullSecrets: [{name: s}], volumes: "
                            "[{name: v, secret: {secretName: s}}]")),
            "Secret s");
}

TEST(NamedObjects, WhatTheListMakesItselfIsNotNamed) {
  const std::string pod = pod_of(
      "volumes: [{name: v, secret: {secretName: s}}, "
      "{name: w, configMap: {name: m}}]");
  EXPECT_EQ(named_by(pod + "\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"),
            "ConfigMap m");
}

TEST(NamedObjects, OfAllTemplatesOfAllObjects) {
  EXPECT_EQ(named_by(R"(
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: r}
spec:
  headGroupSpec:
    rayStartParams: {}
    template:
      spec:
        containers: [{name: h, image: i}]
        volumes: [{name: v, secret: {secretName: head}}]
  workerGroupSpecs:
  - groupName: g
    replicas: 1
    rayStartParams: {}
    template: {spec: {containers: [{name: w, image: i, envFrom: [{configMapRef: {name: work}}]}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  template:
    spec:
      restartPolicy: Never
      imagePullSecrets: [{name: pull}]
      containers: [{name: c, image: i}]
)"),
            "Secret head, Secret pull?, ConfigMap work");
}

}  // namespace
}  // namespace muster::manifest
