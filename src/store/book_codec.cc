#include "store/book_codec.h"

#include <concepts>

#include "store/frames.h"
#include "store/model_fields.h"

namespace muster::store {

namespace wire {

// A field that came with version n of a kind is guarded by `if (a.version >= n)`.
template <typename A>
void fields(A& a, BookAskedLabel& l) {
  a(l.key, l.value);
}
template <typename A>
void fields(A& a, BookHeader& h) {
  a(h.hash, h.last, h.events, h.newest_submit, h.jobs, h.job_slots, h.reservation_slots);
  a(h.gpu_types, h.extended, h.label_keys, h.resources);
  a(h.scored, h.inside_band, h.early, h.late, h.error_sum_ms, h.ratio);
  if (a.version >= 2) a(h.asked_labels);
}
template <typename A>
void fields(A& a, BookCluster& c) {
  a(c.spec, c.spec.admission, c.joined, c.health, c.health_since);
}
template <typename A>
void fields(A& a, BookNode& n) {
  a(n.cluster, n.name);
}
template <typename A>
void fields(A& a, BookPool& p) {
  a(p.spec, p.has_cluster);
}
template <typename A>
void fields(A& a, BookFleetPool& p) {
  a(p.spec);
}
template <typename A>
void fields(A& a, BookLimit& l) {
  a(l.resource, l.guaranteed, l.maximum, l.borrow, l.lend);
}
template <typename A>
void fields(A& a, BookQueue& q) {
  a(q.name, q.tree, q.parent, q.place, q.alive, q.weight, q.strategy, q.priority_cap, q.limits);
  a(q.remembered, q.remembered_at);
}
template <typename A>
void fields(A& a, BookShape& s) {
  a(s.gang, s.demand);
  if (a.version >= 2) a(s.gang.kinds);
}
template <typename A>
void fields(A& a, BookLine& l) {
  a(l.queue, l.extra_queues, l.shape, l.priority, l.run_limit, l.stands);
}
template <typename A>
void fields(A& a, BookHistory& h) {
  a(h.user, h.name, h.recent_ms, h.next, h.idle_since);
}
template <typename A>
void fields(A& a, BookPod& p) {
  a(p.set, p.node, p.devices, p.each);
}
template <typename A>
void fields(A& a, BookCharge& c) {
  a(c.resource, c.amount);
}
template <typename A>
void fields(A& a, BookActive& b) {
  a(b.cluster, b.place, b.pods, b.charges, b.expected_end, b.placed_at, b.started_at);
  a(b.checkpoint_at, b.stopping, b.stop, b.cancelled, b.beneficiary);
  if (a.version >= 2) a(b.held);
}
template <typename A>
void fields(A& a, BookLabel& l) {
  a(l.set, l.key, l.value);
}
template <typename A>
void fields(A& a, BookJob& j) {
  a(j.slot, j.id, j.seq, j.line, j.history, j.state, j.attempt, j.failures, j.ran, j.not_yet);
  a(j.doomed, j.submitted, j.eligible_at, j.deadline, j.finished, j.depends_on, j.first_low);
  a(j.first_expected, j.first_high, j.active);
  if (a.version >= 3) a(j.requeues);
  if (a.version >= 4 && j.active) a(j.active->demise);  // one that was left behind has none
  if (a.version >= 5) a(j.failed_in);
  if (a.version >= 6) a(j.spare_labels);
}
template <typename A>
void fields(A& a, BookReservation& r) {
  a(r.slot, r.job, r.cluster, r.start, r.preempting, r.nodes, r.charges);
}
template <typename A>
void fields(A& a, BookOrphan& o) {
  a(o.job, o.attempt, o.active);
}
template <typename A>
void fields(A& a, BookEnd& e) {
  a(e.free_slots);
}

}  // namespace wire

namespace {

using namespace model;
using wire::Kind;
using wire::Writer;

template <typename R>
constexpr Kind kind_of() {
  if constexpr (std::same_as<R, BookHeader>) return {1, 2, "header"};
  if constexpr (std::same_as<R, BookCluster>) return {2, 1, "cluster"};
  if constexpr (std::same_as<R, BookNode>) return {3, 1, "node"};
  if constexpr (std::same_as<R, BookPool>) return {4, 1, "pool"};
  if constexpr (std::same_as<R, BookFleetPool>) return {5, 1, "fleet pool"};
  if constexpr (std::same_as<R, BookQueue>) return {6, 1, "queue"};
  if constexpr (std::same_as<R, BookShape>) return {7, 2, "shape"};
  if constexpr (std::same_as<R, BookLine>) return {8, 1, "line"};
  if constexpr (std::same_as<R, BookHistory>) return {9, 1, "history"};
  if constexpr (std::same_as<R, BookJob>) return {10, 6, "job"};
  if constexpr (std::same_as<R, BookReservation>) return {11, 1, "reservation"};
  if constexpr (std::same_as<R, BookOrphan>) return {12, 2, "orphan"};
  if constexpr (std::same_as<R, BookEnd>) return {13, 1, "end"};
}

constexpr wire::Stream stream{"snapshot", "record"};
constexpr auto known =
    wire::known_kinds<BookRecord>([]<typename R>(std::type_identity<R>) { return kind_of<R>(); });
static_assert(wire::all_differ(known), "two kinds of records share a number");

}  // namespace

void encode_book(const BookRecord& record, std::string& out) {
  std::visit(
      [&]<typename R>(const R& body) {
        wire::put_frame(kind_of<R>(), out, [&](Writer& writer) {
          // The field lists take references that the reader fills; the writer only looks.
          writer(const_cast<R&>(body));
        });
      },
      record);
}

Status decode_book(std::string_view& bytes, BookRecord& record) {
  return wire::take_frame(stream, known, bytes, record, [](wire::Reader&) {});
}

}  // namespace muster::store
