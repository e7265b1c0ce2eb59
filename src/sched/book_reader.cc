#include <algorithm>

#include "sched/books.h"

namespace muster::sched {
namespace {

using namespace model;

/// Far above what fits in memory: a number that was not written by us.
constexpr std::uint32_t job_slots_most = 1U << 30;

Error wrong(const std::string& what) { return invalid("snapshot: " + what); }

}  // namespace

struct BookReader::Tables {
  BookHeader header;
  std::vector<BookQueue> queues;
  std::vector<NodeId> nodes;
  std::vector<BookLine> lines;
  struct Started {
    JobSlot job;
    std::uint32_t place = 0;
    Active active;
  };
  std::vector<Started> started;
  std::vector<BookReservation> reservations;
  std::vector<JobSlot> not_yet;
  std::vector<JobSlot> waits_for_others;
  bool is_linked = false;  // queues know those above them
  bool is_whole = false;
};

/// Calls the function of the record's kind.
struct BookReader::Taker {
  BookReader& reader;
  template <typename Record>
  Status operator()(Record& record) const {
    return reader.take(record);
  }
};

BookReader::BookReader() : tables_(std::make_unique<Tables>()) {}
BookReader::~BookReader() = default;

Status BookReader::add(BookRecord& record) {
  const bool is_header = std::holds_alternative<BookHeader>(record);
  if (tables_->is_whole) return wrong("something comes after its end");
  if (record.index() < kind_ || is_header != (kind_ == 0))
    return wrong("its parts are not in order");
  if (record.index() > BookRecord(BookQueue{}).index() && !tables_->is_linked) {
    tables_->is_linked = true;
    if (Status linked = link_queues(); !linked) return linked;
  }
  kind_ = std::max<std::size_t>(record.index(), 1);
  return std::visit(Taker{*this}, record);
}

Status BookReader::take(BookHeader& h) {
  for (const std::string& name : h.gpu_types) world_.fleet.type_id(name);
  for (const std::string& name : h.extended) world_.shapes.extended_index(name);
  for (const std::string& key : h.label_keys) world_.shapes.ask_key(key);
  for (const std::string& name : h.resources) world_.quota.resource(name);
  if (h.asked_labels) {
    AskedLabels asked;
    for (const BookAskedLabel& label : *h.asked_labels)
      label.value ? asked.add(label.key, *label.value) : asked.add(label.key);
    world_.shapes.ask_labels(asked);
  }
  if (world_.fleet.type_count() != h.gpu_types.size() ||
      world_.shapes.extended_names().size() != h.extended.size() ||
      world_.shapes.asked_keys().size() != h.label_keys.size() ||
      world_.quota.resource_count() != h.resources.size())
    return wrong("a name is there twice");
  if (h.jobs > h.job_slots || h.job_slots > job_slots_most)
    return wrong("more jobs than room for them");
  EstimateScore& score = world_.estimate_score;
  if (h.ratio.size() != score.ratio.size()) return wrong("the score of estimates has another form");
  score.scored = h.scored;
  score.inside_band = h.inside_band;
  score.early = h.early;
  score.late = h.late;
  score.error_sum_ms = h.error_sum_ms;
  std::copy(h.ratio.begin(), h.ratio.end(), score.ratio.begin());
  world_.newest_submit = h.newest_submit;
  events_ = h.events;
  jobs_ = h.jobs;
  tables_->header = std::move(h);
  return Ok{};
}

Status BookReader::take(BookCluster& c) {
  if (!world_.fleet.find_cluster(c.spec.name).is_none())
    return wrong(fmt::format("cluster {} is there twice", c.spec.name));
  Cluster& cluster = world_.fleet.cluster(world_.fleet.set_cluster(c.spec));
  cluster.joined = c.joined;
  cluster.health = c.health;
  cluster.health_since = c.health_since;
  return Ok{};
}

Status BookReader::take(BookNode& n) {
  if (n.cluster >= world_.fleet.cluster_count())
    return wrong(fmt::format("node {} is in no cluster", n.name));
  const ClusterId cluster{n.cluster};
  if (!world_.fleet.find_node(cluster, n.name).is_none())
    return wrong(fmt::format("node {} is there twice", n.name));
  tables_->nodes.push_back(world_.fleet.node_for(cluster, n.name));
  return Ok{};
}

Status BookReader::take(BookPool& p) {
  world_.set_pool(p.spec);
  if (!p.has_cluster) world_.pools_.back().cluster = ClusterId::none();
  return Ok{};
}

Status BookReader::take(BookFleetPool& p) {
  world_.set_fleet_pool(p.spec);
  return Ok{};
}

Status BookReader::take(BookQueue& q) {
  tables_->queues.push_back(std::move(q));
  return Ok{};
}

/// Queues name those above them, which may come later.
Status BookReader::link_queues() {
  QuotaTree& quota = world_.quota;
  const std::vector<BookQueue>& books = tables_->queues;
  if (books.empty()) return wrong("it has no queues");
  quota.nodes_.clear();
  quota.tree_roots_.clear();
  quota.nodes_.resize(books.size());
  std::vector<QueueId> by_place;
  for (std::uint32_t i = 0; i < books.size(); ++i) {
    const BookQueue& book = books[i];
    QueueNode& n = quota.nodes_[i];
    const bool is_root = book.name.empty();
    if (is_root == book.parent.has_value() || (book.parent && *book.parent >= books.size()))
      return wrong(fmt::format("queue {} stands nowhere", book.name));
    const bool is_new = is_root ? quota.tree_roots_.emplace(book.tree, QueueId{i}).second
                                : quota.ids_.emplace(book.name, QueueId{i}).second;
    if (!is_new) return wrong(fmt::format("queue {} is there twice", book.name));
    n.name = book.name;
    n.tree = book.tree;
    n.parent = book.parent ? QueueId{*book.parent} : QueueId::none();
    n.alive = book.alive;
    n.weight = book.weight;
    n.strategy = book.strategy;
    n.priority_cap = book.priority_cap;
    quota.grow(n);
    for (const BookLimit& l : book.limits) {
      if (l.resource >= n.limits.size()) return wrong("a limit of an unknown resource");
      n.limits[l.resource] = {l.guaranteed, l.maximum, l.borrow, l.lend};
      n.has_guarantee = n.has_guarantee || l.guaranteed != unset;
    }
    if (book.remembered.size() > n.remembered.size()) return wrong("use of an unknown resource");
    std::copy(book.remembered.begin(), book.remembered.end(), n.remembered.begin());
    n.remembered_at = book.remembered_at;
    quota.guarantees_ += n.has_guarantee ? 1 : 0;
    if (!is_root) quota.by_name_.push_back(QueueId{i});
    if (!is_root) by_place.push_back(QueueId{i});
  }
  if (!books[0].name.empty() || !books[0].tree.empty()) return wrong("the main tree is not first");
  std::sort(by_place.begin(), by_place.end(), [&](QueueId a, QueueId b) {
    return std::tie(books[a.index()].place, a) < std::tie(books[b.index()].place, b);
  });
  for (const QueueId id : by_place) {
    std::size_t steps = 0;
    for (QueueId up = id; !up.is_none(); up = quota.nodes_[up.index()].parent) {
      if (++steps > books.size()) return wrong("a queue stands below itself");
    }
    quota.node(quota.node(id).parent).children.push_back(id);
  }
  for (std::uint32_t i = 0; i < books.size(); ++i) {
    for (std::size_t r = 0; r < quota.resource_count(); ++r) {
      quota.update_held(QueueId{i}, r);
      quota.update_promised(QueueId{i}, r);
    }
    if (quota.nodes_[i].parent.is_none()) quota.inherit(QueueId{i});
  }
  quota.rank_names();
  return Ok{};
}

Status BookReader::take(BookShape& s) {
  const std::size_t number = world_.shapes.size();
  if (!tables_->header.asked_labels) world_.shapes.ask_labels(asked_by(s.gang));
  const ShapeId id = world_.shapes.intern(s.gang);
  const Shape& shape = world_.shapes[id];
  if (id.index() != number) return wrong("a shape is there twice");
  if (s.demand.size() != shape.sets.size()) return wrong("a shape without its demand");
  for (std::size_t i = 0; i < shape.sets.size(); ++i) {
    const PodShapeId pod = shape.sets[i].pod;
    world_.shapes.expect(pod, s.demand[i] - world_.shapes.demand(pod));
  }
  return Ok{};
}

Status BookReader::take(BookLine& l) {
  const auto known_queue = [&](std::uint32_t q) { return q < world_.quota.size(); };
  if (!known_queue(l.queue) || l.shape >= world_.shapes.size() ||
      !std::all_of(l.extra_queues.begin(), l.extra_queues.end(), known_queue))
    return wrong("a line of an unknown queue or shape");
  if (l.stands) {
    Job first;
    first.queue = QueueId{l.queue};
    first.shape = ShapeId{l.shape};
    first.priority = l.priority;
    first.run_limit = l.run_limit;
    for (const std::uint32_t q : l.extra_queues) first.extra_queues.push_back(QueueId{q});
    if (world_.line_for(first).index() != tables_->lines.size())
      return wrong("a line is there twice, or not in order");
  }
  tables_->lines.push_back(std::move(l));
  return Ok{};
}

Status BookReader::take(BookHistory& h) {
  if (h.recent_ms.size() > 8 || h.next >= 8) return wrong("a history is too long");
  Job job;
  job.user = world_.text_id(h.user);
  job.name = world_.text_id(h.name);
  const std::size_t number = world_.histories_.size();
  world_.join_history(job);
  if (job.history.index() != number) return wrong("a history is there twice");
  History& history = world_.histories_[number];
  history.recent_ms = std::move(h.recent_ms);
  history.next = h.next;
  history.jobs = 0;
  history.idle_since = h.idle_since.value_or(Time{0});
  world_.count_quartile(job.history);
  world_.idle_histories_.emplace(history.idle_since, job.history);
  return Ok{};
}

void BookReader::make_slots() {
  world_.jobs_.resize(tables_->header.job_slots);
  world_.job_ids_.reserve(tables_->header.jobs);
  for (Job& job : world_.jobs_) job.state = JobState::Cancelled;  // free
}

bool BookReader::has_job(std::uint32_t slot) const {
  return slot < world_.jobs_.size() && !world_.jobs_[slot].id.empty();
}

Status BookReader::take(BookJob& j) {
  if (world_.jobs_.empty()) make_slots();
  if (j.slot >= world_.jobs_.size() || has_job(j.slot) || j.id.empty() ||
      j.line >= tables_->lines.size() || j.history >= world_.histories_.size())
    return wrong(fmt::format("job {} does not fit the rest", j.id));
  const JobSlot slot{j.slot};
  const BookLine& line = tables_->lines[j.line];
  Job job;
  job.seq = j.seq;
  job.queue = QueueId{line.queue};
  for (const std::uint32_t q : line.extra_queues) job.extra_queues.push_back(QueueId{q});
  job.shape = ShapeId{line.shape};
  job.priority = line.priority;
  job.run_limit = line.run_limit;
  job.attempt = j.attempt;
  job.failures = j.failures;
  job.requeues = j.requeues;
  for (const std::uint32_t cluster : j.failed_in) {
    if (cluster >= world_.fleet.cluster_count())
      return wrong(fmt::format("job {} failed to start in no cluster", j.id));
    job.failed_in.push_back(ClusterId{cluster});
  }
  job.ran = j.ran;
  job.state = j.state;
  job.user = world_.histories_[j.history].user;
  job.name = world_.histories_[j.history].name;
  job.submitted = j.submitted;
  job.eligible_at = j.eligible_at;
  job.deadline = j.deadline.value_or(Time::never());
  job.finished = j.finished.value_or(Time{0});
  job.depends_on = std::move(j.depends_on);
  const Shape& shape = world_.shapes[job.shape];
  for (const BookLabel& label : j.spare_labels) {
    if (label.set >= shape.sets.size())
      return wrong(fmt::format("job {} has labels of no set", j.id));
    job.spare.add(label.set, label.key, label.value);
  }
  job.gang_hash = job.spare.empty() ? shape.hash : hash_of(whole(shape.gang, job.spare));
  if (j.first_high.ms != 0) {
    job.first_low = j.submitted + j.first_low;
    job.first_expected = j.submitted + j.first_expected;
    job.first_high = j.submitted + j.first_high;
  }
  job.id = std::move(j.id);
  if (world_.job_ids_.contains(job.id)) return wrong(fmt::format("job {} is there twice", job.id));
  world_.join_history(job);
  world_.shapes.add_job(job.shape);
  world_.spare_counts_.add(job.spare, JobSlot{j.slot}, +1);
  if (model::is_active(job.state) != j.active.has_value())
    return wrong(fmt::format("job {} is {}, with the wrong nodes", job.id, to_text(job.state)));
  if (j.active) {
    auto active = active_of(slot, job.shape, *j.active);
    if (!active) return active.error();
    tables_->started.push_back({slot, j.active->place, std::move(*active)});
  }
  if (j.not_yet) tables_->not_yet.push_back(slot);
  if (j.doomed) world_.doomed.insert(slot);
  if (!job.depends_on.empty() && !model::is_final(job.state))
    tables_->waits_for_others.push_back(slot);
  world_.jobs_[slot.index()] = std::move(job);
  world_.job_ids_.emplace(world_.jobs_[slot.index()].id, slot);
  ++jobs_read_;
  return Ok{};
}

Result<Charges> BookReader::charges_of(const std::vector<BookCharge>& charges) const {
  Charges all;
  for (const BookCharge& c : charges) {
    if (c.resource >= world_.quota.resource_count()) return wrong("use of an unknown resource");
    all.push_back({ResourceId{static_cast<std::uint16_t>(c.resource)}, c.amount});
  }
  return all;
}

Result<Active> BookReader::active_of(JobSlot slot, ShapeId shape, const BookActive& book) const {
  if (book.cluster >= world_.fleet.cluster_count()) return wrong("an attempt in no cluster");
  Active a;
  a.cluster = ClusterId{book.cluster};
  auto charges = charges_of(book.charges);
  if (!charges) return charges.error();
  a.charges = std::move(*charges);
  const auto& sets = world_.shapes[shape].sets;
  for (const BookPod& pod : book.pods) {
    if (pod.set >= sets.size() || pod.node >= tables_->nodes.size() ||
        world_.fleet.node(tables_->nodes[pod.node]).cluster != a.cluster)
      return wrong("a pod on no node");
    a.pods.push_back(
        {slot, pod.set, sets[pod.set].pod, tables_->nodes[pod.node], pod.devices, pod.each});
  }
  a.expected_end = book.expected_end;
  a.placed_at = book.placed_at;
  a.started_at = book.started_at.value_or(Time::never());
  a.checkpoint_at = book.checkpoint_at;
  a.stopping = book.stopping;
  a.stop = book.stop;
  a.cancelled = book.cancelled;
  a.held = book.held;
  a.demise = book.demise;
  if (book.beneficiary) a.beneficiary = JobSlot{*book.beneficiary};
  return a;
}

Status BookReader::take(BookReservation& r) {
  if (!has_job(r.job) || r.cluster >= world_.fleet.cluster_count() ||
      r.slot >= tables_->header.reservation_slots ||
      std::any_of(r.nodes.begin(), r.nodes.end(),
                  [&](std::uint32_t node) { return node >= tables_->nodes.size(); }))
    return wrong("a reservation does not fit the rest");
  tables_->reservations.push_back(std::move(r));
  return Ok{};
}

Status BookReader::take(BookOrphan& o) {
  if (!has_job(o.job)) return wrong("an attempt left behind by no job");
  auto active = active_of(JobSlot{o.job}, world_.jobs_[o.job].shape, o.active);
  if (!active) return active.error();
  world_.orphans_.push_back({JobSlot{o.job}, o.attempt, std::move(*active)});
  return Ok{};
}

Status BookReader::take(BookEnd& end) {
  if (world_.jobs_.empty()) make_slots();
  for (const std::uint32_t slot : end.free_slots) {
    if (slot >= tables_->header.job_slots || has_job(slot)) return wrong("a slot that is not free");
    world_.free_jobs_.push_back(JobSlot{slot});
  }
  if (jobs_read_ != jobs_ || jobs_ + end.free_slots.size() != world_.jobs_.size() ||
      world_.jobs_.size() != tables_->header.job_slots)
    return wrong(fmt::format("{} of {} jobs are there", jobs_read_, jobs_));
  tables_->is_whole = true;
  return Ok{};
}

/// In the order in which the engine lists them by cluster.
void BookReader::start_active() {
  auto& started = tables_->started;
  std::sort(started.begin(), started.end(), [](const auto& a, const auto& b) {
    return std::tie(a.active.cluster, a.place, a.job) < std::tie(b.active.cluster, b.place, b.job);
  });
  for (Tables::Started& s : started) {
    const JobSlot beneficiary = s.active.beneficiary;
    world_.hold(s.job, std::move(s.active), Time{0}, Duration{0});
    world_.count_leaving(beneficiary, +1);
    const Job& job = world_.job(s.job);
    const Active& active = *job.active;
    if (job.run_limit.ms > 0 && !active.started_at.is_never() && !active.stopping)
      world_.run_limits.emplace(active.started_at + job.run_limit, s.job);
  }
  for (const Orphan& orphan : world_.orphans_) {
    for (const PodOn& pod : orphan.active.pods) world_.fleet.occupy(pod, world_.shapes);
  }
}

void BookReader::settle_job(JobSlot slot) {
  const Job& job = world_.job(slot);
  if (model::is_final(job.state)) world_.finished.emplace(job.finished, slot);
  if (job.state != JobState::Waiting) return;
  if (!job.deadline.is_never() && !job.ran) world_.deadlines.emplace(job.deadline, slot);
  world_.enqueue(slot);
}

Status BookReader::settle_reservations() {
  world_.reservations_.resize(tables_->header.reservation_slots);
  for (const BookReservation& r : tables_->reservations) {
    Reservation reservation{JobSlot{r.job}, ClusterId{r.cluster}, r.start, r.preempting, {}, {}};
    auto charges = charges_of(r.charges);
    if (!charges) return charges.error();
    reservation.charges = std::move(*charges);
    for (const std::uint32_t node : r.nodes) reservation.nodes.push_back(tables_->nodes[node]);
    const bool is_taken = !world_.job(reservation.job).reservation.is_none() ||
                          !world_.reservations_[r.slot].job.is_none();
    if (is_taken || world_.job(reservation.job).state != JobState::Waiting)
      return wrong("a reservation of the wrong job");
    world_.restore_reservation(ReservationId{r.slot}, reservation);
  }
  return Ok{};
}

Result<ReadBooks> BookReader::finish() {
  if (!tables_->is_whole) return wrong("its end is missing");
  for (const Tables::Started& s : tables_->started) {
    const JobSlot beneficiary = s.active.beneficiary;
    if (!beneficiary.is_none() && !has_job(beneficiary.v))
      return wrong("a victim that leaves for no job");
  }
  start_active();
  for (const JobSlot slot : tables_->not_yet)
    world_.eligible_at.emplace(world_.job(slot).eligible_at, slot);
  std::sort(tables_->waits_for_others.begin(), tables_->waits_for_others.end(),
            [&](JobSlot a, JobSlot b) {
              return std::tie(world_.job(a).seq, a) < std::tie(world_.job(b).seq, b);
            });
  for (const JobSlot slot : tables_->waits_for_others) {
    for (const std::string& id : world_.job(slot).depends_on) world_.dependents[id].push_back(slot);
  }
  for (std::uint32_t i = 0; i < world_.jobs_.size(); ++i) {
    if (has_job(i)) settle_job(JobSlot{i});
  }
  if (Status settled = settle_reservations(); !settled) return settled.error();
  world_.version = tables_->header.events;
  world_.changes = Changes{};
  const std::uint64_t hash = world_.hash();
  if (hash != tables_->header.hash)
    return wrong(fmt::format("it makes a world of hash {:016x}, written was one of {:016x}", hash,
                             tables_->header.hash));
  return ReadBooks{std::move(world_), tables_->header.last};
}

}  // namespace muster::sched
