#include <algorithm>
#include <map>
#include <tuple>

#include "sched/books.h"

namespace muster::sched {
namespace {

using namespace model;

constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();

/// What decides for a job that stands in no line.
using LineKey =
    std::tuple<std::uint32_t, std::uint32_t, int, std::int64_t, std::vector<std::uint32_t>>;

std::vector<std::uint32_t> numbers(const std::vector<QueueId>& queues) {
  std::vector<std::uint32_t> all;
  for (const QueueId queue : queues) all.push_back(queue.v);
  return all;
}

LineKey key_of(const Job& job) {
  return {job.queue.v, job.shape.v, job.priority, job.run_limit.ms, numbers(job.extra_queues)};
}

std::vector<BookCharge> book_charges(const Charges& charges) {
  std::vector<BookCharge> all;
  for (const Charge& c : charges) all.push_back({std::uint32_t{c.resource.v}, c.amount});
  return all;
}

std::optional<Time> unless_never(Time t) {
  return t == Time::never() ? std::nullopt : std::optional(t);
}

}  // namespace

struct BookWriter::Tables {
  std::vector<NodeId> nodes;               // to be written
  std::vector<std::uint32_t> node_number;  // by NodeId
  std::vector<PoolId> pools;
  std::vector<std::uint32_t> queue_place;  // among the children of its parent
  std::vector<LineKey> extra_lines;        // behind those of the world
  std::map<LineKey, std::uint32_t> extra_numbers;
  std::vector<HistoryId> histories;
  std::vector<std::uint32_t> history_number;  // by HistoryId
  std::map<std::string, std::vector<std::string>>::const_iterator fleet_pool;
};

BookWriter::~BookWriter() = default;

BookWriter::BookWriter(const World& world, Time last)
    : world_(world), last_(last), tables_(std::make_unique<Tables>()) {
  Tables& t = *tables_;
  number_nodes();
  number_histories();
  for (std::uint32_t i = 0; i < world.pools_.size(); ++i) {
    if (world.find_pool(world.pools_[i].spec.name) == PoolId{i}) t.pools.push_back(PoolId{i});
  }
  t.fleet_pool = world.fleet_pools_.begin();
  t.queue_place.assign(world.quota.size(), 0);
  for (const QueueNode& queue : world.quota.nodes_) {
    for (std::uint32_t i = 0; i < queue.children.size(); ++i)
      t.queue_place[queue.children[i].index()] = i;
  }
  for (const Job& job : world.jobs_) {
    if (job.id.empty() || !job.line.is_none()) continue;
    const auto number = static_cast<std::uint32_t>(world.lines_.size() + t.extra_numbers.size());
    const auto [it, is_new] = t.extra_numbers.try_emplace(key_of(job), number);
    if (is_new) t.extra_lines.push_back(it->first);
  }
}

/// By cluster and name: nodes that hold nothing are not written, so their numbers say nothing.
void BookWriter::number_nodes() {
  Tables& t = *tables_;
  t.node_number.assign(world_.fleet.node_count(), nowhere);
  for (std::uint32_t i = 0; i < world_.fleet.node_count(); ++i) {
    const Node& node = world_.fleet.node(NodeId{i});
    if (!node.pods.empty() || !node.reserved.is_none()) t.nodes.push_back(NodeId{i});
  }
  std::sort(t.nodes.begin(), t.nodes.end(), [&](NodeId a, NodeId b) {
    const Node& x = world_.fleet.node(a);
    const Node& y = world_.fleet.node(b);
    return std::tie(x.cluster, x.spec.name) < std::tie(y.cluster, y.spec.name);
  });
  for (std::uint32_t i = 0; i < t.nodes.size(); ++i) t.node_number[t.nodes[i].index()] = i;
}

/// In the order of the jobs that have them, the idle ones behind: what was dropped between them
/// leaves no trace.
void BookWriter::number_histories() {
  Tables& t = *tables_;
  t.history_number.assign(world_.histories_.size(), nowhere);
  const auto add = [&](HistoryId id) {
    if (t.history_number[id.index()] != nowhere) return;
    t.history_number[id.index()] = static_cast<std::uint32_t>(t.histories.size());
    t.histories.push_back(id);
  };
  for (const Job& job : world_.jobs_) {
    if (!job.id.empty()) add(job.history);
  }
  const std::size_t used = t.histories.size();
  for (const auto& [since, id] : world_.idle_histories_) add(id);
  std::sort(t.histories.begin() + static_cast<std::ptrdiff_t>(used), t.histories.end(),
            [&](HistoryId a, HistoryId b) {
              const History& x = world_.histories_[a.index()];
              const History& y = world_.histories_[b.index()];
              return std::tie(x.idle_since, world_.text(x.user), world_.text(x.name)) <
                     std::tie(y.idle_since, world_.text(y.user), world_.text(y.name));
            });
}

std::optional<BookRecord> BookWriter::next() {
  constexpr std::array<std::optional<BookRecord> (BookWriter::*)(), 11> tables = {
      &BookWriter::cluster, &BookWriter::node,        &BookWriter::pool,  &BookWriter::fleet_pool,
      &BookWriter::queue,   &BookWriter::shape,       &BookWriter::line,  &BookWriter::history,
      &BookWriter::job,     &BookWriter::reservation, &BookWriter::orphan};
  if (kind_ == 0) {
    kind_ = 1;
    return header();
  }
  for (; kind_ <= tables.size(); ++kind_, at_ = 0) {
    if (auto record = (this->*tables[kind_ - 1])()) return record;
  }
  if (kind_ > tables.size() + 1) return std::nullopt;
  ++kind_;
  BookEnd end;
  for (const JobSlot slot : world_.free_jobs_) end.free_slots.push_back(slot.v);
  return end;
}

BookHeader BookWriter::header() const {
  BookHeader h;
  h.hash = world_.hash();
  h.last = last_;
  h.events = world_.version;
  h.newest_submit = world_.newest_submit;
  h.jobs = world_.jobs_.size() - world_.free_jobs_.size();
  h.job_slots = static_cast<std::uint32_t>(world_.jobs_.size());
  h.reservation_slots = static_cast<std::uint32_t>(world_.reservations_.size());
  for (std::uint16_t i = 0; i < world_.fleet.type_count(); ++i)
    h.gpu_types.push_back(world_.fleet.type_name(TypeId{i}));
  h.extended = world_.shapes.extended_names();
  h.label_keys = world_.shapes.asked_keys();
  h.resources = world_.quota.resources_;
  h.asked_labels.emplace();
  world_.shapes.asked_labels().for_each(
      [&](const std::string& key, const std::optional<std::string>& value) {
        h.asked_labels->push_back({key, value});
      });
  const EstimateScore& score = world_.estimate_score;
  h.scored = score.scored;
  h.inside_band = score.inside_band;
  h.early = score.early;
  h.late = score.late;
  h.error_sum_ms = score.error_sum_ms;
  h.ratio.assign(score.ratio.begin(), score.ratio.end());
  return h;
}

std::optional<BookRecord> BookWriter::cluster() {
  if (at_ == world_.fleet.cluster_count()) return std::nullopt;
  const Cluster& c = world_.fleet.cluster(ClusterId{static_cast<std::uint32_t>(at_++)});
  return BookCluster{c.spec, c.joined, c.health, c.health_since};
}

std::optional<BookRecord> BookWriter::node() {
  if (at_ == tables_->nodes.size()) return std::nullopt;
  const Node& node = world_.fleet.node(tables_->nodes[at_++]);
  return BookNode{node.cluster.v, node.spec.name};
}

std::optional<BookRecord> BookWriter::pool() {
  if (at_ == tables_->pools.size()) return std::nullopt;
  const Pool& pool = world_.pool(tables_->pools[at_++]);
  return BookPool{pool.spec, !pool.cluster.is_none()};
}

std::optional<BookRecord> BookWriter::fleet_pool() {
  if (tables_->fleet_pool == world_.fleet_pools_.end()) return std::nullopt;
  const auto& [name, pools] = *tables_->fleet_pool++;
  return BookFleetPool{{name, pools}};
}

std::optional<BookRecord> BookWriter::queue() {
  if (at_ == world_.quota.size()) return std::nullopt;
  const QueueNode& n = world_.quota.nodes_[at_];
  BookQueue q;
  q.name = n.name;
  q.tree = n.tree;
  if (!n.parent.is_none()) q.parent = n.parent.v;
  q.place = tables_->queue_place[at_++];
  q.alive = n.alive;
  q.weight = n.weight;
  q.strategy = n.strategy;
  q.priority_cap = n.priority_cap;
  for (std::uint32_t r = 0; r < n.limits.size(); ++r) {
    const LimitRec& l = n.limits[r];
    if (l.guaranteed != unset || l.maximum != unset || l.borrow != unset || l.lend != unset)
      q.limits.push_back({r, l.guaranteed, l.maximum, l.borrow, l.lend});
  }
  q.remembered = n.remembered;
  while (!q.remembered.empty() && q.remembered.back() == 0) q.remembered.pop_back();
  q.remembered_at = n.remembered_at;
  return q;
}

std::optional<BookRecord> BookWriter::shape() {
  if (at_ == world_.shapes.size()) return std::nullopt;
  const Shape& shape = world_.shapes[ShapeId{static_cast<std::uint32_t>(at_++)}];
  BookShape s{shape.gang, {}};
  for (const SetRec& set : shape.sets) s.demand.push_back(world_.shapes.demand(set.pod));
  return s;
}

std::optional<BookRecord> BookWriter::line() {
  const std::size_t standing = world_.lines_.size();
  if (at_ < standing) {
    const Line& line = world_.lines_[at_++];
    return BookLine{line.queue.v,   numbers(line.extra_queues),
                    line.shape.v,   line.priority,
                    line.run_limit, true};
  }
  if (at_ == standing + tables_->extra_lines.size()) return std::nullopt;
  const auto& [queue, shape, priority, run_limit_ms, extra] =
      tables_->extra_lines[at_++ - standing];
  return BookLine{queue, extra, shape, priority, Duration{run_limit_ms}, false};
}

std::optional<BookRecord> BookWriter::history() {
  if (at_ == tables_->histories.size()) return std::nullopt;
  const History& history = world_.histories_[tables_->histories[at_++].index()];
  BookHistory h;
  h.user = world_.text(history.user);
  h.name = world_.text(history.name);
  h.recent_ms = history.recent_ms;
  h.next = static_cast<std::uint32_t>(history.next);
  if (history.jobs == 0) h.idle_since = history.idle_since;
  return h;
}

BookActive BookWriter::active_of(const Active& active) const {
  BookActive a;
  a.cluster = active.cluster.v;
  a.place = active.at_in_cluster;
  for (const PodOn& pod : active.pods)
    a.pods.push_back({pod.set, tables_->node_number[pod.node.index()], pod.devices, pod.each});
  a.charges = book_charges(active.charges);
  a.expected_end = active.expected_end;
  a.placed_at = active.placed_at;
  a.started_at = unless_never(active.started_at);
  a.checkpoint_at = active.checkpoint_at;
  a.stopping = active.stopping;
  a.stop = active.stop;
  a.cancelled = active.cancelled;
  a.held = active.held;
  a.demise = active.demise;
  if (!active.beneficiary.is_none()) a.beneficiary = active.beneficiary.v;
  return a;
}

std::optional<BookRecord> BookWriter::job() {
  while (at_ < world_.jobs_.size() && world_.jobs_[at_].id.empty()) ++at_;
  if (at_ == world_.jobs_.size()) return std::nullopt;
  const JobSlot slot{static_cast<std::uint32_t>(at_++)};
  const Job& job = world_.job(slot);
  BookJob j;
  j.slot = slot.v;
  j.id = job.id;
  j.seq = job.seq;
  j.line = job.line.is_none() ? tables_->extra_numbers.at(key_of(job)) : job.line.v;
  j.history = tables_->history_number[job.history.index()];
  j.state = job.state;
  j.attempt = job.attempt;
  j.failures = job.failures;
  j.requeues = job.requeues;
  for (const ClusterId cluster : job.failed_in) j.failed_in.push_back(cluster.v);
  j.ran = job.ran;
  j.not_yet = !world_.eligible_at.empty() && world_.eligible_at.contains({job.eligible_at, slot});
  j.doomed = !world_.doomed.empty() && world_.doomed.contains(slot);
  j.submitted = job.submitted;
  j.eligible_at = job.eligible_at;
  j.deadline = unless_never(job.deadline);
  if (model::is_final(job.state)) j.finished = job.finished;
  j.depends_on = job.depends_on;
  if (job.first_high.ms != 0) {
    j.first_low = job.first_low - job.submitted;
    j.first_expected = job.first_expected - job.submitted;
    j.first_high = job.first_high - job.submitted;
  }
  if (job.active) j.active = active_of(*job.active);
  job.spare.for_each([&](std::uint32_t set, std::string_view key, std::string_view value) {
    j.spare_labels.push_back({set, std::string(key), std::string(value)});
  });
  return j;
}

std::optional<BookRecord> BookWriter::reservation() {
  const auto& all = world_.reservations_;
  while (at_ < all.size() && all[at_].job.is_none()) ++at_;
  if (at_ == all.size()) return std::nullopt;
  const Reservation& r = all[at_];
  BookReservation b;
  b.slot = static_cast<std::uint32_t>(at_++);
  b.job = r.job.v;
  b.cluster = r.cluster.v;
  b.start = r.start;
  b.preempting = r.preempting;
  for (const NodeId node : r.nodes) b.nodes.push_back(tables_->node_number[node.index()]);
  b.charges = book_charges(r.charges);
  return b;
}

std::optional<BookRecord> BookWriter::orphan() {
  if (at_ == world_.orphans_.size()) return std::nullopt;
  const Orphan& orphan = world_.orphans_[at_++];
  return BookOrphan{orphan.job.v, orphan.attempt, active_of(orphan.active)};
}

}  // namespace muster::sched
