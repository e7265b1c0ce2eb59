// A table that grows without moving what it holds: addresses stay, and one more element never costs
// more than one chunk, where a vector of a million jobs would be copied in a pause that everybody
// feels.
#pragma once

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace muster {

template <typename T>
class Chunked {
 public:
  template <typename Table, typename Value>
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = Value*;
    using reference = Value&;
    Iterator() = default;
    Iterator(Table* table, std::size_t at) : table_(table), at_(at) {}
    Value& operator*() const { return (*table_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++at_;
      return before;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    Table* table_ = nullptr;
    std::size_t at_ = 0;
  };

  Chunked() = default;
  Chunked(Chunked&&) noexcept = default;
  Chunked& operator=(Chunked&&) noexcept = default;
  ~Chunked() = default;
  Chunked(const Chunked& other) {
    for (const T& value : other) push_back(value);
  }
  Chunked& operator=(const Chunked& other) {
    if (this != &other) *this = Chunked(other);
    return *this;
  }

  T& operator[](std::size_t at) { return chunks_[at / chunk_size][at % chunk_size]; }
  const T& operator[](std::size_t at) const { return chunks_[at / chunk_size][at % chunk_size]; }
  std::size_t size() const {
    return chunks_.empty() ? 0 : (chunks_.size() - 1) * chunk_size + chunks_.back().size();
  }
  bool empty() const { return chunks_.empty(); }
  T& back() { return chunks_.back().back(); }
  const T& back() const { return chunks_.back().back(); }
  auto begin() { return Iterator<Chunked, T>(this, 0); }
  auto end() { return Iterator<Chunked, T>(this, size()); }
  auto begin() const { return Iterator<const Chunked, const T>(this, 0); }
  auto end() const { return Iterator<const Chunked, const T>(this, size()); }

  void push_back(T value) {
    if (chunks_.empty() || chunks_.back().size() == chunk_size) {
      chunks_.emplace_back().reserve(chunk_size);
    }
    chunks_.back().push_back(std::move(value));
  }
  void pop_back() {
    chunks_.back().pop_back();
    if (chunks_.back().empty()) chunks_.pop_back();
  }
  void resize(std::size_t size) {
    while (this->size() > size) pop_back();
    while (this->size() < size) push_back(T());
  }
  void clear() { chunks_.clear(); }

 private:
  static constexpr std::size_t chunk_size = 256;
  std::vector<std::vector<T>> chunks_;  // all full but the last, which is never empty
};

}  // namespace muster
