// Bytes of a snapshot: whatever they are, the decoder says a record or an error, and what it
// accepts has exactly one form, so it is written back as the same bytes; that of an older version
// is written back in the form of today, which stays.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "store/book_codec.h"
#include "tests/fuzz/entry.h"
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
    const std::string_view taken = before.substr(0, before.size() - rest.size());
    if (muster::fuzz::version_of(again) == muster::fuzz::version_of(taken)) {
      MUSTER_CHECK(again == taken, "another form");
      continue;
    }
    std::string_view newer = again;
    muster::model::BookRecord same;
    MUSTER_CHECK(muster::store::decode_book(newer, same).ok() && newer.empty(),
                 "the form of today cannot be read");
    std::string once_more;
    muster::store::encode_book(same, once_more);
    MUSTER_CHECK(once_more == again, "the form of today does not stay");
  }
  return 0;
}
