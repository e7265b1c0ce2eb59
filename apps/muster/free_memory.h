// What this process has freed, back to the system.
#pragma once

namespace muster::app {

/// Allocators keep what a thread has freed for what that thread may ask for next. To be called by
/// the thread that took much for a while; what others keep stays with them.
void return_free_memory();

}  // namespace muster::app
