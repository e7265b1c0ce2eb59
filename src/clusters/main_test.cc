// The test program is also the supervisor of the pods that its tests start, as muster is,
// and the server that one of them kills again and again.
#include <gtest/gtest.h>

#include <cstring>

#include "clusters/local/supervisor.h"
#include "clusters/local/testing/many_attempts.h"

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "pod-supervisor") == 0)
    return muster::clusters::run_supervisors(argv[2]);
  if (argc == 4 && std::strcmp(argv[1], "local-server") == 0)
    return muster::clusters::serve_many_attempts(argv[2], argv[3]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
