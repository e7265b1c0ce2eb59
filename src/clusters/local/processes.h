// What /proc knows of the processes of this machine.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::clusters {

/// Children of `root`, their children, and so on.
std::vector<pid_t> descendants(pid_t root);
/// Processes with a variable in their first environment that begins with `mark` ("NAME=start").
/// Daemons keep it, whatever session or parent they have; zombies have none.
std::vector<pid_t> marked(std::string_view mark);
/// When the process started, in clock ticks since boot; 0 if there is none.
std::int64_t start_ticks(pid_t pid);
/// Another one after each boot of the machine.
const std::string& boot_id();

}  // namespace muster::clusters
