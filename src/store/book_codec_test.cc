#include "store/book_codec.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "store/testing/sample_books.h"

namespace muster::store {
namespace {

struct Golden {
  const char* file;
  std::vector<model::BookRecord> records;
};
std::vector<Golden> goldens() {
  return {{"tests/store/books_v1.golden", sample_books()},
          {"tests/store/books_v2.golden", sample_books_v2()},
          {"tests/store/books_v3.golden", sample_books_v3()},
          {"tests/store/books_v4.golden", sample_books_v4()},
          {"tests/store/books_v5.golden", sample_books_v5()},
          {"tests/store/books_v6.golden", sample_books_v6()},
          {"tests/store/books_v7.golden", sample_books_v7()}};
}

std::string encoded(const model::BookRecord& record) {
  std::string bytes;
  encode_book(record, bytes);
  return bytes;
}

TEST(BookCodec, EveryKindOfRecordComesBackTheSame) {
  std::vector<bool> seen(std::variant_size_v<model::BookRecord>);
  std::vector<model::BookRecord> records = sample_books();
  for (const auto& newer : {sample_books_v2(), sample_books_v3(), sample_books_v4(),
                            sample_books_v5(), sample_books_v6(), sample_books_v7()})
    records.insert(records.end(), newer.begin(), newer.end());
  for (const model::BookRecord& record : records) {
    const std::string bytes = encoded(record);
    std::string_view rest = bytes;
    model::BookRecord again;
    const Status status = decode_book(rest, again);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_TRUE(rest.empty());
    EXPECT_EQ(again.index(), record.index());
    EXPECT_EQ(encoded(again), bytes);
    seen[record.index()] = true;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), false), 0);
}

TEST(BookCodec, SnapshotsOfAllVersionsStillRead) {
  for (const Golden& golden : goldens()) {
    std::ifstream file(golden.file, std::ios::binary);
    ASSERT_TRUE(file) << golden.file;
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    std::string_view rest = bytes;
    for (const model::BookRecord& wanted : golden.records) {
      model::BookRecord record;
      const Status status = decode_book(rest, record);
      ASSERT_TRUE(status) << golden.file << ": " << status.error().message;
      EXPECT_EQ(encoded(record), encoded(wanted))
          << golden.file << ", record of kind " << wanted.index();
    }
    EXPECT_TRUE(rest.empty()) << golden.file;
  }
}

TEST(BookCodec, WhatANewerMusterWroteIsRefusedWithTheReason) {
  std::string bytes = encoded(model::BookNode{0, "n"});
  ASSERT_EQ(bytes[1], 3);  // the kind, behind the length
  ASSERT_EQ(bytes[2], 1);  // its version
  bytes[2] = 2;
  std::string_view rest = bytes;
  model::BookRecord record;
  const Status newer = decode_book(rest, record);
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().message,
            "snapshot: node of version 2, this Muster knows up to 1: a newer one wrote it; upgrade "
            "this one to read it");
  bytes[1] = 31;
  rest = bytes;
  const Status unknown = decode_book(rest, record);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message,
            "snapshot: unknown kind of record 31: a newer Muster wrote it; upgrade this one to "
            "read it");
}

TEST(BookCodec, BytesCutOffAnywhereAreAnError) {
  for (const model::BookRecord& record : sample_books()) {
    const std::string bytes = encoded(record);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      std::string_view rest = std::string_view(bytes).substr(0, size);
      model::BookRecord again;
      ASSERT_FALSE(decode_book(rest, again)) << record.index() << ", " << size;
    }
  }
}

TEST(BookCodec, AWaitingJobTakesFewBytes) {
  model::BookJob job;
  job.slot = 999'999;
  job.id = "k3v9c0wq2d7f";
  job.seq = 1'000'000;
  job.submitted = Time{1'700'000'000'000};
  job.first_low = job.first_expected = job.first_high = hours(24);
  EXPECT_LE(encoded(job).size(), 64u);
}

}  // namespace
}  // namespace muster::store
