// The files that supervisors and servers leave for each other, after a crash or somebody's editor:
// anything is either refused or read, and what was read is written and read again as the same.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "clusters/local/attempt_files.h"
#include "tests/fuzz/lines.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster::clusters;
  // The first byte says which file it is; most inputs should get past the missing last line.
  if (size == 0) return 0;
  const std::string text = std::string(data + 1, data + size) + "\nend\n";
  if (data[0] % 2 == 0) {
    if (const auto spec = parse_spec(text)) {
      const auto again = parse_spec(to_text(*spec));
      MUSTER_CHECK(again && *again == *spec, "a spec is another when read again");
    }
  } else if (const auto state = parse_state(text)) {
    const auto again = parse_state(to_text(*state));
    MUSTER_CHECK(again && *again == *state, "a state is another when read again");
  }
  return 0;
}
