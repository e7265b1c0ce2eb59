// SseParser: the same events however the bytes are cut, and what to_text wrote comes back.
#include <array>
#include <string>
#include <vector>

#include "base/check.h"
#include "net/sse.h"
#include "tests/fuzz/input.h"

namespace {

using muster::net::SseEvent;

struct Outcome {
  std::vector<SseEvent> events;
  std::string last_id;
  bool ok = true;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome read(std::string_view text, std::size_t piece) {
  Outcome outcome;
  muster::net::SseParser parser([&](SseEvent event) { outcome.events.push_back(std::move(event)); },
                                4000);
  for (std::size_t i = 0; i < text.size() && outcome.ok; i += piece) {
    outcome.ok = parser.feed(text.substr(i, piece)).ok();
  }
  outcome.last_id = parser.last_event_id();
  return outcome;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static constexpr std::array<std::string_view, 20> words = {
      "data",        ":",     " ",         "\n",   "\r\n",    "\r",           "id",
      "event",       "retry", "data: x\n", "\n\n", "7",       "\xEF\xBB\xBF", "\0",
      "99999999999", ": c\n", "a",         "\xff", "id: 1\n", "data:\n"};
  muster::fuzz::Bytes bytes(data, size);
  const std::size_t mode = muster::fuzz::take(bytes);
  const std::string text =
      mode % 2 == 0 ? muster::fuzz::text_of(bytes) : muster::fuzz::text_of(bytes, words);
  const Outcome whole = read(text, text.size() + 1);
  for (const std::size_t piece : {std::size_t{1}, 1 + mode % 13}) {
    const Outcome cut = read(text, piece);
    // A limit may be met earlier or later in a larger piece, but never with other events before.
    if (whole.ok && cut.ok) MUSTER_CHECK(whole == cut, "pieces of {} differ", piece);
  }
  for (const SseEvent& event : whole.events) {
    const Outcome back = read(to_text(event), 1000);
    if (!back.ok) continue;
    MUSTER_CHECK(back.events.size() == 1, "{} events", back.events.size());
    MUSTER_CHECK(back.events[0] == event, "'{}' came back as '{}'", event.data,
                 back.events[0].data);
  }
  return 0;
}
