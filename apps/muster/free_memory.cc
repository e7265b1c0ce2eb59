#include "apps/muster/free_memory.h"

#include <malloc.h>

/// Of the allocator of builds for users; those with sanitizers have another.
extern "C" void mi_collect(bool force) __attribute__((weak));

namespace muster::app {

void return_free_memory() {
  if (mi_collect != nullptr) mi_collect(true);
  malloc_trim(0);
}

}  // namespace muster::app
