// A set that is walked far more often than it is changed: its values stand in order in chunks, so
// that the next one is most often the neighbour in memory, and a change moves no more than a chunk.
//
// The order is not kept in it: whoever changes it brings the same one each time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace muster {

template <typename T>
class SortedChunks {
  using Chunk = std::vector<T>;

 public:
  class const_iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;
    const_iterator() = default;
    reference operator*() const { return *at_; }
    pointer operator->() const { return at_; }
    const_iterator& operator++() {
      if (++at_ == chunk_->data() + chunk_->size()) enter(chunk_ + 1);
      return *this;
    }
    const_iterator operator++(int) {
      const_iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const const_iterator& a, const const_iterator& b) {
      return a.at_ == b.at_;
    }

   private:
    friend class SortedChunks;
    const_iterator(const Chunk* chunk, const Chunk* end) : end_(end) { enter(chunk); }
    void enter(const Chunk* chunk) {
      chunk_ = chunk;
      at_ = chunk == end_ ? nullptr : chunk->data();
    }
    const Chunk* chunk_ = nullptr;
    const Chunk* end_ = nullptr;
    const T* at_ = nullptr;
  };

  bool empty() const { return chunks_.empty(); }
  std::size_t size() const {
    std::size_t size = 0;
    for (const Chunk& chunk : chunks_) size += chunk.size();
    return size;
  }
  const_iterator begin() const { return {chunks_.data(), chunks_.data() + chunks_.size()}; }
  const_iterator end() const {
    return {chunks_.data() + chunks_.size(), chunks_.data() + chunks_.size()};
  }

  template <typename Less>
  bool contains(const T& value, const Less& less) const {
    const auto chunk = chunk_for(chunks_, value, less);
    return chunk != chunks_.end() && holds(*chunk, place_in(*chunk, value, less), value, less);
  }

  /// Nothing happens if it is there.
  template <typename Less>
  void insert(T value, const Less& less) {
    auto chunk = chunk_for(chunks_, value, less);
    if (chunk == chunks_.end()) {
      if (chunks_.empty()) chunks_.emplace_back();
      chunk = chunks_.end() - 1;  // behind all others
    }
    const auto place = place_in(*chunk, value, less);
    if (holds(*chunk, place, value, less)) return;
    chunk->insert(place, std::move(value));
    if (chunk->size() > chunk_most) split(chunk);
  }

  /// Nothing happens if it is not there.
  template <typename Less>
  void erase(const T& value, const Less& less) {
    const auto chunk = chunk_for(chunks_, value, less);
    if (chunk == chunks_.end()) return;
    const auto place = place_in(*chunk, value, less);
    if (!holds(*chunk, place, value, less)) return;
    chunk->erase(place);
    if (chunk->empty()) chunks_.erase(chunk);
  }

 private:
  static constexpr std::size_t chunk_most = 64;

  /// The first whose last value does not come before it.
  template <typename Chunks, typename Less>
  static auto chunk_for(Chunks& chunks, const T& value, const Less& less) {
    return std::partition_point(chunks.begin(), chunks.end(),
                                [&](const Chunk& chunk) { return less(chunk.back(), value); });
  }
  template <typename Values, typename Less>
  static auto place_in(Values& chunk, const T& value, const Less& less) {
    return std::lower_bound(chunk.begin(), chunk.end(), value, less);
  }
  template <typename Place, typename Less>
  static bool holds(const Chunk& chunk, Place place, const T& value, const Less& less) {
    return place != chunk.end() && !less(value, *place);
  }
  void split(typename std::vector<Chunk>::iterator chunk) {
    const auto half = chunk->begin() + static_cast<std::ptrdiff_t>(chunk->size() / 2);
    Chunk upper(std::make_move_iterator(half), std::make_move_iterator(chunk->end()));
    chunk->erase(half, chunk->end());
    chunks_.insert(chunk + 1, std::move(upper));
  }

  std::vector<Chunk> chunks_;  // none of them empty
};

}  // namespace muster
