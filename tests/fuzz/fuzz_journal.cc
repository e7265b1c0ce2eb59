// Bytes of the journal: whatever they are, the decoder says an event or an error, and what it
// accepts has exactly one form, so it is written back as the same bytes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "store/event_codec.h"
#include "tests/fuzz/input.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes = muster::fuzz::text_of({data, size});
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const std::string_view before = rest;
    const auto event = muster::store::decode(rest);
    if (!event) {
      MUSTER_CHECK(event.error().message.starts_with("journal: "), "{}", event.error().message);
      break;
    }
    std::string again;
    muster::store::encode(*event, again);
    MUSTER_CHECK(again == before.substr(0, before.size() - rest.size()), "another form");
  }
  return 0;
}
