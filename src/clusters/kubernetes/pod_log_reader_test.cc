#include "clusters/kubernetes/pod_log_reader.h"

#include <gtest/gtest.h>

namespace muster::clusters {
namespace {

using Chunks = std::vector<ports::OutputChunk>;

/// "text text" of all chunks.
std::string text(const Chunks& chunks) {
  std::string all;
  for (const ports::OutputChunk& chunk : chunks) all += chunk.bytes;
  return all;
}

std::string line(int second, int nanosecond, std::string_view words) {
  return fmt::format("2026-01-31T12:00:{:02}.{:09}Z {}\n", second, nanosecond, words);
}

constexpr Time noon{1769860800000};

TEST(PodLogReader, LinesLoseTheirTimestampsAndKeepTheirTimes) {
  PodLogReader reader({});
  EXPECT_EQ(reader.since(), "");
  reader.begin_stream();
  Chunks out;
  const std::string log = line(1, 5, "one") + line(1, 250'000'000, "") + line(2, 0, " two ");
  for (const char c : log) reader.feed(std::string_view(&c, 1), out);  // in any pieces
  ASSERT_EQ(out.size(), 3U);
  EXPECT_EQ(out[0].bytes, "one\n");
  EXPECT_EQ(out[0].at, noon + seconds(1));
  EXPECT_EQ(out[1].bytes, "\n");
  EXPECT_EQ(out[1].at, noon + milliseconds(1250));
  EXPECT_EQ(out[2].bytes, " two \n");
  EXPECT_LT(out[1].position, out[2].position);
  EXPECT_EQ(reader.since(), "2026-01-31T12:00:01Z");
}

TEST(PodLogReader, AfterABrokenStreamEachLineIsGivenOutOnce) {
  // Lines of the same time, and one that was written out of order around a full second.
  const std::vector<std::string> log = {line(1, 7, "a"), line(1, 7, "b"),           line(1, 7, "b"),
                                        line(2, 1, "c"), line(1, 999'999'990, "d"), line(2, 1, "e"),
                                        line(3, 0, "f")};
  std::string whole;
  for (const std::string& one : log) whole += one;
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    PodLogReader reader({});
    Chunks out;
    reader.begin_stream();
    reader.feed(std::string_view(whole).substr(0, cut), out);
    const std::string since = reader.since();
    reader.begin_stream();
    for (const std::string& one : log) {  // as the kubelet chooses
      if (one.substr(0, 19) >= since.substr(0, 19)) reader.feed(one, out);
    }
    EXPECT_EQ(text(out), "a\nb\nb\nc\nd\ne\nf\n") << cut;
  }
}

TEST(PodLogReader, ANewReaderGoesOnAfterWhatIsKept) {
  const std::string whole = line(1, 1, "a") + line(1, 2, "bb") + line(1, 3, "cc") +
                            line(1, 999'000, "dd") + line(2, 0, "e");
  Chunks all;
  PodLogReader first({});
  first.begin_stream();
  first.feed(whole, all);
  for (std::size_t kept = 0; kept <= all.size(); ++kept) {
    ports::LastKept last;
    for (std::size_t i = 0; i < kept; ++i) {
      if (all[i].at != last.at) last = {all[i].at, 0};
      last.bytes += all[i].bytes.size();
    }
    PodLogReader second(last);
    Chunks out(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept));
    second.begin_stream();
    second.feed(whole, out);
    EXPECT_EQ(text(out), "a\nbb\ncc\ndd\ne\n") << kept;
  }
}

TEST(PodLogReader, ALastLineWithoutNewlineComesWhenTheLogEnds) {
  PodLogReader reader({});
  reader.begin_stream();
  Chunks out;
  const std::string last = line(1, 0, "no end");
  reader.feed(std::string_view(last).substr(0, last.size() - 1), out);
  EXPECT_TRUE(out.empty());
  reader.begin_stream();  // it broke off: perhaps there is more of it
  reader.feed(std::string_view(last).substr(0, last.size() - 1), out);
  reader.end_log(out);
  EXPECT_EQ(text(out), "no end");
  EXPECT_GT(reader.note("[gone]\n", noon).position, out.back().position);
}

TEST(PodLogReader, AVeryLongLineComesInPieces) {
  const std::string words(600'000, 'x');
  PodLogReader reader({});
  Chunks out;
  for (int stream = 0; stream < 2; ++stream) {
    reader.begin_stream();
    reader.feed(line(1, 0, words) + line(1, 1, "next"), out);
  }
  EXPECT_EQ(text(out), words + "\nnext\n");
  EXPECT_EQ(out.size(), 4U);
}

}  // namespace
}  // namespace muster::clusters
