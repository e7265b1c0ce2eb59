#include "clusters/local/this_machine.h"

#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

namespace muster::clusters {
namespace {

constexpr int slots_most = 32;  // bits of PodPlace::devices

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? name : "localhost";
}

std::int64_t memory_of_machine() {
  struct sysinfo info{};
  if (::sysinfo(&info) != 0) return 0;
  return static_cast<std::int64_t>(info.totalram) * info.mem_unit;
}

}  // namespace

Result<model::NodeSpec> this_machine(const MachineOptions& options) {
  if (options.slots < 0 || options.slots > slots_most)
    return invalid(fmt::format("slots: {} is not in 0..{}", options.slots, slots_most));
  model::NodeSpec node;
  node.name = options.name.empty() ? host_name() : options.name;
  node.labels = {{"kubernetes.io/hostname", node.name}};
  node.allocatable.cpu = options.cpu;
  if (options.cpu.v == 0)
    node.allocatable.cpu = {std::int64_t{1000} * std::max(1u, std::thread::hardware_concurrency())};
  node.allocatable.memory =
      options.memory.v > 0 ? options.memory : model::Bytes{memory_of_machine()};
  node.gpu_count = options.slots;
  if (options.slots > 0) {
    node.gpu_type = options.gpu_type;
    node.gpu_memory = options.gpu_memory;
  }
  return node;
}

}  // namespace muster::clusters
