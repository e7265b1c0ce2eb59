#include "clusters/local/attempt_files.h"

#include <gmock/gmock.h>

#include "clusters/fields.h"

namespace muster::clusters {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Fields, AnyBytesComeBack) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  const std::string text =
      FieldWriter().add("a", "").add("b", "x\ny\\n").add("all", all).add("n", -5).text();
  const auto fields = parse_fields(text);
  ASSERT_TRUE(fields);
  EXPECT_THAT(*fields, ElementsAre(Field{"a", ""}, Field{"b", "x\ny\\n"}, Field{"all", all},
                                   Field{"n", "-5"}));
}

TEST(Fields, WhatIsCutOffAnywhereIsRefused) {
  const std::string text = FieldWriter().add("a", "1").add("end_of", "2").text();
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_FALSE(parse_fields(std::string_view(text).substr(0, length))) << length;
  EXPECT_TRUE(parse_fields(text));
}

TEST(Fields, WhatAWriterDoesNotWriteIsRefused) {
  for (const char* text : {"a\nend\n", "A 1\nend\n", " 1\nend\n", "a \\x\nend\n", "a \\\nend\n",
                           "end 1\nend\n", "\nend\n", "a 1\r\nb\nend\n"})
    EXPECT_FALSE(parse_fields(text)) << text;
}

AttemptSpec full_spec() {
  AttemptSpec spec{"job/1", 7, "boot", "/tmp", {"/u", "/c", "/m"}, seconds(3), 100, 1024, {}, {}};
  spec.files = {{"a", "x\ny", true}, {"b", "", false}};
  spec.pods = {{"head", 0, {"sh", "-c", "a\nb"}, {{"A", "="}, {"B", ""}}, {1}, {2}},
               {"", 1, {"x"}, {}, {}, {}}};
  return spec;
}

TEST(AttemptFiles, ASpecComesBackAsItWas) {
  const auto read = parse_spec(to_text(full_spec()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, full_spec());
}

TEST(AttemptFiles, AStateComesBackAsItWas) {
  for (const Outcome outcome : {Outcome::None, Outcome::Succeeded, Outcome::Failed,
                                Outcome::StartFailed, Outcome::Removed}) {
    const AttemptState state{Phase::Over, outcome, 3,       "why\nnot",
                             17,          Time{5}, Time{6}, {{1, 2, 3, 4, "cpu"}, {}}};
    const auto read = parse_state(to_text(state));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, state);
  }
}

TEST(AttemptFiles, AFieldThatDoesNotBelongIsNamed) {
  const char* texts[] = {"attempt -1\nend\n", "attempt x\nend\n",     "arg x\nend\n",
                         "content x\nend\n",  "pod a\nenv =x\nend\n", "pod a\nenv x\nend\n",
                         "colour red\nend\n"};
  for (const char* text : texts) {
    const auto read = parse_spec(text);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, HasSubstr("may not be"));
  }
  EXPECT_FALSE(parse_state("phase sleeping\nend\n"));
  EXPECT_FALSE(parse_state("exit_code 99999999999\nend\n"));
  EXPECT_FALSE(parse_state("signal 9\nend\n"));
}

}  // namespace
}  // namespace muster::clusters
