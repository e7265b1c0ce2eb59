// Objects by their key, as whoever keeps them wants them: T is made of the JSON and is all that is
// kept. Indexes find them by other words (the pods of a node). Thread-safe; what is given out stays
// as it was, changes make new values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace muster::kube {

template <typename T>
class ObjectStore {
 public:
  using Value = std::shared_ptr<const T>;
  /// The words an object is found by.
  using IndexOf = std::function<std::vector<std::string>(const T&)>;
  using Indexes = std::map<std::string, IndexOf, std::less<>>;

  explicit ObjectStore(Indexes indexes = {}) {
    for (auto& [name, words_of] : indexes) indexes_[name].words_of = std::move(words_of);
  }

  Value get(std::string_view key) const {
    const std::lock_guard lock(mutex_);
    const auto found = values_.find(std::string(key));
    return found == values_.end() ? nullptr : found->second.value;
  }
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return values_.size();
  }
  /// In no order.
  std::vector<Value> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<Value> found;
    found.reserve(values_.size());
    for (const auto& [key, entry] : values_) found.push_back(entry.value);
    return found;
  }
  /// In the order of their keys.
  std::vector<Value> by_index(std::string_view index, std::string_view word) const {
    const std::lock_guard lock(mutex_);
    std::vector<Value> found;
    const auto& words = indexes_.find(index)->second.words;
    const auto keys = words.find(std::string(word));
    if (keys == words.end()) return found;
    for (const std::string& key : keys->second) found.push_back(values_.at(key).value);
    return found;
  }

  // For whoever fills it.

  struct Change {
    Value before = {};        // null: it is new
    Value after = {};         // null: nothing changed
    bool is_another = false;  // before was deleted and after made anew, unseen
  };
  /// `version` and `uid` are the object's; the same version again changes nothing.
  template <typename Make>
  Change put(const std::string& key, std::string_view uid, std::string_view version, Make make) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = values_.find(key);
      if (found != values_.end() && !version.empty() && found->second.version == version) {
        found->second.round = round_;
        return {found->second.value, nullptr, false};
      }
    }
    Value value = std::make_shared<const T>(make());  // without the lock: it may take its time
    const std::lock_guard lock(mutex_);
    Entry& entry = values_[key];
    Change change{entry.value, value, false};
    const std::size_t identity = std::hash<std::string_view>{}(uid);
    change.is_another = entry.value != nullptr && entry.identity != identity;
    if (entry.value) unindex(key, *entry.value);
    entry = {std::move(value), std::string(version), identity, round_};
    index(key, *entry.value);
    return change;
  }
  /// What was there; null if nothing was.
  Value erase(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : take_out(found);
  }
  /// From now on objects are marked as seen; erase_unseen() takes out the others.
  void begin_round() {
    const std::lock_guard lock(mutex_);
    ++round_;
  }
  std::vector<std::pair<std::string, Value>> erase_unseen() {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<std::string, Value>> gone;
    for (auto at = values_.begin(); at != values_.end();) {
      const auto here = at++;
      if (here->second.round == round_) continue;
      std::string key = here->first;
      gone.emplace_back(std::move(key), take_out(here));
    }
    return gone;
  }

 private:
  struct Entry {
    Value value = {};
    std::string version = {};
    std::size_t identity = 0;
    std::uint32_t round = 0;
  };
  struct Index {
    IndexOf words_of = {};
    std::unordered_map<std::string, std::set<std::string>> words = {};
  };
  using Values = std::unordered_map<std::string, Entry>;

  Value take_out(typename Values::iterator at) {
    Value value = at->second.value;
    unindex(at->first, *value);
    values_.erase(at);
    return value;
  }
  void index(const std::string& key, const T& value) {
    for (auto& [name, one] : indexes_) {
      for (std::string& word : one.words_of(value)) one.words[std::move(word)].insert(key);
    }
  }
  void unindex(const std::string& key, const T& value) {
    for (auto& [name, one] : indexes_) {
      for (const std::string& word : one.words_of(value)) {
        const auto found = one.words.find(word);
        if (found == one.words.end()) continue;
        found->second.erase(key);
        if (found->second.empty()) one.words.erase(found);
      }
    }
  }

  mutable std::mutex mutex_;  // guards all that follows
  Values values_;
  std::map<std::string, Index, std::less<>> indexes_;
  std::uint32_t round_ = 0;
};

}  // namespace muster::kube
