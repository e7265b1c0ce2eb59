#include "model/amount.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/prng.h"

namespace muster::model {
namespace {

struct Case {
  std::string_view text;
  std::int64_t whole;
  std::int64_t milli;
};

TEST(Quantity, MeansWhatItMeansInKubernetes) {
  const Case cases[] = {
      {"0", 0, 0},
      {"+0", 0, 0},
      {"-0", 0, 0},
      {"000", 0, 0},
      {"0Ei", 0, 0},
      {"0e999999999", 0, 0},
      {"1", 1, 1000},
      {"+1", 1, 1000},
      {"007", 7, 7000},
      {"1.5", 2, 1500},
      {".5", 1, 500},
      {"5.", 5, 5000},
      {"5.k", 5000, 5'000'000},
      {"0.001", 1, 1},
      {"0.0001", 1, 1},
      {"1.0000000000000000000000000000001", 2, 1001},
      {"250m", 1, 250},
      {"1000m", 1, 1000},
      {"1001m", 2, 1001},
      {"1u", 1, 1},
      {"1000u", 1, 1},
      {"1001u", 1, 2},
      {"1n", 1, 1},
      {"1000000n", 1, 1},
      {"1000000001n", 2, 1001},
      {"0n", 0, 0},
      {"2k", 2000, 2'000'000},
      {"2M", 2'000'000, 2'000'000'000},
      {"2G", 2'000'000'000, 2'000'000'000'000},
      {"2T", 2'000'000'000'000, 2'000'000'000'000'000},
      {"1Ki", 1024, 1'024'000},
      {"1Mi", 1 << 20, 1000LL << 20},
      {"1Gi", 1 << 30, 1000LL << 30},
      {"1.5Gi", 3LL << 29, 3000LL << 29},
      {"1.1Ki", 1127, 1'126'400},
      {"0.1Ki", 103, 102'400},
      {"0.0009765625Ki", 1, 1000},
      {"0.00097656251Ki", 2, 1001},
      {"0.0000000000000000008673617379884035472Ei", 1, 1000},
      {"0.0000000000000000009Ei", 2, 1038},
      {"2e3", 2000, 2'000'000},
      {"2E3", 2000, 2'000'000},
      {"2e+3", 2000, 2'000'000},
      {"2E-3", 1, 2},
      {"2e-4", 1, 1},
      {"1.25e2", 125, 125'000},
      {"1e0", 1, 1000},
      {"1e-0", 1, 1000},
      {"1e00000000000000000000000000000003", 1000, 1'000'000},
      {"1e-999999999", 1, 1},
      {"1e-99999999999999999999999999", 1, 1},
      {"0.00000000000000000001E", 1, 10},
      {"1000000000000000000000e-21", 1, 1000},
  };
  for (const Case& c : cases) {
    const auto whole = parse_quantity(c.text, "memory", Scale::Whole);
    ASSERT_TRUE(whole.ok()) << c.text << ": " << whole.error().message;
    EXPECT_EQ(*whole, c.whole) << c.text;
    const auto milli = parse_quantity(c.text, "cpu", Scale::Milli);
    ASSERT_TRUE(milli.ok()) << c.text << ": " << milli.error().message;
    EXPECT_EQ(*milli, c.milli) << c.text;
  }
}

TEST(Quantity, IsCappedBelowTwoToThe55th) {
  const std::pair<std::string_view, std::optional<std::int64_t>> cases[] = {
      {"36028797018963967", amount_max},
      {"36028797018963966.1", amount_max},
      {"36028797018963967.0", amount_max},
      {"36028797018963967.1", std::nullopt},
      {"36028797018963968", std::nullopt},
      {"31Pi", 31LL << 50},
      {"32Pi", std::nullopt},
      {"0.03125Ei", std::nullopt},
      {"36P", 36'000'000'000'000'000},
      {"37P", std::nullopt},
      {"1E", std::nullopt},
      {"1Ei", std::nullopt},
      {"1E16", 10'000'000'000'000'000},
      {"1e17", std::nullopt},
      {"1e18446744073709551617", std::nullopt},
      {"99999999999999999999999999999999999999999", std::nullopt},
  };
  for (const auto& [text, want] : cases) {
    const auto got = parse_quantity(text, "memory", Scale::Whole);
    EXPECT_EQ(got.ok(), want.has_value()) << text;
    if (got.ok() && want) {
      EXPECT_EQ(*got, *want) << text;
    }
  }
  EXPECT_FALSE(parse_quantity("36028797018964", "cpu", Scale::Milli).ok());
  EXPECT_EQ(*parse_quantity("36028797018963.967", "cpu", Scale::Milli), amount_max);
}

TEST(Quantity, NamesTheFieldAndTheFixWhenItIsWrong) {
  const std::string suffixes = "the suffixes are n u m k M G T P E and Ki Mi Gi Ti Pi Ei";
  const std::string example = "write for example 8, 1500M or 64Gi";
  const std::pair<std::string, std::string> cases[] = {
      {"", "is empty; " + example},
      {"-1", "negative: '-1'; write 0 or more"},
      {"-.1n", "negative: '-.1n'; write 0 or more"},
      {"+", "not a quantity: '+'; " + example},
      {"-", "not a quantity: '-'; " + example},
      {".", "not a quantity: '.'; " + example},
      {"Gi", "not a quantity: 'Gi'; " + example},
      {"e3", "not a quantity: 'e3'; " + example},
      {"+-1", "not a quantity: '+-1'; " + example},
      {" 1", "not a quantity: ' 1'; " + example},
      {"lots", "not a quantity: 'lots'; " + example},
      {"1 ", "unknown suffix ' ' in '1 '; " + suffixes},
      {"1 Gi", "unknown suffix ' Gi' in '1 Gi'; " + suffixes},
      {"1.2.3", "unknown suffix '.3' in '1.2.3'; " + suffixes},
      {"1,5", "unknown suffix ',5' in '1,5'; " + suffixes},
      {"1mm",
       "unknown suffix 'mm' in '1mm'; "
       "write M for powers of 1000 or Mi for powers of 1024"},
      {"1K", "unknown suffix 'K' in '1K'; write k for powers of 1000 or Ki for powers of 1024"},
      {"64GB",
       "unknown suffix 'GB' in '64GB'; "
       "write G for powers of 1000 or Gi for powers of 1024"},
      {"1e", "unknown suffix 'e' in '1e'; write E for powers of 1000 or Ei for powers of 1024"},
      {"1i", "unknown suffix 'i' in '1i'; " + suffixes},
      {"\t1", "not a quantity: '?1'; " + example},
      {"1E", "too large: '1E'; the most is 36028797018963967"},
  };
  for (const auto& [text, message] : cases) {
    const auto got = parse_quantity(text, "sets[0].memory", Scale::Whole);
    ASSERT_FALSE(got.ok()) << text;
    EXPECT_EQ(got.error().fault, Fault::Invalid);
    EXPECT_EQ(got.error().message, "sets[0].memory: " + message);
  }
  for (const std::string_view text : {"1e", "1e+", "1e-", "1e1.5", "1e3k", "1ee3", "1Kii", "0x10",
                                      "1_000", "inf", "nan", "1m5", "1Ki3"}) {
    EXPECT_FALSE(parse_quantity(text, "cpu", Scale::Milli).ok()) << text;
  }
  EXPECT_FALSE(parse_quantity(std::string_view("1\0", 2), "cpu", Scale::Milli).ok());
}

TEST(Quantity, OfHugeLengthIsReadExactlyAndQuicklyOrRefusedInOneShortLine) {
  const std::string zeros(10'000, '0');
  const std::string nines(10'000, '9');
  EXPECT_EQ(*parse_quantity(zeros + "7", "f", Scale::Whole), 7);
  EXPECT_EQ(*parse_quantity("7." + zeros, "f", Scale::Whole), 7);
  EXPECT_EQ(*parse_quantity("7." + zeros + "1", "f", Scale::Whole), 8);
  EXPECT_EQ(*parse_quantity("7." + zeros + "1", "f", Scale::Milli), 7001);
  EXPECT_EQ(*parse_quantity("0." + nines + "Ki", "f", Scale::Whole), 1024);
  EXPECT_EQ(*parse_quantity("7" + zeros + "e-10000", "f", Scale::Whole), 7);
  EXPECT_EQ(*parse_quantity("7" + zeros + "1e-10001", "f", Scale::Whole), 8);
  EXPECT_EQ(*parse_quantity("0." + zeros + "7e10001", "f", Scale::Whole), 7);
  EXPECT_FALSE(parse_quantity("1e999999999", "f", Scale::Whole).ok());
  EXPECT_FALSE(parse_quantity("1e" + nines, "f", Scale::Whole).ok());
  EXPECT_EQ(*parse_quantity("1e-" + nines, "f", Scale::Whole), 1);
  const auto refused = parse_quantity(nines, "memory", Scale::Whole);
  ASSERT_FALSE(refused.ok());
  EXPECT_LT(refused.error().message.size(), 120u);
}

TEST(Quantity, IsWrittenInTheShortestWayWithoutFraction) {
  const std::pair<std::int64_t, std::string_view> whole[] = {
      {0, "0"},
      {1, "1"},
      {999, "999"},
      {1000, "1k"},
      {1023, "1023"},
      {1024, "1Ki"},
      {1536, "1536"},
      {1500, "1500"},
      {1 << 20, "1Mi"},
      {1'000'000, "1M"},
      {3LL << 29, "1536Mi"},
      {64LL << 30, "64Gi"},
      {512'000, "512k"},
      {31LL << 50, "31Pi"},
      {-2048, "-2Ki"},
      {amount_max, "36028797018963967"},
      {10'000'000'000'000'000, "10P"},
  };
  for (const auto& [amount, text] : whole) EXPECT_EQ(quantity_text(amount, Scale::Whole), text);
  const std::pair<std::int64_t, std::string_view> milli[] = {
      {0, "0"},
      {1, "1m"},
      {250, "250m"},
      {1000, "1"},
      {1500, "1500m"},
      {64'000, "64"},
      {1'024'000, "1024"},
      {1'000'000, "1k"},
      {-500, "-500m"},
      {-3000, "-3"},
      {amount_max, "36028797018963967m"},
  };
  for (const auto& [amount, text] : milli) EXPECT_EQ(quantity_text(amount, Scale::Milli), text);
  EXPECT_EQ(quantity_text(INT64_MIN, Scale::Whole), "-8Ei");
}

TEST(Quantity, IsReadBackToTheSameAmount) {
  constexpr std::array<std::int64_t, 8> factors = {1,    1000,    1'000'000, 1'000'000'000'000,
                                                   1024, 1 << 20, 1 << 30,   1LL << 40};
  Prng prng(7);
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t factor = factors[prng.below(factors.size())];
    const std::int64_t amount = (prng.between(0, amount_max / factor) >> prng.below(55)) * factor;
    for (const Scale scale : {Scale::Whole, Scale::Milli}) {
      const std::string text = quantity_text(amount, scale);
      const auto back = parse_quantity(text, "amount", scale);
      ASSERT_TRUE(back.ok()) << text;
      ASSERT_EQ(*back, amount) << text;
    }
  }
}

}  // namespace
}  // namespace muster::model
