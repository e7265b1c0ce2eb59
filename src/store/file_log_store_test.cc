#include "store/file_log_store.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/testing/scratch.h"
#include "ports/log_store_contract.h"

namespace muster::store {
namespace {

struct FileLogHarness {
  ports::LogStore& logs() { return *kept; }
  ports::LogStore& reopened() {
    kept = another();
    return *kept;
  }
  /// Small files, so that every test has several.
  std::unique_ptr<FileLogStore> another() const {
    return std::make_unique<FileLogStore>(
        scratch.file("logs"),
        FileLogStore::Options{.segment_bytes = 2000, .look_bytes = 1 << 20, .open_files = 2});
  }
  Scratch scratch;
  std::unique_ptr<FileLogStore> kept = another();
};

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  return files;
}

TEST(FileLogStore, WhatAKilledWriterLeftByHalfIsCutOff) {
  const std::vector<ports::LogLine> first = {{Time{1}, "p", ports::Stream::Out, "whole\n", 0}};
  const std::vector<ports::LogLine> second = {{Time{2}, "p", ports::Stream::Out, "again\n", 0}};
  for (std::uintmax_t cut = 1; cut < 24; ++cut) {
    FileLogHarness harness;
    ASSERT_TRUE(harness.logs().append({"a", 1}, first));
    ASSERT_TRUE(harness.logs().append({"a", 1}, second));
    const auto files = files_in(harness.scratch.path());
    ASSERT_EQ(files.size(), 1u);
    const auto size = std::filesystem::file_size(files[0]);
    std::filesystem::resize_file(files[0], size - cut);
    EXPECT_EQ(harness.logs().read({"a", 1}, {})->lines.size(), 1u);
    ports::LogStore& again = harness.reopened();
    EXPECT_EQ(*again.appended({"a", 1}, "p", ports::Stream::Out), 6u);
    ASSERT_TRUE(again.append({"a", 1}, second));
    const auto page = again.read({"a", 1}, {});
    ASSERT_EQ(page->lines.size(), 2u) << cut;
    EXPECT_EQ(page->lines[1].text, "again\n");
    EXPECT_EQ(std::filesystem::file_size(files[0]), size);
  }
}

TEST(FileLogStore, AFileWithoutAHeadIsBegunAgain) {
  FileLogHarness harness;
  const std::vector<ports::LogLine> lines = {{Time{1}, "p", ports::Stream::Out, "x\n", 0}};
  ASSERT_TRUE(harness.logs().append({"a", 1}, lines));
  std::filesystem::resize_file(files_in(harness.scratch.path())[0], 3);
  ports::LogStore& again = harness.reopened();
  ASSERT_TRUE(again.append({"a", 1}, lines));
  EXPECT_EQ(again.read({"a", 1}, {})->lines.size(), 1u);
}

TEST(FileLogStore, AnOffsetThatNoLogGaveReadsNothing) {
  FileLogHarness harness;
  const std::vector<ports::LogLine> lines = {{Time{1}, "p", ports::Stream::Out, "abc\n", 0}};
  ASSERT_TRUE(harness.logs().append({"a", 1}, lines));
  for (const std::uint64_t from : {1ull, 10ull, 12ull, 1000ull, ~0ull})
    EXPECT_TRUE(harness.logs().read({"a", 1}, {.from = from})->lines.empty()) << from;
}

TEST(FileLogStore, AFolderThatCannotBeWrittenIsUnavailable) {
  const Scratch scratch;
  std::ofstream(scratch.file("logs")) << "in the way";
  FileLogStore logs(scratch.file("logs"), {});
  const std::vector<ports::LogLine> lines = {{Time{1}, "p", ports::Stream::Out, "x\n", 0}};
  const Status refused = logs.append({"a", 1}, lines);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::Unavailable);
  std::filesystem::remove(scratch.file("logs"));
  EXPECT_TRUE(logs.append({"a", 1}, lines));
}

}  // namespace
}  // namespace muster::store

namespace muster::ports {
INSTANTIATE_TYPED_TEST_SUITE_P(File, LogStoreContract, store::FileLogHarness);
}  // namespace muster::ports
