// The keys of containers, in job files and in pools, and how a map is taken as it is.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "config/codecs.h"
#include "config/container_document.h"

namespace muster::config {

template <>
struct Codec<RawMap> {
  static void read(Reader& reader, const Node& node, RawMap& out, const Rule& rule);
  static Node write(Writer& to, const RawMap& value, const Rule& rule);
  static Node schema(Schema& schema, const Rule& rule);
};
template <>
struct Codec<VolumeDoc> {
  static void read(Reader& reader, const Node& node, VolumeDoc& out, const Rule& rule);
  static Node write(Writer& to, const VolumeDoc& value, const Rule& rule);
  static Node schema(Schema& schema, const Rule& rule);
};

template <>
struct EnumNames<PullPolicy> {
  static constexpr std::array<std::pair<std::string_view, PullPolicy>, 3> names = {
      {{"Always", PullPolicy::Always},
       {"IfNotPresent", PullPolicy::IfNotPresent},
       {"Never", PullPolicy::Never}}};
};
/// "" of none.
std::string_view policy_word(const std::optional<PullPolicy>& policy);
std::optional<PullPolicy> policy_of(std::string_view word);

template <>
struct Fields<model::VolumeMount> {
  static constexpr std::string_view name = "mount";
  template <typename V>
  static void visit(V& v) {
    v.field("name", &model::VolumeMount::volume, "which volume", required_name());
    v.field("mountPath", &model::VolumeMount::path, "where, absolute", Rule{.required = true});
    v.field("subPath", &model::VolumeMount::sub_path, "only this part of the volume");
    v.field("readOnly", &model::VolumeMount::read_only, "cannot be written to");
  }
};

template <>
struct Fields<ContainerDoc> {
  static constexpr std::string_view name = "container";
  template <typename V>
  static void visit(V& v) {
    v.field("image_pull_policy", &ContainerDoc::image_pull_policy, "when the image is fetched");
    v.field("service_account", &ContainerDoc::service_account, "as whom the pods run",
            optional_name());
    v.field("pull_secrets", &ContainerDoc::pull_secrets, "Secrets that open the registry",
            optional_name());
    v.field("volumes", &ContainerDoc::volumes, "volumes, as Kubernetes writes them");
    v.field("mounts", &ContainerDoc::mounts, "where volumes appear in the container");
  }
};

template <>
struct Fields<PodDefaults> {
  static constexpr std::string_view name = "pod_defaults";
  template <typename V>
  static void visit(V& v) {
    v.field("image", &PodDefaults::image, "container image that commands run in");
    Fields<ContainerDoc>::visit(v);
    v.field("runtime_class", &PodDefaults::runtime_class, "RuntimeClass of the pods",
            optional_name());
    v.field("scheduler_name", &PodDefaults::scheduler_name, "which scheduler binds the pods",
            optional_name());
    v.field("env", &PodDefaults::env, "environment, under that of the job");
    v.field("labels", &PodDefaults::labels, "labels of the objects");
    v.field("annotations", &PodDefaults::annotations, "annotations of the objects");
  }
};

}  // namespace muster::config
