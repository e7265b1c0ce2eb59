// The test program is also the supervisor of the pods that its tests start, as muster is.
#include <gtest/gtest.h>

#include <cstring>

#include "clusters/local/supervisor.h"

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "pod-supervisor") == 0)
    return muster::clusters::run_supervisors(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
