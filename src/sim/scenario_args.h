// One line of a scenario: a verb, plain words, and key=value or key:name=value options. Whoever
// reads an argument takes it; what is left over at the end is an error, so that a misspelt option
// never passes silently.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/amount.h"

namespace muster::sim {

class Args {
 public:
  explicit Args(std::string_view line);

  const std::string& verb() const { return verb_; }
  /// The next plain word, or "" when there is none.
  std::string word();
  bool flag(std::string_view name);  // a plain word that stands anywhere
  std::optional<std::string> text(std::string_view key);
  /// All of key:name=value, in the order written.
  std::vector<std::pair<std::string, std::string>> named(std::string_view key);
  std::vector<std::string> list(std::string_view key);  // comma-separated
  std::int64_t number(std::string_view key, std::int64_t otherwise, std::int64_t low,
                      std::int64_t high);
  std::int64_t quantity(std::string_view key, std::int64_t otherwise, model::Scale scale);
  Duration duration(std::string_view key, Duration otherwise);
  /// Thousandths: "0.5" is 500, "8" is 8000.
  std::int64_t milli(std::string_view key, std::int64_t otherwise);

  void fail(std::string message) {
    if (!error_) error_ = std::move(message);
  }
  /// The first error met, or the arguments nobody asked for.
  Status finish() const;

 private:
  struct Item {
    std::string key;   // empty for plain words
    std::string name;  // of key:name=value
    std::string value;
    bool taken = false;
  };
  Item* find(std::string_view key);

  std::string verb_;
  std::vector<Item> items_;
  std::optional<std::string> error_;
};

}  // namespace muster::sim
