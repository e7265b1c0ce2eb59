#include "clusters/local/pod_output.h"

#include <gmock/gmock.h>

#include "clusters/local/testing/site.h"

namespace muster::clusters {
namespace {

using ports::Stream;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

struct Output {
  explicit Output(std::int64_t most = 1 << 20)
      : path(temporary.path() + "/log"), file(*OutputFile::make(path, most)) {}
  std::string text(Stream stream) const {
    std::string text;
    for (std::uint64_t position = 0;;) {
      const auto chunks = read_output(path, position, 1);
      if (!chunks || chunks->empty()) return text;
      for (const auto& chunk : *chunks) text += chunk.stream == stream ? chunk.bytes : "";
      position = chunks->back().position;
    }
  }
  Scratch temporary;
  std::string path;
  OutputFile file;
};

TEST(PodOutput, ChunksComeBackInOrderWithStreamAndTime) {
  Output output;
  output.file.append(Stream::Out, Time{1000}, "one");
  output.file.append(Stream::Err, Time{1001}, "two");
  const auto chunks = read_output(output.path, 0, 1 << 16);
  ASSERT_TRUE(chunks);
  ASSERT_THAT(*chunks, SizeIs(2));
  EXPECT_EQ((*chunks)[0].bytes, "one");
  EXPECT_EQ((*chunks)[1].bytes, "two");
  EXPECT_EQ((*chunks)[1].stream, Stream::Err);
  EXPECT_EQ((*chunks)[1].at, Time{1001});
  const auto later = read_output(output.path, (*chunks)[0].position, 1 << 16);
  ASSERT_THAT(*later, SizeIs(1));
  EXPECT_THAT(*read_output(output.path, (*chunks)[1].position, 1 << 16), IsEmpty());
}

TEST(PodOutput, AChunkThatIsNotWholeYetIsWaitedFor) {
  Output output;
  output.file.append(Stream::Out, Time{1}, "one");
  output.file.append(Stream::Out, Time{1}, "two");
  const auto whole = std::filesystem::file_size(output.path);
  for (std::uintmax_t size = whole; size-- > whole / 2;) {
    std::filesystem::resize_file(output.path, size);
    const auto chunks = read_output(output.path, 0, 1 << 16);
    ASSERT_TRUE(chunks) << size;
    EXPECT_THAT(*chunks, SizeIs(1)) << size;
  }
}

TEST(PodOutput, LongOutputIsCutIntoChunksAndNothingIsLost) {
  Output output;
  std::string bytes;
  for (int i = 0; i < 50'000; ++i) bytes += std::to_string(i) + "\n";
  output.file.append(Stream::Out, Time{1}, bytes);
  EXPECT_EQ(output.text(Stream::Out), bytes);
}

TEST(PodOutput, OutputBeyondTheLimitIsMissingAndANoteSaysSo) {
  Output output(10);
  for (int i = 0; i < 5; ++i) output.file.append(Stream::Out, Time{1}, "1234");
  output.file.close(Time{2});
  EXPECT_EQ(output.text(Stream::Out), "12341234");
  EXPECT_THAT(output.text(Stream::Note), HasSubstr("longer than is kept"));
}

TEST(PodOutput, ForeignBytesAreSaidAndWhatStandsBeforeThemIsRead) {
  Output output;
  output.file.append(Stream::Out, Time{1}, "good");
  std::ofstream(output.path, std::ios::app) << std::string(20, '\xff');
  const auto chunks = read_output(output.path, 0, 1 << 16);
  ASSERT_TRUE(chunks);
  ASSERT_THAT(*chunks, SizeIs(1));
  const auto rest = read_output(output.path, chunks->back().position, 1 << 16);
  ASSERT_FALSE(rest);
  EXPECT_EQ(rest.error().fault, Fault::Invalid);
}

TEST(FileName, AnyTextIsANameAndDifferentTextsAreDifferentNames) {
  EXPECT_EQ(file_name("train-1_b"), "train-1_b");
  EXPECT_EQ(file_name("a/b."), "a%2Fb%2E");
  EXPECT_EQ(file_name(".."), "%2E%2E");
  const std::string long_one(1000, 'x');
  EXPECT_LT(file_name(long_one).size(), 200u);
  EXPECT_NE(file_name(long_one), file_name(long_one + "y"));
  EXPECT_NE(file_name(long_one), file_name(long_one.substr(0, 120)));
}

}  // namespace
}  // namespace muster::clusters
