#include "clusters/kubernetes/kept_pod.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace muster::clusters {

namespace {

class Packer {
 public:
  void put(std::int64_t number) {
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    packed_.append(bytes, sizeof bytes);
  }
  void put(std::size_t size) { put(static_cast<std::int64_t>(size)); }
  void put(const std::string& text) {
    put(text.size());
    packed_ += text;
  }
  std::string take() {
    packed_.shrink_to_fit();
    return std::move(packed_);
  }

 private:
  std::string packed_;
};

/// Reads what the packer wrote, in the same order.
class Unpacker {
 public:
  explicit Unpacker(std::string_view packed) : rest_(packed) {}

  std::int64_t number() {
    std::int64_t read = 0;
    std::memcpy(&read, rest_.data(), sizeof read);
    rest_.remove_prefix(sizeof read);
    return read;
  }
  std::string text() {
    const auto size = static_cast<std::size_t>(number());
    std::string read(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return read;
  }
  /// As often as was written.
  template <typename Read>
  void each(Read read) {
    for (std::int64_t left = number(); left > 0; --left) read();
  }

 private:
  std::string_view rest_;
};

std::string packed_facts(const model::ForeignPod& pod) {
  Packer packer;
  packer.put(pod.requests.cpu.v);
  packer.put(pod.requests.memory.v);
  packer.put(pod.requests.extended.size());
  for (const auto& [name, amount] : pod.requests.extended) {
    packer.put(name);
    packer.put(amount);
  }
  packer.put(std::int64_t{pod.gpus});
  packer.put(pod.labels.size());
  for (const auto& [name, value] : pod.labels) {
    packer.put(name);
    packer.put(value);
  }
  packer.put(pod.host_ports.size());
  for (const int port : pod.host_ports) packer.put(std::int64_t{port});
  return packer.take();
}

}  // namespace

TextPool::Text TextPool::get(std::string text) {
  const auto found = texts_.find(std::string_view(text));
  if (found != texts_.end()) return *found;
  if (texts_.size() >= sweep_at_) sweep();
  return *texts_.insert(std::make_shared<const std::string>(std::move(text))).first;
}

/// Texts that nobody has but the pool. Done whenever it has doubled, so that it costs little.
void TextPool::sweep() {
  std::erase_if(texts_, [](const Text& text) { return text.use_count() == 1; });
  sweep_at_ = std::max<std::size_t>(1024, 2 * texts_.size());
}

model::ForeignPod KeptPod::unpacked() const {
  model::ForeignPod pod;
  pod.uid = uid;
  pod.node = *node;
  Unpacker from(*facts);
  pod.requests.cpu.v = from.number();
  pod.requests.memory.v = from.number();
  from.each([&] {
    std::string name = from.text();
    pod.requests.extended[std::move(name)] = from.number();
  });
  pod.gpus = static_cast<int>(from.number());
  from.each([&] {
    std::string name = from.text();
    pod.labels[std::move(name)] = from.text();
  });
  from.each([&] { pod.host_ports.push_back(static_cast<int>(from.number())); });
  return pod;
}

KeptPod PodKeeper::keep(const model::ForeignPod& pod) {
  return {pod.uid, texts_.get(pod.node), texts_.get(packed_facts(pod))};
}

}  // namespace muster::clusters
