#include "store/book_codec.h"

#include <array>
#include <concepts>

#include "store/bytes.h"
#include "store/model_fields.h"

namespace muster::store {

namespace wire {

// A field that came with version n of a kind is guarded by `if (a.version >= n)`.
template <typename A>
void fields(A& a, BookHeader& h) {
  a(h.hash, h.last, h.events, h.newest_submit, h.jobs, h.job_slots, h.reservation_slots);
  a(h.gpu_types, h.extended, h.label_keys, h.resources);
  a(h.scored, h.inside_band, h.early, h.late, h.error_sum_ms, h.ratio);
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
}
template <typename A>
void fields(A& a, BookJob& j) {
  a(j.slot, j.id, j.seq, j.line, j.history, j.state, j.attempt, j.failures, j.ran, j.not_yet);
  a(j.doomed, j.submitted, j.eligible_at, j.deadline, j.finished, j.depends_on, j.first_low);
  a(j.first_expected, j.first_high, j.active);
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
using wire::Reader;
using wire::Writer;

struct Kind {
  std::uint8_t number = 0;
  std::uint8_t version = 0;
  std::string_view name = {};
};
template <typename R>
constexpr Kind kind_of() {
  if constexpr (std::same_as<R, BookHeader>) return {1, 1, "header"};
  if constexpr (std::same_as<R, BookCluster>) return {2, 1, "cluster"};
  if constexpr (std::same_as<R, BookNode>) return {3, 1, "node"};
  if constexpr (std::same_as<R, BookPool>) return {4, 1, "pool"};
  if constexpr (std::same_as<R, BookFleetPool>) return {5, 1, "fleet pool"};
  if constexpr (std::same_as<R, BookQueue>) return {6, 1, "queue"};
  if constexpr (std::same_as<R, BookShape>) return {7, 1, "shape"};
  if constexpr (std::same_as<R, BookLine>) return {8, 1, "line"};
  if constexpr (std::same_as<R, BookHistory>) return {9, 1, "history"};
  if constexpr (std::same_as<R, BookJob>) return {10, 1, "job"};
  if constexpr (std::same_as<R, BookReservation>) return {11, 1, "reservation"};
  if constexpr (std::same_as<R, BookOrphan>) return {12, 1, "orphan"};
  if constexpr (std::same_as<R, BookEnd>) return {13, 1, "end"};
}

template <typename R>
void decode_body(Reader& reader, BookRecord& into) {
  reader(into.emplace<R>());
}

struct Known {
  Kind kind;
  void (*decode)(Reader&, BookRecord&) = nullptr;
};
constexpr std::size_t kind_max = 32;

/// By kind's number.
constexpr std::array<Known, kind_max> known_kinds = [] {
  std::array<Known, kind_max> table{};
  [&]<typename... Rs>(std::type_identity<std::variant<Rs...>>) {
    ((table[kind_of<Rs>().number] = Known{kind_of<Rs>(), &decode_body<Rs>}), ...);
  }(std::type_identity<BookRecord>{});
  return table;
}();

}  // namespace

void encode_book(const BookRecord& record, std::string& out) {
  static thread_local std::string frame;
  frame.clear();
  std::visit(
      [&]<typename R>(const R& body) {
        constexpr Kind kind = kind_of<R>();
        frame.push_back(static_cast<char>(kind.number));
        frame.push_back(static_cast<char>(kind.version));
        Writer writer(frame, kind.version);
        // The field lists take references that the reader fills; the writer only looks.
        writer(const_cast<R&>(body));
      },
      record);
  Writer(out, 1).number(frame.size());
  out.append(frame);
}

Status decode_book(std::string_view& bytes, BookRecord& record) {
  Reader outer(bytes, 0);
  const std::uint64_t size = outer.number();
  if (!outer.ok()) return invalid(fmt::format("snapshot: {}", outer.wrong()));
  if (size < 2 || size > outer.rest().size()) return invalid("snapshot: a record is cut off");
  const std::string_view frame = outer.rest().substr(0, size);
  const auto number = static_cast<unsigned char>(frame[0]);
  const auto version = static_cast<unsigned char>(frame[1]);
  const Known known = number < kind_max ? known_kinds[number] : Known{};
  if (known.decode == nullptr)
    return invalid(
        fmt::format("snapshot: unknown kind of record {}: a newer Muster wrote it; upgrade this "
                    "one to read it",
                    number));
  if (version == 0 || version > known.kind.version)
    return invalid(
        fmt::format("snapshot: {} of version {}, this Muster knows up to {}: a newer one wrote it; "
                    "upgrade this one to read it",
                    known.kind.name, version, known.kind.version));
  Reader reader(frame.substr(2), version);
  known.decode(reader, record);
  if (!reader.ok())
    return invalid(fmt::format("snapshot: {}: {}", known.kind.name, reader.wrong()));
  if (!reader.rest().empty())
    return invalid(
        fmt::format("snapshot: {}: {} bytes too many", known.kind.name, reader.rest().size()));
  bytes = outer.rest().substr(size);
  return Ok{};
}

}  // namespace muster::store
