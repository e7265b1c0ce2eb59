// Pods of others as they are kept: in few bytes, as a cluster has tens of thousands of them.
// Replicas say the same but for their uid and node, and what they say is kept once.
//
// Not thread-safe, but for what is given out: that may be read, copied and let go by any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

#include "model/node.h"

namespace muster::clusters {

/// Texts, each kept once for as long as somebody has it.
class TextPool {
 public:
  using Text = std::shared_ptr<const std::string>;
  /// Equal texts are the same pointer.
  Text get(std::string text);
  std::size_t size() const { return texts_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
    std::size_t operator()(const Text& text) const { return (*this)(std::string_view(*text)); }
  };
  struct Equal {
    using is_transparent = void;
    static std::string_view view(std::string_view text) { return text; }
    static std::string_view view(const Text& text) { return *text; }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return view(a) == view(b);
    }
  };
  void sweep();

  std::unordered_set<Text, Hash, Equal> texts_;
  std::size_t sweep_at_ = 1024;
};

struct KeptPod {
  std::string uid = {};
  TextPool::Text node = {};
  TextPool::Text facts = {};  // all else; null: it takes no room that is not counted already

  bool takes_room() const { return facts != nullptr; }
  model::ForeignPod unpacked() const;
  /// Of pods from the same keeper.
  friend bool operator==(const KeptPod&, const KeptPod&) = default;
};

class PodKeeper {
 public:
  KeptPod keep(const model::ForeignPod& pod);

 private:
  TextPool texts_;
};

}  // namespace muster::clusters
