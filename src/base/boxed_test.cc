#include "base/boxed.h"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

struct Word {
  std::string text = "none";
  friend bool operator==(const Word&, const Word&) = default;
};

TEST(Boxed, IsTheDefaultUntilItIsAnotherOne) {
  Boxed<Word> word;
  EXPECT_EQ(word->text, "none");
  word.edit().text = "some";
  EXPECT_EQ((*word).text, "some");
  EXPECT_EQ(word.take().text, "some");
  EXPECT_EQ(word->text, "none");
  EXPECT_EQ(word.take().text, "none");
}

TEST(Boxed, CopiesAreCopies) {
  Boxed<Word> word = Word{"a"};
  Boxed<Word> other = word;
  EXPECT_EQ(other, word);
  other.edit().text = "b";
  EXPECT_EQ(word->text, "a");
  word = other;
  EXPECT_EQ(word->text, "b");
  word = {};
  EXPECT_EQ(word, Boxed<Word>());
}

}  // namespace
}  // namespace muster
