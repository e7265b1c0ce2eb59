// The bytes of a snapshot: records of the books (model/books.h), each a frame of its length, its
// kind, the version in which that kind was written and its fields. A kind's number and the meaning
// of a version never change; the reader keeps reading all older ones (tests/store/books_v1.golden).
//
// Reading never trusts: bad bytes are an error, and memory stays in proportion to the input.
// Pure. Thread contract: none needed.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/books.h"

namespace muster::store {

/// Appends the record's frame.
void encode_book(const model::BookRecord& record, std::string& out);

/// Takes one frame off the front of `bytes`, which are left as they are on failure. A record of a
/// kind or version that this build does not know, because a newer Muster wrote it, is an error that
/// says so.
Status decode_book(std::string_view& bytes, model::BookRecord& record);

}  // namespace muster::store
