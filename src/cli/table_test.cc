#include "cli/table.h"

#include <gtest/gtest.h>

namespace muster::cli {
namespace {

TEST(Table, columns_are_as_wide_as_what_stands_in_them) {
  Table table({{"NAME"}, {"GPUS", true}, {"STATE"}});
  table.add({"train", "8", "running"});
  table.add({"a-long-name", "128", "waiting"});
  EXPECT_EQ(table.to_text({}),
            "NAME         GPUS  STATE\n"
            "train           8  running\n"
            "a-long-name   128  waiting\n");
}

TEST(Table, lines_do_not_end_in_blanks) {
  Table table({{"A"}, {"B"}, {"C", true}});
  table.add({"x", "", ""});
  table.add({"longer"});
  EXPECT_EQ(table.to_text({}), "A       B  C\nx\nlonger\n");
}

TEST(Table, the_last_column_that_may_be_cut_makes_room_first) {
  Table table({{"ID"}, {"NAME", false, true}, {"WHY", false, true}});
  table.add({"0123456789", "a name of some length", "a reason that is rather long, too"});
  const std::string text = table.to_text({.width = 60});
  EXPECT_EQ(text,
            "ID          NAME                   WHY\n"
            "0123456789  a name of some length  a reason that is rather …\n");
  for (const int width : {20, 30, 45}) {
    const std::string narrow = table.to_text({.width = width, .headings = false});
    EXPECT_LE(width_of(narrow) - 1, static_cast<std::size_t>(std::max(width, 30))) << narrow;
  }
}

TEST(Table, without_rows_there_is_nothing) { EXPECT_EQ(Table({{"A"}}).to_text({}), ""); }

TEST(Table, colours_do_not_count_as_width) {
  Table table({{"STATE"}, {"N", true}});
  table.add({Cell("running", Paint::Good), "1"});
  EXPECT_EQ(table.to_text({.color = true, .headings = false}), "\x1b[32mrunning\x1b[0m  1\n");
}

TEST(Table, names_of_others_cannot_write_to_the_terminal) {
  Table table({{"NAME"}, {"X"}});
  table.add({"a\x1b[2Jb\nc", "1"});
  EXPECT_EQ(table.to_text({.headings = false}), "a [2Jb c  1\n");
}

TEST(Table, characters_count_not_bytes) {
  EXPECT_EQ(width_of("Zürich"), 6u);
  EXPECT_EQ(cut("Zürich", 3), "Zü…");
  EXPECT_EQ(cut("Zürich", 6), "Zürich");
  EXPECT_EQ(cut("abc", 0), "");
  Table table({{"A"}, {"B"}});
  table.add({"ü", "1"});
  table.add({"ab", "2"});
  EXPECT_EQ(table.to_text({.headings = false}), "ü   1\nab  2\n");
}

TEST(Sheet, values_stand_one_under_the_other_and_empty_ones_are_left_out) {
  Sheet sheet;
  sheet.add("id", "7");
  sheet.add("reason", "");
  sheet.add("exit code", "3");
  EXPECT_EQ(sheet.to_text(false), "id         7\nexit code  3\n");
}

}  // namespace
}  // namespace muster::cli
