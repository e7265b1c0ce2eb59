// Bytes of the journal: whatever they are, the decoder says an event or an error, and what it
// accepts has exactly one form, so it is written back as the same bytes; that of an older version
// is written back in the form of today, which stays. The engine takes or refuses each, and its
// world is sound.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "sched/world.h"
#include "store/event_codec.h"
#include "tests/fuzz/entry.h"
#include "tests/fuzz/input.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes = muster::fuzz::text_of({data, size});
  std::string_view rest = bytes;
  muster::sched::World world;
  while (!rest.empty()) {
    const std::string_view before = rest;
    const auto event = muster::store::decode(rest);
    if (!event) {
      MUSTER_CHECK(event.error().message.starts_with("journal: "), "{}", event.error().message);
      break;
    }
    muster::sched::apply(world, *event, muster::sched::Policy{});
    const std::string wrong = muster::sched::check(world);
    MUSTER_CHECK(wrong.empty(), "after event {}: {}", event->body.index(), wrong);
    std::string again;
    muster::store::encode(*event, again);
    const std::string_view taken = before.substr(0, before.size() - rest.size());
    if (muster::fuzz::version_of(again) == muster::fuzz::version_of(taken)) {
      MUSTER_CHECK(again == taken, "another form");
      continue;
    }
    std::string_view newer = again;
    const auto same = muster::store::decode(newer);
    MUSTER_CHECK(same.ok() && newer.empty(), "the form of today cannot be read");
    std::string once_more;
    muster::store::encode(*same, once_more);
    MUSTER_CHECK(once_more == again, "the form of today does not stay");
  }
  return 0;
}
