#include "store/testing/random_events.h"

#include <array>
#include <limits>
#include <string>

namespace muster::store {
namespace {

using namespace model;

/// Fills values with random ones; lists are short, so that whole specs stay small.
class Fill {
 public:
  Fill(Prng& prng, Fields fields) : prng_(prng), fields_(fields) {}

  template <typename... Ts>
  void operator()(Ts&... values) {
    (set(values), ...);
  }

 private:
  void set(bool& v) { v = prng_.chance(50); }
  template <std::integral T>
  void set(T& v) {
    constexpr auto most = std::numeric_limits<T>::max();
    constexpr auto least = std::numeric_limits<T>::min();
    const std::array<T, 5> edges = {T{0}, T{1}, most, least, static_cast<T>(most / 2)};
    v = prng_.chance(30) ? edges[prng_.below(edges.size())]
                         : static_cast<T>(prng_.next() >> prng_.below(64));
  }
  void set(std::string& v) {
    v.clear();
    for (auto left = prng_.below(prng_.chance(5) ? 300 : 12); left > 0; --left)
      v.push_back(static_cast<char>(prng_.chance(80) ? 'a' + prng_.below(26) : prng_.below(256)));
  }
  template <typename T>
  void set(std::vector<T>& v) {
    v.resize(prng_.below(3));
    for (T& item : v) set(item);
  }
  template <typename K, typename V>
  void set(std::map<K, V>& v) {
    for (auto left = prng_.below(3); left > 0; --left) {
      K key{};
      set(key);
      set(v[key]);
    }
  }
  template <typename T>
  void set(std::optional<T>& v) {
    if (prng_.chance(50)) set(v.emplace());
  }
  template <typename T>
  void choose(T& v, T last) {
    v = static_cast<T>(prng_.below(static_cast<std::uint64_t>(last) + 1));
  }
  void set(Operator& v) { choose(v, Operator::Lt); }
  void set(TaintEffect& v) { choose(v, TaintEffect::NoExecute); }
  void set(OnClusterLoss& v) { choose(v, OnClusterLoss::Rerun); }
  void set(Admission& v) { choose(v, Admission::Draining); }
  void set(Strategy& v) { choose(v, Strategy::Fifo); }
  void set(Health& v) { choose(v, Health::Cordoned); }
  void set(StopWhy& v) { choose(v, StopWhy::ClusterLost); }
  void set(Ailment& v) { choose(v, Ailment::Forgotten); }
  void set(Demise& d) { (*this)(d.ailment, d.fails, d.exit_code, d.requeues, d.reason); }
  void set(FailWhy& v) { choose(v, FailWhy::RetriesExhausted); }
  void set(Duration& v) { set(v.ms); }
  void set(Time& v) { set(v.ms); }
  template <typename Tag>
  void set(Amount<Tag>& v) {
    set(v.v);
  }
  void set(Resources& r) { (*this)(r.cpu, r.memory, r.extended); }
  void set(Requirement& r) { (*this)(r.key, r.op, r.values); }
  void set(NodeTerm& t) { (*this)(t.expressions, t.fields); }
  void set(PreferredTerm& t) { (*this)(t.weight, t.term); }
  void set(LabelSelector& s) { (*this)(s.match_labels, s.expressions); }
  void set(Taint& t) { (*this)(t.key, t.value, t.effect); }
  void set(Toleration& t) { (*this)(t.key, t.exists, t.value, t.effect); }
  void set(GpuAsk& g) { (*this)(g.count, g.each, g.memory_each); }
  void set(PodAffinityTerm& t) { (*this)(t.selector, t.topology_key); }
  void set(Spread& s) { (*this)(s.max_skew, s.topology_key, s.selector, s.required); }
  void set(PodShape& p) {
    (*this)(p.requests, p.gpu, p.gpu_types, p.node_selector, p.required_affinity);
    (*this)(p.preferred_affinity, p.tolerations, p.labels, p.pod_affinity, p.pod_anti_affinity);
    (*this)(p.spread, p.host_ports, p.volume_zones);
  }
  void set(PodSet& s) { (*this)(s.name, s.count, s.min_count, s.pods_per_node, s.pod); }
  void set(TopologyDomain& t) { (*this)(t.key, t.required); }
  void set(Gang& g) {
    (*this)(g.sets, g.topology, g.pool, g.clusters, g.excluded_clusters, g.data_label);
    (*this)(g.preemptible, g.min_runtime, g.on_cluster_loss, g.max_retries);
  }
  void set(JobSpec& s) {
    (*this)(s.id, s.name, s.user, s.queue, s.extra_queues, s.priority, s.gang, s.run_limit);
    (*this)(s.start_after, s.deadline, s.depends_on, s.held, s.payload);
  }
  void set(Limit& l) { (*this)(l.guaranteed, l.maximum, l.borrow, l.lend); }
  void set(QueueSpec& s) {
    (*this)(s.name, s.parent, s.tree, s.weight, s.limits, s.strategy, s.priority_cap);
  }
  void set(ClusterSpec& s) {
    (*this)(s.name, s.labels, s.gpu_price_milli, s.grace);
    if (fields_ != Fields::First) set(s.admission);
  }
  void set(PoolSpec& s) { (*this)(s.name, s.cluster, s.node_selector, s.tolerations); }
  void set(FleetPoolSpec& s) { (*this)(s.name, s.pools); }
  void set(NodeSpec& s) {
    (*this)(s.name, s.labels, s.taints, s.allocatable, s.pods_max, s.gpu_count, s.gpu_type);
    (*this)(s.gpu_memory, s.ready, s.cordoned);
  }
  void set(ForeignPod& p) { (*this)(p.uid, p.node, p.requests, p.gpus, p.labels, p.host_ports); }
  void set(PodPlace& p) { (*this)(p.set, p.node, p.gpu_type, p.devices, p.each); }

  Prng& prng_;
  Fields fields_;
};

/// The parts of an event, to fill and to compare.
struct Parts {
  template <typename E>
  static auto of(E& e) {
    if constexpr (requires { e.seq; }) {
      return std::tie(e.spec, e.seq);
    } else if constexpr (requires { e.demise; }) {
      return std::tie(e.job, e.attempt, e.demise);
    } else if constexpr (requires { e.priority; }) {
      return std::tie(e.job, e.priority);
    } else if constexpr (requires { e.pool; }) {
      return std::tie(e.job, e.attempt, e.cluster, e.pool, e.pods);
    } else if constexpr (requires { e.pods; }) {
      return std::tie(e.job, e.attempt, e.pods);
    } else if constexpr (requires { e.beneficiary; }) {
      return std::tie(e.job, e.attempt, e.why, e.beneficiary);
    } else if constexpr (requires { e.preempting; }) {
      return std::tie(e.job, e.cluster, e.start, e.preempting, e.nodes);
    } else if constexpr (requires { e.not_before; }) {
      return std::tie(e.job, e.attempt, e.not_before);
    } else if constexpr (requires { e.success; }) {
      return std::tie(e.job, e.attempt, e.success);
    } else if constexpr (requires { e.why; }) {
      return std::tie(e.job, e.why);
    } else if constexpr (requires { e.attempt; }) {
      return std::tie(e.job, e.attempt);
    } else if constexpr (requires { e.kinds; }) {
      return std::tie(e.cluster, e.kinds, e.is_known);
    } else if constexpr (requires { e.health; }) {
      return std::tie(e.cluster, e.health);
    } else if constexpr (requires { e.pod; }) {
      return std::tie(e.cluster, e.pod);
    } else if constexpr (requires { e.uid; }) {
      return std::tie(e.cluster, e.uid);
    } else if constexpr (requires { e.node; }) {
      return std::tie(e.cluster, e.node);
    } else if constexpr (requires { e.job, e.queue; }) {
      return std::tie(e.job, e.queue);
    } else if constexpr (requires { e.job; }) {
      return std::tie(e.job);
    } else if constexpr (requires { e.spec; }) {
      return std::tie(e.spec);
    } else if constexpr (requires { e.queue; }) {
      return std::tie(e.queue);
    } else if constexpr (requires { e.cluster; }) {
      return std::tie(e.cluster);
    } else if constexpr (requires { e.names_until; }) {
      return std::tie(e.until, e.names_until);
    } else {
      static_assert(std::is_same_v<std::remove_const_t<E>, Ticked>);
      return std::tuple<>();
    }
  }
};

/// Those that came with version 2.
struct LaterParts {
  template <typename E>
  static auto of(E& e) {
    if constexpr (requires { e.exit_code; }) {
      return std::tie(e.exit_code, e.reason);
    } else if constexpr (requires { e.reason; }) {
      return std::tie(e.reason);
    } else {
      return std::tuple<>();
    }
  }
};

/// Those that came with the eighth golden journal.
struct EighthParts {
  template <typename E>
  static auto of(E& e) {
    if constexpr (requires { e.ailment; }) {
      return std::tie(e.ailment);
    } else {
      return std::tuple<>();
    }
  }
};

/// Those that came with the seventh.
struct SeventhParts {
  template <typename E>
  static auto of(E& e) {
    if constexpr (requires { e.preempting; }) {
      return std::tie(e.charges);
    } else {
      return std::tuple<>();
    }
  }
};

/// Those that came with the sixth.
struct SixthParts {
  template <typename E>
  static auto of(E& e) {
    if constexpr (requires { e.seq; }) {
      return std::tie(e.spec.gang.kinds);
    } else {
      return std::tuple<>();
    }
  }
};

/// Those that came with the fifth.
struct FifthParts {
  template <typename E>
  static auto of(E& e) {
    if constexpr (requires { e.seq; }) {
      return std::tie(e.labels);
    } else {
      return std::tuple<>();
    }
  }
};

/// Those that came with the fourth.
struct FourthParts {
  template <typename E>
  static auto of(E& e) {
    if constexpr (requires { e.requeues; }) {
      return std::tie(e.requeues);
    } else {
      return std::tuple<>();
    }
  }
};

/// Those that came with the third.
struct ThirdParts {
  template <typename E>
  static auto of(E& e) {
    if constexpr (requires { e.stops; }) {
      return std::tie(e.stops);
    } else {
      return std::tuple<>();
    }
  }
};

template <typename E>
auto all_parts_of(E& e) {
  return std::tuple_cat(Parts::of(e), LaterParts::of(e), ThirdParts::of(e), FourthParts::of(e),
                        FifthParts::of(e), SixthParts::of(e), SeventhParts::of(e),
                        EighthParts::of(e));
}

bool equal(const JobSpec& a, const JobSpec& b) {
  const auto parts = [](const JobSpec& s) {
    return std::tie(s.id, s.name, s.user, s.queue, s.extra_queues, s.priority, s.gang, s.run_limit,
                    s.start_after, s.deadline, s.depends_on, s.held, s.payload);
  };
  return parts(a) == parts(b);
}
bool equal(const QueueSpec& a, const QueueSpec& b) {
  const auto parts = [](const QueueSpec& s) {
    return std::tie(s.name, s.parent, s.tree, s.weight, s.limits, s.strategy, s.priority_cap);
  };
  return parts(a) == parts(b);
}
bool equal(const ClusterSpec& a, const ClusterSpec& b) {
  return std::tie(a.name, a.labels, a.gpu_price_milli, a.grace, a.admission) ==
         std::tie(b.name, b.labels, b.gpu_price_milli, b.grace, b.admission);
}
bool equal(const PoolSpec& a, const PoolSpec& b) {
  return std::tie(a.name, a.cluster, a.node_selector, a.tolerations) ==
         std::tie(b.name, b.cluster, b.node_selector, b.tolerations);
}
bool equal(const FleetPoolSpec& a, const FleetPoolSpec& b) {
  return std::tie(a.name, a.pools) == std::tie(b.name, b.pools);
}
template <typename T>
bool equal(const T& a, const T& b) {
  return a == b;
}

template <std::size_t... I>
EventBody made(std::size_t kind, std::index_sequence<I...>) {
  EventBody body;
  ((kind == I ? void(body.emplace<I>()) : void()), ...);
  return body;
}

}  // namespace

Event random_event(Prng& prng, std::size_t kind, Fields fields) {
  Event event{Time{0}, made(kind, std::make_index_sequence<event_kinds>())};
  Fill fill(prng, fields);
  fill(event.at.ms);
  std::visit(
      [&](auto& body) {
        std::apply(fill, Parts::of(body));
        if (fields != Fields::First) std::apply(fill, LaterParts::of(body));
        if (fields >= Fields::Third) std::apply(fill, ThirdParts::of(body));
        if (fields >= Fields::Fourth) std::apply(fill, FourthParts::of(body));
        if (fields >= Fields::Fifth) std::apply(fill, FifthParts::of(body));
        if (fields >= Fields::Sixth) std::apply(fill, SixthParts::of(body));
        if (fields >= Fields::Seventh) std::apply(fill, SeventhParts::of(body));
        if (fields >= Fields::Eighth) std::apply(fill, EighthParts::of(body));
      },
      event.body);
  return event;
}

bool same(const Event& a, const Event& b) {
  if (a.at != b.at || a.body.index() != b.body.index()) return false;
  return std::visit(
      [&]<typename E>(const E& left) {
        const E& right = std::get<E>(b.body);
        const auto x = all_parts_of(left);
        const auto y = all_parts_of(right);
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
          return (equal(std::get<I>(x), std::get<I>(y)) && ...);
        }(std::make_index_sequence<std::tuple_size_v<decltype(x)>>());
      },
      a.body);
}

}  // namespace muster::store
