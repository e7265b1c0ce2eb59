#include "sim/trace_hash.h"

namespace muster::sim {
namespace {

struct Fields {
  Hasher& h;
  void operator()(const model::Placed& e) const {
    h.add(e.job).add(e.attempt).add(e.cluster).add(e.pool);
    for (const model::PodPlace& pod : e.pods)
      h.add(pod.set).add(pod.node).add(pod.devices).add(std::uint32_t{pod.each});
  }
  void operator()(const model::Stopped& e) const {
    h.add(e.job).add(e.attempt).add(static_cast<int>(e.why)).add(e.beneficiary);
  }
  void operator()(const model::Reserved& e) const {
    h.add(e.job).add(e.cluster).add(e.start.ms).add(e.preempting);
    for (const std::string& node : e.nodes) h.add(node);
  }
  void operator()(const model::GivenUp& e) const { h.add(e.job).add(static_cast<int>(e.why)); }
  void operator()(const model::Finished& e) const { h.add(e.job).add(e.attempt).add(e.success); }
  void operator()(const model::JobSubmitted& e) const { h.add(e.spec.id); }
  template <typename Body>
  void operator()(const Body& e) const {
    if constexpr (requires { e.job; }) h.add(e.job);
    if constexpr (requires { e.attempt; }) h.add(e.attempt);
    if constexpr (requires { e.cluster; }) h.add(e.cluster);
  }
};

}  // namespace

void TraceHash::add(Time at, const model::Decision& decision) {
  hasher_.add(at.ms).add(std::uint64_t{decision.index()});
  std::visit(Fields{hasher_}, decision);
}

void TraceHash::add(const model::Event& event) {
  hasher_.add(event.at.ms).add(std::uint64_t{event.body.index()} + 100);
  std::visit(Fields{hasher_}, event.body);
}

}  // namespace muster::sim
