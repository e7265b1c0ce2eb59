#include "kube/proto_objects.h"

namespace muster::kube {

namespace {

using Kind = ProtoField::Kind;

constexpr ProtoField text(std::uint32_t number, std::string_view name) { return {number, name}; }
constexpr ProtoField value(std::uint32_t number, std::string_view name, Kind kind) {
  return {number, name, kind};
}
constexpr ProtoField one(std::uint32_t number, std::string_view name, const ProtoMessage& message) {
  return {number, name, Kind::Message, false, &message};
}
constexpr ProtoField list(std::uint32_t number, std::string_view name,
                          const ProtoMessage& message) {
  return {number, name, Kind::Message, true, &message};
}

// ---- of every object

constexpr ProtoField owner_fields[] = {text(5, "apiVersion"), text(1, "kind"), text(3, "name"),
                                       text(4, "uid"), value(6, "controller", Kind::Flag)};
constexpr ProtoMessage owner{owner_fields};

constexpr ProtoField metadata_fields[] = {text(1, "name"),
                                          text(3, "namespace"),
                                          text(5, "uid"),
                                          text(6, "resourceVersion"),
                                          value(9, "deletionTimestamp", Kind::Time),
                                          value(10, "deletionGracePeriodSeconds", Kind::Integer),
                                          value(11, "labels", Kind::TextMap),
                                          value(12, "annotations", Kind::TextMap),
                                          list(13, "ownerReferences", owner)};
constexpr ProtoMessage metadata{metadata_fields};

// Conditions of pods and of Jobs have the same numbers.
constexpr ProtoField condition_fields[] = {text(1, "type"), text(2, "status"), text(5, "reason"),
                                           text(6, "message")};
constexpr ProtoMessage condition{condition_fields};

// ---- Jobs

constexpr ProtoField job_spec_fields[] = {value(1, "parallelism", Kind::Integer),
                                          value(2, "completions", Kind::Integer)};
constexpr ProtoMessage job_spec{job_spec_fields};

constexpr ProtoField job_status_fields[] = {list(1, "conditions", condition),
                                            value(5, "succeeded", Kind::Integer)};
constexpr ProtoMessage job_status{job_status_fields};

constexpr ProtoField job_fields[] = {one(1, "metadata", metadata), one(2, "spec", job_spec),
                                     one(3, "status", job_status)};

// ---- pods

constexpr ProtoField variable_fields[] = {text(1, "name"), text(2, "value")};
constexpr ProtoMessage variable{variable_fields};

constexpr ProtoField resources_fields[] = {value(1, "limits", Kind::QuantityMap),
                                           value(2, "requests", Kind::QuantityMap)};
constexpr ProtoMessage resources{resources_fields};

constexpr ProtoField container_fields[] = {text(1, "name"), list(7, "env", variable),
                                           one(8, "resources", resources),
                                           text(24, "restartPolicy")};
constexpr ProtoMessage container{container_fields};

constexpr ProtoField pod_spec_fields[] = {list(2, "containers", container),
                                          text(3, "restartPolicy"),
                                          text(10, "nodeName"),
                                          list(20, "initContainers", container),
                                          value(32, "overhead", Kind::QuantityMap),
                                          one(40, "resources", resources)};
constexpr ProtoMessage pod_spec{pod_spec_fields};

constexpr ProtoField waiting_fields[] = {text(1, "reason"), text(2, "message")};
constexpr ProtoMessage waiting{waiting_fields};

constexpr ProtoMessage running{};  // that it is there says all

constexpr ProtoField terminated_fields[] = {value(1, "exitCode", Kind::Integer),
                                            value(2, "signal", Kind::Integer), text(3, "reason"),
                                            text(4, "message")};
constexpr ProtoMessage terminated{terminated_fields};

constexpr ProtoField state_fields[] = {one(1, "waiting", waiting), one(2, "running", running),
                                       one(3, "terminated", terminated)};
constexpr ProtoMessage state{state_fields};

constexpr ProtoField container_status_fields[] = {
    text(1, "name"), one(2, "state", state), one(3, "lastState", state),
    value(10, "allocatedResources", Kind::QuantityMap), one(11, "resources", resources)};
constexpr ProtoMessage container_status{container_status_fields};

constexpr ProtoField pod_status_fields[] = {text(1, "phase"),
                                            list(2, "conditions", condition),
                                            text(3, "message"),
                                            text(4, "reason"),
                                            list(8, "containerStatuses", container_status),
                                            list(10, "initContainerStatuses", container_status)};
constexpr ProtoMessage pod_status{pod_status_fields};

constexpr ProtoField pod_fields[] = {one(1, "metadata", metadata), one(2, "spec", pod_spec),
                                     one(3, "status", pod_status)};

// ---- errors

constexpr ProtoField cause_fields[] = {text(1, "reason"), text(2, "message"), text(3, "field")};
constexpr ProtoMessage cause{cause_fields};

constexpr ProtoField details_fields[] = {text(1, "name"), text(3, "kind"), list(4, "causes", cause),
                                         value(5, "retryAfterSeconds", Kind::Integer)};
constexpr ProtoMessage details{details_fields};

constexpr ProtoField status_fields[] = {text(2, "status"), text(3, "message"), text(4, "reason"),
                                        one(5, "details", details),
                                        value(6, "code", Kind::Integer)};

}  // namespace

constexpr ProtoMessage proto_job{job_fields};
constexpr ProtoMessage proto_pod{pod_fields};
constexpr ProtoMessage proto_status{status_fields};

}  // namespace muster::kube
