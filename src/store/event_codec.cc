#include "store/event_codec.h"

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace muster::store {
namespace {

using namespace model;

// One function a type lists its fields, for writing and for reading alike: they cannot differ. A
// field that came with version n of a kind is guarded by `if (a.version >= n)`.
template <typename A>
void fields(A& a, Duration& d) {
  a(d.ms);
}
template <typename A>
void fields(A& a, Time& t) {
  a(t.ms);
}
template <typename A, typename Tag>
void fields(A& a, Amount<Tag>& amount) {
  a(amount.v);
}
template <typename A>
void fields(A& a, Resources& r) {
  a(r.cpu, r.memory, r.extended);
}
template <typename A>
void fields(A& a, Requirement& r) {
  a(r.key, r.op, r.values);
}
template <typename A>
void fields(A& a, NodeTerm& t) {
  a(t.expressions, t.fields);
}
template <typename A>
void fields(A& a, PreferredTerm& t) {
  a(t.weight, t.term);
}
template <typename A>
void fields(A& a, LabelSelector& s) {
  a(s.match_labels, s.expressions);
}
template <typename A>
void fields(A& a, Taint& t) {
  a(t.key, t.value, t.effect);
}
template <typename A>
void fields(A& a, Toleration& t) {
  a(t.key, t.exists, t.value, t.effect);
}
template <typename A>
void fields(A& a, GpuAsk& g) {
  a(g.count, g.each, g.memory_each);
}
template <typename A>
void fields(A& a, PodAffinityTerm& t) {
  a(t.selector, t.topology_key);
}
template <typename A>
void fields(A& a, Spread& s) {
  a(s.max_skew, s.topology_key, s.selector, s.required);
}
template <typename A>
void fields(A& a, PodShape& p) {
  a(p.requests, p.gpu, p.gpu_types, p.node_selector, p.required_affinity, p.preferred_affinity);
  a(p.tolerations, p.labels, p.pod_affinity, p.pod_anti_affinity, p.spread, p.host_ports);
  a(p.volume_zones);
}
template <typename A>
void fields(A& a, PodSet& s) {
  a(s.name, s.count, s.min_count, s.pods_per_node, s.pod);
}
template <typename A>
void fields(A& a, TopologyDomain& t) {
  a(t.key, t.required);
}
template <typename A>
void fields(A& a, Gang& g) {
  a(g.sets, g.topology, g.pool, g.clusters, g.excluded_clusters, g.data_label, g.preemptible);
  a(g.min_runtime, g.on_cluster_loss, g.max_retries);
}
template <typename A>
void fields(A& a, JobSpec& s) {
  a(s.id, s.name, s.user, s.queue, s.extra_queues, s.priority, s.gang, s.run_limit, s.start_after);
  a(s.deadline, s.depends_on, s.held, s.payload);
}
template <typename A>
void fields(A& a, Limit& l) {
  a(l.guaranteed, l.maximum, l.borrow, l.lend);
}
template <typename A>
void fields(A& a, QueueSpec& s) {
  a(s.name, s.parent, s.tree, s.weight, s.limits, s.strategy, s.priority_cap);
}
template <typename A>
void fields(A& a, ClusterSpec& s) {
  a(s.name, s.labels, s.gpu_price_milli, s.grace);
  if (a.version >= 2) a(s.admission);
}
template <typename A>
void fields(A& a, PoolSpec& s) {
  a(s.name, s.cluster, s.node_selector, s.tolerations);
}
template <typename A>
void fields(A& a, FleetPoolSpec& s) {
  a(s.name, s.pools);
}
template <typename A>
void fields(A& a, NodeSpec& s) {
  a(s.name, s.labels, s.taints, s.allocatable, s.pods_max, s.gpu_count, s.gpu_type, s.gpu_memory);
  a(s.ready, s.cordoned);
}
template <typename A>
void fields(A& a, ForeignPod& p) {
  a(p.uid, p.node, p.requests, p.gpus, p.labels, p.host_ports);
}
template <typename A>
void fields(A& a, PodPlace& p) {
  a(p.set, p.node, p.gpu_type, p.devices, p.each);
}
template <typename A>
void fields(A& a, JobSubmitted& e) {
  a(e.spec, e.seq);
}
template <typename A>
void fields(A& a, PriorityChanged& e) {
  a(e.job, e.priority);
}
template <typename A>
void fields(A& a, QueueChanged& e) {
  a(e.job, e.queue);
}
template <typename A>
void fields(A& a, Placed& e) {
  a(e.job, e.attempt, e.cluster, e.pool, e.pods);
}
template <typename A>
void fields(A& a, Stopped& e) {
  a(e.job, e.attempt, e.why, e.beneficiary);
}
template <typename A>
void fields(A& a, Reserved& e) {
  a(e.job, e.cluster, e.start, e.preempting, e.nodes);
}
template <typename A>
void fields(A& a, GivenUp& e) {
  a(e.job, e.why);
}
template <typename A>
void fields(A& a, Finished& e) {
  a(e.job, e.attempt, e.success);
  if (a.version >= 2) a(e.exit_code, e.reason);
}
template <typename A>
void fields(A& a, StartFailed& e) {
  a(e.job, e.attempt, e.not_before);
  if (a.version >= 2) a(e.reason);
}
template <typename A>
void fields(A& a, ClusterHealth& e) {
  a(e.cluster, e.health);
}
template <typename A>
void fields(A& a, NodeSeen& e) {
  a(e.cluster, e.node);
}
template <typename A>
void fields(A& a, NodeGone& e) {
  a(e.cluster, e.node);
}
template <typename A>
void fields(A& a, ForeignPodSeen& e) {
  a(e.cluster, e.pod);
}
template <typename A>
void fields(A& a, ForeignPodGone& e) {
  a(e.cluster, e.uid);
}
template <typename A, typename E>
  requires std::same_as<E, JobCancelled> || std::same_as<E, JobHeld> ||
           std::same_as<E, JobReleased> || std::same_as<E, ReservationDropped> ||
           std::same_as<E, Checkpointed>
void fields(A& a, E& e) {
  a(e.job);
}
template <typename A, typename E>
  requires std::same_as<E, Started> || std::same_as<E, Gone>
void fields(A& a, E& e) {
  a(e.job, e.attempt);
}
template <typename A, typename E>
  requires std::same_as<E, QueueSet> || std::same_as<E, PoolSet> || std::same_as<E, FleetPoolSet> ||
           std::same_as<E, ClusterSet>
void fields(A& a, E& e) {
  a(e.spec);
}
template <typename A>
void fields(A& a, QueueRemoved& e) {
  a(e.queue);
}
template <typename A>
void fields(A& a, ClusterLeft& e) {
  a(e.cluster);
}
template <typename A>
void fields(A&, Ticked&) {}

/// The last value of each enum in the journal: a greater one is corrupt. New values go at the end,
/// with a new version of the kinds that hold them.
constexpr int last_of(Operator) { return static_cast<int>(Operator::Lt); }
constexpr int last_of(TaintEffect) { return static_cast<int>(TaintEffect::NoExecute); }
constexpr int last_of(OnClusterLoss) { return static_cast<int>(OnClusterLoss::Rerun); }
constexpr int last_of(Strategy) { return static_cast<int>(Strategy::Fifo); }
constexpr int last_of(Admission) { return static_cast<int>(Admission::Draining); }
constexpr int last_of(Health) { return static_cast<int>(Health::Cordoned); }
constexpr int last_of(StopWhy) { return static_cast<int>(StopWhy::ClusterLost); }
constexpr int last_of(FailWhy) { return static_cast<int>(FailWhy::RetriesExhausted); }

struct Kind {
  std::uint8_t number;
  std::uint8_t version;
  std::string_view name;
};
template <typename E>
constexpr Kind kind_of() {
  if constexpr (std::same_as<E, JobSubmitted>) return {1, 1, "JobSubmitted"};
  if constexpr (std::same_as<E, JobCancelled>) return {2, 1, "JobCancelled"};
  if constexpr (std::same_as<E, JobHeld>) return {3, 1, "JobHeld"};
  if constexpr (std::same_as<E, JobReleased>) return {4, 1, "JobReleased"};
  if constexpr (std::same_as<E, PriorityChanged>) return {5, 1, "PriorityChanged"};
  if constexpr (std::same_as<E, QueueChanged>) return {6, 1, "QueueChanged"};
  if constexpr (std::same_as<E, QueueSet>) return {7, 1, "QueueSet"};
  if constexpr (std::same_as<E, QueueRemoved>) return {8, 1, "QueueRemoved"};
  if constexpr (std::same_as<E, PoolSet>) return {9, 1, "PoolSet"};
  if constexpr (std::same_as<E, FleetPoolSet>) return {10, 1, "FleetPoolSet"};
  if constexpr (std::same_as<E, ClusterSet>) return {11, 2, "ClusterSet"};
  if constexpr (std::same_as<E, ClusterLeft>) return {12, 1, "ClusterLeft"};
  if constexpr (std::same_as<E, Placed>) return {13, 1, "Placed"};
  if constexpr (std::same_as<E, Stopped>) return {14, 1, "Stopped"};
  if constexpr (std::same_as<E, Reserved>) return {15, 1, "Reserved"};
  if constexpr (std::same_as<E, ReservationDropped>) return {16, 1, "ReservationDropped"};
  if constexpr (std::same_as<E, GivenUp>) return {17, 1, "GivenUp"};
  if constexpr (std::same_as<E, Started>) return {18, 1, "Started"};
  if constexpr (std::same_as<E, Finished>) return {19, 2, "Finished"};
  if constexpr (std::same_as<E, StartFailed>) return {20, 2, "StartFailed"};
  if constexpr (std::same_as<E, Gone>) return {21, 1, "Gone"};
  if constexpr (std::same_as<E, Checkpointed>) return {22, 1, "Checkpointed"};
  if constexpr (std::same_as<E, ClusterHealth>) return {23, 1, "ClusterHealth"};
  if constexpr (std::same_as<E, NodeSeen>) return {24, 1, "NodeSeen"};
  if constexpr (std::same_as<E, NodeGone>) return {25, 1, "NodeGone"};
  if constexpr (std::same_as<E, ForeignPodSeen>) return {26, 1, "ForeignPodSeen"};
  if constexpr (std::same_as<E, ForeignPodGone>) return {27, 1, "ForeignPodGone"};
  if constexpr (std::same_as<E, Ticked>) return {28, 1, "Ticked"};
}

constexpr std::uint64_t zigzag(std::int64_t v) {
  return (static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t v) {
  return static_cast<std::int64_t>(v >> 1) ^ -static_cast<std::int64_t>(v & 1);
}

class Writer {
 public:
  explicit Writer(std::string& out, std::uint8_t v) : version(v), out_(out) {}

  template <typename... Ts>
  void operator()(Ts&... values) {
    (put(values), ...);
  }

  void number(std::uint64_t v) {
    if (v < 0x80) {  // most of them
      out_.push_back(static_cast<char>(v));
      return;
    }
    std::array<char, 10> bytes;
    std::size_t n = 0;
    for (; v >= 0x80; v >>= 7) bytes[n++] = static_cast<char>(v | 0x80);
    bytes[n++] = static_cast<char>(v);
    out_.append(bytes.data(), n);
  }

  const std::uint8_t version;

 private:
  void put(bool v) { out_.push_back(v ? 1 : 0); }
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  void put(T v) {
    number(v);
  }
  template <std::signed_integral T>
  void put(T v) {
    number(zigzag(v));
  }
  template <typename T>
    requires std::is_enum_v<T>
  void put(T v) {
    number(static_cast<std::uint64_t>(v));
  }
  void put(const std::string& text) {
    number(text.size());
    out_.append(text);
  }
  void put(std::string& text) { put(std::as_const(text)); }
  template <typename T>
  void put(std::vector<T>& items) {
    number(items.size());
    for (T& item : items) put(item);
  }
  template <typename K, typename V>
  void put(std::map<K, V>& items) {
    number(items.size());
    for (auto& [key, value] : items) {
      put(key);
      put(value);
    }
  }
  template <typename T>
  void put(std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <typename T>
    requires std::is_class_v<T>
  void put(T& value) {
    fields(*this, value);
  }

  std::string& out_;
};

/// Remembers the first thing that is wrong and reads zeros from there on.
class Reader {
 public:
  Reader(std::string_view bytes, std::uint8_t v) : version(v), bytes_(bytes) {}

  template <typename... Ts>
  void operator()(Ts&... values) {
    (get(values), ...);
  }

  std::uint64_t number() {
    if (!bytes_.empty() && static_cast<unsigned char>(bytes_.front()) < 0x80) {  // most of them
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      return byte;
    }
    std::uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) return fail("it ends inside a number");
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      if (shift == 63 && byte > 1) return fail("a number is too long");
      v |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) {
        if (byte == 0 && shift > 0) return fail("a number is padded");
        return v;
      }
    }
    return fail("a number is too long");
  }

  bool ok() const { return wrong_.empty(); }
  std::string_view wrong() const { return wrong_; }
  std::string_view rest() const { return bytes_; }
  std::uint64_t fail(std::string_view what) {
    if (wrong_.empty()) wrong_ = what;
    bytes_ = {};
    return 0;
  }

  const std::uint8_t version;

 private:
  void get(bool& v) {
    const std::uint64_t n = number();
    if (n > 1) fail("a yes or no is neither");
    v = n == 1;
  }
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  void get(T& v) {
    const std::uint64_t n = number();
    if (n > std::numeric_limits<T>::max()) fail("a number is out of range");
    v = static_cast<T>(n);
  }
  template <std::signed_integral T>
  void get(T& v) {
    const std::int64_t n = unzigzag(number());
    if (n < std::numeric_limits<T>::min() || n > std::numeric_limits<T>::max())
      fail("a number is out of range");
    v = static_cast<T>(n);
  }
  template <typename T>
    requires std::is_enum_v<T>
  void get(T& v) {
    const std::uint64_t n = number();
    if (n > static_cast<std::uint64_t>(last_of(T{}))) fail("an unknown choice");
    v = ok() ? static_cast<T>(n) : T{};
  }
  void get(std::string& text) {
    const std::size_t n = count();
    text.assign(bytes_.substr(0, n));
    bytes_.remove_prefix(n);
  }
  template <typename T>
  void get(std::vector<T>& items) {
    for (std::size_t left = count(); left > 0 && ok(); --left) get(items.emplace_back());
  }
  template <typename K, typename V>
  void get(std::map<K, V>& items) {
    for (std::size_t left = count(); left > 0 && ok(); --left) {
      K key{};
      get(key);
      if (!items.empty() && !(items.rbegin()->first < key)) fail("keys do not ascend");
      get(items.emplace_hint(items.end(), std::move(key), V{})->second);
    }
  }
  template <typename T>
  void get(std::optional<T>& value) {
    bool there = false;
    get(there);
    if (there) get(value.emplace());
  }
  template <typename T>
    requires std::is_class_v<T>
  void get(T& value) {
    fields(*this, value);
  }
  /// Of things that take a byte each at least.
  std::size_t count() {
    const std::uint64_t n = number();
    if (n > bytes_.size()) return fail("it ends inside a list or text");
    return static_cast<std::size_t>(n);
  }

  std::string_view bytes_;
  std::string_view wrong_;
};

using Decode = Status (*)(Reader&, Kind, EventBody&);

template <typename E>
Status decode_body(Reader& reader, Kind kind, EventBody& into) {
  fields(reader, into.emplace<E>());
  if (!reader.ok()) return invalid(fmt::format("journal: {}: {}", kind.name, reader.wrong()));
  if (!reader.rest().empty())
    return invalid(fmt::format("journal: {}: {} bytes too many", kind.name, reader.rest().size()));
  return Ok{};
}

struct Known {
  Kind kind{0, 0, ""};
  Decode decode = nullptr;
};
constexpr std::size_t kind_max = 64;

/// By kind's number.
constexpr std::array<Known, kind_max> known_kinds = [] {
  std::array<Known, kind_max> table{};
  [&]<typename... Es>(std::type_identity<std::variant<Es...>>) {
    ((table[kind_of<Es>().number] = Known{kind_of<Es>(), &decode_body<Es>}), ...);
  }(std::type_identity<EventBody>{});
  return table;
}();
static_assert(
    [] {
      std::size_t named = 0;
      for (const Known& known : known_kinds) named += known.decode != nullptr ? 1 : 0;
      return named == std::variant_size_v<EventBody>;
    }(),
    "two kinds of events share a number");

}  // namespace

void encode(const Event& event, std::string& out) {
  static thread_local std::string frame;
  frame.clear();
  std::visit(
      [&]<typename E>(const E& body) {
        constexpr Kind kind = kind_of<E>();
        frame.push_back(static_cast<char>(kind.number));
        frame.push_back(static_cast<char>(kind.version));
        Writer writer(frame, kind.version);
        Time at = event.at;
        writer(at);
        // The field lists take references that the reader fills; the writer only looks.
        fields(writer, const_cast<E&>(body));
      },
      event.body);
  Writer(out, 1).number(frame.size());
  out.append(frame);
}

Status decode_into(std::string_view& bytes, Event& event) {
  Reader outer(bytes, 0);
  const std::uint64_t size = outer.number();
  if (!outer.ok()) return invalid(fmt::format("journal: {}", outer.wrong()));
  if (size < 2 || size > outer.rest().size()) return invalid("journal: an event is cut off");
  const std::string_view frame = outer.rest().substr(0, size);

  const auto number = static_cast<unsigned char>(frame[0]);
  const auto version = static_cast<unsigned char>(frame[1]);
  const Known known = number < kind_max ? known_kinds[number] : Known{};
  if (known.decode == nullptr)
    return invalid(
        fmt::format("journal: unknown kind of event {}: a newer Muster wrote it; "
                    "upgrade this one to read it",
                    number));
  if (version == 0 || version > known.kind.version)
    return invalid(
        fmt::format("journal: {} of version {}, this Muster knows up to {}: a newer one "
                    "wrote it; upgrade this one to read it",
                    known.kind.name, version, known.kind.version));
  Reader reader(frame.substr(2), version);
  reader(event.at);
  if (Status status = known.decode(reader, known.kind, event.body); !status) return status;
  bytes = outer.rest().substr(size);
  return Ok{};
}

Result<Event> decode(std::string_view& bytes) {
  Event event;
  if (Status status = decode_into(bytes, event); !status) return status.error();
  return event;
}

Status decode_all(std::string_view bytes, const std::function<void(Event&)>& each) {
  Event event;
  while (!bytes.empty()) {
    if (Status status = decode_into(bytes, event); !status) return status;
    each(event);
  }
  return Ok{};
}

}  // namespace muster::store
