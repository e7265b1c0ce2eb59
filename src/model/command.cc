#include "model/command.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace muster::model {
namespace {

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

Status check_argv(const std::vector<std::string>& argv, std::string_view field) {
  if (argv.empty() || argv[0].empty())
    return invalid(fmt::format("{}: empty; give the program to run", field));
  for (std::size_t i = 0; i < argv.size(); ++i) {
    if (has_nul(argv[i])) return invalid(fmt::format("{}[{}]: has a NUL byte", field, i));
  }
  return Ok{};
}

Status check_environment(const Environment& environment, std::string_view field) {
  for (const auto& [name, value] : environment) {
    if (name.empty() || name.find('=') != std::string::npos || has_nul(name))
      return invalid(fmt::format("{}: '{}' is not a name of a variable", field, name));
    if (has_nul(value)) return invalid(fmt::format("{}.{}: has a NUL byte", field, name));
  }
  return Ok{};
}

Status check_file(const CommandFile& file, std::size_t i) {
  const std::string field = fmt::format("files[{}].path", i);
  if (file.path.empty() || file.path.front() == '/' || has_nul(file.path))
    return invalid(fmt::format("{}: '{}' is not a relative path", field, file.path));
  for (const std::string_view part : split(file.path, '/')) {
    if (part.empty() || part == "." || part == "..")
      return invalid(
          fmt::format("{}: '{}' may not have empty parts, '.' or '..'", field, file.path));
  }
  return Ok{};
}

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

/// Kubernetes' rule for names: of namespaces without dots (a label), of most others with them.
Status check_name(std::string_view name, std::string_view field, bool may_have_dots) {
  const std::size_t most = may_have_dots ? 253 : 63;
  const bool is_fine = std::all_of(name.begin(), name.end(), [&](char c) {
    return is_alphanumeric(c) || c == '-' || (may_have_dots && c == '.');
  });
  if (!name.empty() && is_fine && name.size() <= most && is_alphanumeric(name.front()) &&
      is_alphanumeric(name.back()))
    return Ok{};
  return invalid(
      fmt::format("{}: '{}' is not a name in Kubernetes; use small letters, digits and -", field,
                  name.substr(0, 60)));
}

/// The registry judges the rest.
Status check_image(std::string_view image, std::string_view field) {
  const bool is_printable =
      std::all_of(image.begin(), image.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (is_printable && image.size() <= 1024 && !image.starts_with('-')) return Ok{};
  return invalid(fmt::format("{}: '{}' is not an image; write for example registry/name:tag", field,
                             image.substr(0, 60)));
}

Status check_container(const Container& container) {
  if (Status s = check_image(container.image, "image"); !s) return s;
  const std::string& policy = container.pull_policy;
  if (!policy.empty() && policy != "Always" && policy != "IfNotPresent" && policy != "Never")
    return invalid(fmt::format("image_pull_policy: '{}' is none of Always, IfNotPresent, Never",
                               policy.substr(0, 60)));
  if (!container.ns.empty()) {
    if (Status s = check_name(container.ns, "namespace", false); !s) return s;
  }
  if (!container.service_account.empty()) {
    if (Status s = check_name(container.service_account, "service_account", true); !s) return s;
  }
  for (const std::string& secret : container.pull_secrets) {
    if (Status s = check_name(secret, "pull_secrets", true); !s) return s;
  }
  for (std::size_t i = 0; i < container.mounts.size(); ++i) {
    const VolumeMount& mount = container.mounts[i];
    const std::string field = fmt::format("mounts[{}]", i);
    if (Status s = check_name(mount.volume, field + ".name", false); !s) return s;
    if (!mount.path.starts_with('/') || has_nul(mount.path))
      return invalid(fmt::format("{}.mountPath: '{}' is not an absolute path", field,
                                 mount.path.substr(0, 60)));
  }
  return Ok{};
}

Status check_hub(const HubObject& hub) {
  const std::pair<std::string_view, const std::string*> fields[] = {
      {"cluster", &hub.cluster}, {"api_version", &hub.api_version},
      {"kind", &hub.kind},       {"namespace", &hub.ns},
      {"name", &hub.name},       {"uid", &hub.uid}};
  for (const auto& [field, value] : fields) {
    if (value->empty()) return invalid(fmt::format("hub.{}: empty", field));
    if (has_nul(*value)) return invalid(fmt::format("hub.{}: has a NUL byte", field));
  }
  return Ok{};
}

Status check_care(const ObjectCare& care) {
  if (care.ready_pods < 0) return invalid("care.ready_pods: negative");
  if (care.ready_within.ms < 0) return invalid("care.ready_within: negative");
  if (care.ready_within_next.ms < 0) return invalid("care.ready_within_next: negative");
  if (care.ready_within_most.ms < 0) return invalid("care.ready_within_most: negative");
  if (care.requeues_most < -1) return invalid("care.requeues_most: negative; -1 is without end");
  if (care.keep_failed && care.keep_failed->ms < 0) return invalid("care.keep_failed: negative");
  if (care.requeue_pause && care.requeue_pause->ms < 0)
    return invalid("care.requeue_pause: negative");
  const std::pair<const char*, const std::optional<Duration>&> times[] = {
      {"pods_within", care.pods_within},
      {"failed_within", care.failed_within},
      {"force_after", care.force_after}};
  for (const auto& [name, time] : times) {
    if (time && time->ms < 0) return invalid(fmt::format("care.{}: negative", name));
  }
  if (care.pods_within && care.ready_within.ms == 0)
    return invalid("care.pods_within: is for lists with ready_within");
  if (care.ready_within.ms > 0 && !care.starts_when_made)
    return invalid("care.ready_within: is for lists with starts_when_made: true");
  return Ok{};
}

/// What only lists of objects have.
Status check_listed(const Command& command) {
  if (command.objects.empty()) {
    if (command.hub) return invalid("hub: is for jobs of objects");
    if (command.care != ObjectCare{}) return invalid("care: is for jobs of objects");
    return Ok{};
  }
  if (command.hub) {
    if (Status s = check_hub(*command.hub); !s) return s;
  }
  return check_care(command.care);
}

}  // namespace

bool needs_containers(const Command& command) {
  return !command.objects.empty() || !command.container.image.empty() ||
         std::any_of(command.sets.begin(), command.sets.end(),
                     [](const CommandSet& set) { return !set.image.empty(); });
}

bool needs_default_image(const Command& command) {
  return command.objects.empty() &&
         std::any_of(command.sets.begin(), command.sets.end(),
                     [&](const CommandSet& set) { return command.image_of(set).empty(); });
}

Status validate(const Command& command) {
  if (command.sets.empty()) return invalid("sets: empty; a job has at least one pod set");
  if (Status s = check_container(command.container); !s) return s;
  if (Status s = check_environment(command.environment, "environment"); !s) return s;
  for (std::size_t i = 0; i < command.sets.size(); ++i) {
    const CommandSet& set = command.sets[i];
    const std::string field = fmt::format("sets[{}]", i);
    if (command.objects.empty()) {
      if (Status s = check_argv(command.argv_of(set), set.argv.empty() ? "argv" : field + ".argv");
          !s)
        return s;
    }
    if (Status s = check_image(set.image, field + ".image"); !s) return s;
    if (Status s = check_environment(set.environment, field + ".environment"); !s) return s;
    if (has_nul(set.name)) return invalid(field + ".name: has a NUL byte");
    if (set.cpu.v < 0) return invalid(field + ".cpu: negative");
    if (set.memory.v < 0) return invalid(field + ".memory: negative");
  }
  for (std::size_t i = 0; i < command.files.size(); ++i) {
    if (Status s = check_file(command.files[i], i); !s) return s;
  }
  if (!command.working_dir.empty() &&
      (command.working_dir.front() != '/' || has_nul(command.working_dir)))
    return invalid(fmt::format("working_dir: '{}' is not an absolute path", command.working_dir));
  if (has_nul(command.name) || has_nul(command.user))
    return invalid("name, user: may not have a NUL byte");
  if (command.stop_grace && command.stop_grace->ms < 0) return invalid("stop_grace: negative");
  return check_listed(command);
}

}  // namespace muster::model
