// `muster serve --profile mcad`: in the place of the MCAD controller of a cluster, with nothing but
// its own flags and environment. What is not given otherwise follows from them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"

namespace CLI {
class App;
}

namespace muster::app {

/// MCAD's flags; "" is not given, and its environment counts.
struct McadFlags {
  std::string kubeconfig;
  std::string quota_enabled;
  std::string preemption;
  std::string dispatcher;
  std::string agent_configs;
  std::string health_address;
  std::string config_map;  // where MCAD's variables stand, beside the environment
  // Without a meaning in Muster, or never read by MCAD itself.
  std::string master;
  std::string dynamic_priority;
  std::string back_off_time;
  std::string head_of_line_holding_time;
  std::string quota_url;
  std::string secure_port;
  std::string reservation_timeout;
  std::map<std::string, std::string> klog;  // those of its log, which its chart gives it
};

/// To `serve`, in a group of their own.
std::shared_ptr<McadFlags> add_mcad_flags(CLI::App& serve);

struct McadSetup {
  std::string yaml;                // a configuration
  std::string health_address;      // where /healthz is served as well; "": nowhere
  std::vector<std::string> notes;  // what of the flags has no effect, and why
};
/// `variable` is the environment. The error names what is missing.
Result<McadSetup> mcad_setup(const McadFlags& flags,
                             const std::function<const char*(const char*)>& variable);

}  // namespace muster::app
