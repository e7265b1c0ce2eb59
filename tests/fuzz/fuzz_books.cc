// Bytes of a snapshot: whatever they are, the decoder says a record or an error, and what it
// accepts has exactly one form, so it is written back as the same bytes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "store/book_codec.h"
#include "tests/fuzz/input.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes = muster::fuzz::text_of({data, size});
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const std::string_view before = rest;
    muster::model::BookRecord record;
    const muster::Status status = muster::store::decode_book(rest, record);
    if (!status) {
      MUSTER_CHECK(status.error().message.starts_with("snapshot: "), "{}", status.error().message);
      MUSTER_CHECK(rest == before, "bytes were taken in spite of an error");
      break;
    }
    std::string again;
    muster::store::encode_book(record, again);
    MUSTER_CHECK(again == before.substr(0, before.size() - rest.size()), "another form");
  }
  return 0;
}
