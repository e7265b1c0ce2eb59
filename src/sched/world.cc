#include "sched/world.h"

#include <algorithm>
#include <limits>

#include "sched/estimate.h"

namespace muster::sched {
namespace {

const SortedChunks<LineRank> no_lines;
const std::vector<JobSlot> no_jobs;

/// Thousandths of a device of this type. A share asked for by memory is the larger the less memory
/// the device has: of the smallest that can hold it, so that no quota is exceeded wherever it goes.
std::int64_t share_of_device(const PodShapeRec& pod, const Fleet& fleet, TypeId type) {
  const std::int64_t memory = pod.spec.gpu.memory_each.v;
  if (memory == 0) return pod.spec.gpu.each.v;
  const std::int64_t device_memory = fleet.smallest_gpu_memory(type, memory);
  if (device_memory == 0) return 1000;
  __extension__ using Wide = __int128;
  return static_cast<std::int64_t>((Wide(memory) * 1000 + device_memory - 1) / device_memory);
}

Job copy_of(const Job& job) {
  Job copy;
  copy.id = job.id;
  copy.seq = job.seq;
  copy.queue = job.queue;
  copy.shape = job.shape;
  copy.priority = job.priority;
  copy.attempt = job.attempt;
  copy.failures = job.failures;
  copy.requeues = job.requeues;
  copy.ran = job.ran;
  copy.state = job.state;
  copy.line = job.line;
  copy.user = job.user;
  copy.name = job.name;
  copy.history = job.history;
  copy.reservation = job.reservation;
  copy.submitted = job.submitted;
  copy.eligible_at = job.eligible_at;
  copy.deadline = job.deadline;
  copy.finished = job.finished;
  copy.run_limit = job.run_limit;
  copy.failed_in = job.failed_in;
  copy.extra_queues = job.extra_queues;
  copy.depends_on = job.depends_on;
  copy.spare = job.spare;
  copy.gang_hash = job.gang_hash;
  if (job.active) copy.active = std::make_unique<Active>(*job.active);
  copy.first_low = job.first_low;
  copy.first_expected = job.first_expected;
  copy.first_high = job.first_high;
  return copy;
}

}  // namespace

World::World() = default;
World::World(World&& other) noexcept = default;
World::~World() = default;

World::World(const World& other)
    : fleet(other.fleet),
      shapes(other.shapes),
      quota(other.quota),
      guarantees(other.guarantees),
      changes(other.changes),
      version(other.version),
      idle_shapes_most(other.idle_shapes_most),
      newest_submit(other.newest_submit),
      eligible_at(other.eligible_at),
      deadlines(other.deadlines),
      run_limits(other.run_limits),
      doomed(other.doomed),
      finished(other.finished),
      dependents(other.dependents),
      estimate_score(other.estimate_score),
      busy(other.busy),
      free_jobs_(other.free_jobs_),
      spare_counts_(other.spare_counts_),
      lines_(other.lines_),
      line_ids_(other.line_ids_),
      queue_lines_(other.queue_lines_),
      top_priorities_(other.top_priorities_),
      shape_lines_(other.shape_lines_),
      shapes_with_lines_(other.shapes_with_lines_),
      active_(other.active_),
      stays_(other.stays_),
      stakes_(other.stakes_),
      pools_(other.pools_),
      pool_ids_(other.pool_ids_),
      fleet_pools_(other.fleet_pools_),
      reservations_(other.reservations_),
      texts_(other.texts_),
      text_uses_(other.text_uses_),
      free_texts_(other.free_texts_),
      histories_(other.histories_),
      learned_ms_(other.learned_ms_),
      history_ids_(other.history_ids_),
      free_histories_(other.free_histories_),
      idle_histories_(other.idle_histories_),
      orphans_(other.orphans_),
      waiting_(other.waiting_),
      backlogs_(other.backlogs_),
      leaving_(other.leaving_),
      running_(other.running_),
      evictable_(other.evictable_) {
  for (const Job& job : other.jobs_) jobs_.push_back(copy_of(job));
  // By ids, which are those of the jobs themselves.
  job_ids_.reserve(other.job_ids_.size());
  for (const auto& [id, slot] : other.job_ids_) job_ids_.emplace(job(slot).id, slot);
  for (const auto& [text, id] : other.text_ids_) text_ids_.emplace(texts_[id.index()], id);
  for (Line& line : lines_) {
    for (const auto& [key, slot] : std::exchange(line.jobs, {})) {
      const std::string_view id = job(slot).id;
      line.jobs.emplace_hint(line.jobs.end(), std::pair(key.first, id), slot);
    }
  }
}

// ----------------------------------------------------------------------------------------------
// jobs and lines

JobSlot World::find_job(const std::string& id) const {
  const auto it = job_ids_.find(id);
  return it == job_ids_.end() ? JobSlot::none() : it->second;
}

JobSlot World::add_job(Job job) {
  if (free_jobs_.empty()) return add_guest(std::move(job));
  const JobSlot slot = free_jobs_.back();
  free_jobs_.pop_back();
  join_history(job);
  shapes.add_job(job.shape);
  spare_counts_.add(job.spare, slot, +1);
  jobs_[slot.index()] = std::move(job);
  job_ids_.emplace(jobs_[slot.index()].id, slot);
  return slot;
}

JobSlot World::add_guest(Job job) {
  const JobSlot slot{static_cast<std::uint32_t>(jobs_.size())};
  join_history(job);
  shapes.add_job(job.shape);
  spare_counts_.add(job.spare, slot, +1);
  jobs_.push_back(std::move(job));
  job_ids_.emplace(jobs_.back().id, slot);
  return slot;
}

void World::withdraw_guest(JobSlot newest) {
  const Job& job = jobs_.back();
  MUSTER_CHECK(newest.index() + 1 == jobs_.size() && job.line.is_none() && !job.active,
               "{} is not the newest job or is in use", job.id);
  job_ids_.erase(job.id);
  leave_history(job.history, histories_[job.history.index()].idle_since);
  shapes.drop_job(job.shape);
  spare_counts_.add(job.spare, newest, -1);
  jobs_.pop_back();
}

const SortedChunks<LineRank>& World::lines_of(QueueId queue) const {
  return queue.index() < queue_lines_.size() ? queue_lines_[queue.index()] : no_lines;
}

const std::vector<LineId>& World::lines_of_shape(ShapeId shape) const {
  static const std::vector<LineId> none;
  return shape.index() < shape_lines_.size() ? shape_lines_[shape.index()].lines : none;
}

LineRank World::rank_of(LineId id) const {
  const Line& line = lines_[id.index()];
  const auto& [key, slot] = *line.jobs.begin();
  return {line.priority, slot, key.first, id, line.shape};
}

bool World::ranks_before(const LineRank& a, const LineRank& b) const {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.seq != b.seq) return a.seq < b.seq;
  return job(a.job).id < job(b.job).id;
}

LineId World::line_for(const Job& job) {
  const std::uint64_t key = line_key(job);
  for (auto [it, end] = line_ids_.equal_range(key); it != end; ++it) {
    const Line& line = lines_[it->second.index()];
    if (line.queue == job.queue && line.shape == job.shape && line.priority == job.priority &&
        line.run_limit == job.run_limit && line.extra_queues == job.extra_queues) {
      return it->second;
    }
  }
  const LineId id{static_cast<std::uint32_t>(lines_.size())};
  lines_.push_back(
      {job.queue, job.extra_queues, job.shape, job.priority, job.run_limit, {}, {}, 0});
  line_ids_.emplace(key, id);
  return id;
}

void World::rank_changed(LineId id, const LineRank* old_rank) {
  const Line& line = lines_[id.index()];
  if (queue_lines_.size() <= line.queue.index()) {
    queue_lines_.resize(line.queue.index() + 1);
    top_priorities_.resize(queue_lines_.size());
  }
  auto& lines = queue_lines_[line.queue.index()];
  const auto before = [&](const LineRank& a, const LineRank& b) { return ranks_before(a, b); };
  if (old_rank != nullptr) lines.erase(*old_rank, before);
  if (!line.jobs.empty()) lines.insert(rank_of(id), before);
  if (!lines.empty()) top_priorities_[line.queue.index()] = lines.begin()->priority;
  if (line.jobs.empty() != (old_rank == nullptr)) list_by_shape(id, !line.jobs.empty());
  list_by_first(id, old_rank != nullptr);
}

void World::list_by_first(LineId id, bool was_listed) {
  Line& line = lines_[id.index()];
  if (was_listed) histories_[line.history.index()].lines.erase(id);
  if (line.jobs.empty()) return;
  line.history = jobs_[first_of(id).index()].history;
  histories_[line.history.index()].lines.insert(id);
}

void World::list_by_shape(LineId id, bool listed) {
  Line& line = lines_[id.index()];
  if (shape_lines_.size() <= line.shape.index()) shape_lines_.resize(line.shape.index() + 1);
  ShapeLines& shape = shape_lines_[line.shape.index()];
  auto& peers = shape.lines;
  if (listed) {
    if (peers.empty()) {
      shape.at = static_cast<std::uint32_t>(shapes_with_lines_.size());
      shapes_with_lines_.push_back(line.shape);
    }
    line.at_in_shape = static_cast<std::uint32_t>(peers.size());
    peers.push_back(id);
    return;
  }
  lines_[peers.back().index()].at_in_shape = line.at_in_shape;
  peers[line.at_in_shape] = peers.back();
  peers.pop_back();
  if (!peers.empty()) return;
  shape_lines_[shapes_with_lines_.back().index()].at = shape.at;
  shapes_with_lines_[shape.at] = shapes_with_lines_.back();
  shapes_with_lines_.pop_back();
}

const std::map<int, Backlog>& World::backlog(QueueId queue) const {
  static const std::map<int, Backlog> none;
  return queue.index() < backlogs_.size() ? backlogs_[queue.index()] : none;
}

void World::count_backlog(const Job& job, int change) {
  if (backlogs_.size() <= job.queue.index()) backlogs_.resize(job.queue.index() + 1);
  auto& of_queue = backlogs_[job.queue.index()];
  Backlog& b = of_queue[job.priority];
  b.jobs += change;
  const std::int64_t milli = change * shapes[job.shape].gpu_milli;
  if (job.run_limit.ms > 0) {
    b.gpu_milli_ms += Backlog::Wide(milli) * job.run_limit.ms;
  } else {
    b.unlimited_milli += milli;
  }
  if (b.jobs == 0) of_queue.erase(job.priority);
}

void World::enqueue(JobSlot slot) {
  Job& job = jobs_[slot.index()];
  if (job.state != model::JobState::Waiting || !job.line.is_none()) return;
  if (!job.depends_on.empty() || eligible_at.contains({job.eligible_at, slot})) return;
  const LineId id = line_for(job);
  Line& line = lines_[id.index()];
  const bool was_empty = line.jobs.empty();
  const LineRank old_rank = was_empty ? LineRank{} : rank_of(id);
  line.jobs.emplace(std::pair(job.seq, std::string_view(job.id)), slot);
  job.line = id;
  ++waiting_;
  count_backlog(job, +1);
  if (line.jobs.begin()->second == slot) {
    rank_changed(id, was_empty ? nullptr : &old_rank);
    changes.lines.push_back(id);
  } else if (const Job& first = this->job(line.jobs.begin()->second);
             !first.reservation.is_none() && reservation(first.reservation).preempting) {
    changes.again.push_back(id);  // those behind one that waits for its victims may evict as well
  }
}

void World::dequeue(JobSlot slot) {
  Job& job = jobs_[slot.index()];
  if (job.line.is_none()) return;
  const LineId id = job.line;
  Line& line = lines_[id.index()];
  const LineRank old_rank = rank_of(id);
  const bool was_first = line.jobs.begin()->second == slot;
  line.jobs.erase({job.seq, std::string_view(job.id)});
  job.line = LineId::none();
  --waiting_;
  count_backlog(job, -1);
  if (was_first) {
    rank_changed(id, &old_rank);
    changes.lines.push_back(id);
  }
}

const std::vector<JobSlot>& World::active_in(ClusterId cluster) const {
  return cluster.index() < active_.size() ? active_[cluster.index()] : no_jobs;
}

std::size_t World::unplaced() const {
  std::size_t others = finished.size();
  for (const auto& slots : active_) others += slots.size();
  return live_jobs() - others;
}

const std::vector<Stay>& World::stays_in(ClusterId cluster) const {
  static const std::vector<Stay> none;
  return cluster.index() < stays_.size() ? stays_[cluster.index()] : none;
}

const std::vector<Stake>& World::stakes_in(ClusterId cluster) const {
  static const std::vector<Stake> none;
  return cluster.index() < stakes_.size() ? stakes_[cluster.index()] : none;
}

void World::set_stake(const Job& job) {
  stakes_[job.active->cluster.index()][job.active->at_in_cluster] =
      stake_of(job, shapes[job.shape].gang);
}

void World::attempt_changed(JobSlot slot) {
  const Job& job = jobs_[slot.index()];
  stays_[job.active->cluster.index()][job.active->at_in_cluster] = stay_of(job);
  set_stake(job);
  if (job.active->stopping) settle_guarantee(slot);
}

void World::start(JobSlot slot, Active active, Time at, const Policy& policy) {
  active.expected_end = at + expected_run_time(*this, jobs_[slot.index()], policy);
  hold(slot, std::move(active), at, policy.half_life);
}

void World::hold(JobSlot slot, Active active, Time at, Duration half_life) {
  Job& job = jobs_[slot.index()];
  MUSTER_CHECK(!job.active, "job {} is placed already", job.id);
  for (const PodOn& pod : active.pods) fleet.occupy(pod, shapes);
  quota.charge(job.queue, active.charges, +1, at, half_life);
  for (const QueueId extra : job.extra_queues)
    quota.charge(extra, active.charges, +1, at, half_life);
  if (active_.size() <= active.cluster.index()) {
    active_.resize(active.cluster.index() + 1);
    stays_.resize(active_.size());
    stakes_.resize(active_.size());
  }
  auto& peers = active_[active.cluster.index()];
  active.at_in_cluster = static_cast<std::uint32_t>(peers.size());
  peers.push_back(slot);
  for (const PodOn& pod : active.pods) {
    active.gpu_milli += std::int64_t{pod.each} * __builtin_popcount(pod.devices);
  }
  busy.gpu_milli += active.gpu_milli;
  busy.ends += Outlook::Wide(active.gpu_milli) * active.expected_end.ms;
  job.active = std::make_unique<Active>(std::move(active));
  stays_[job.active->cluster.index()].push_back(stay_of(job));
  stakes_[job.active->cluster.index()].push_back(stake_of(job, shapes[job.shape].gang));
  if (!job.active->stopping) count_running(slot, +1);
  settle_guarantee(slot);
}

void World::settle_guarantee(JobSlot slot) {
  guarantees.leave(*this, slot);
  const Job& job = jobs_[slot.index()];
  if (job.active) {
    if (counts_in_guarantee(*job.active)) guarantees.join(*this, slot, job.active->charges);
  } else if (!job.reservation.is_none() && reservation(job.reservation).preempting) {
    guarantees.join(*this, slot, reservation(job.reservation).charges);
  }
}

void World::count_running(JobSlot slot, int change) {
  const Job& job = jobs_[slot.index()];
  if (!shapes[job.shape].gang.preemptible) return;
  Active& active = *job.active;
  if (change > 0) active.counted_at = std::min(job.priority, quota.cap(job.queue));
  const int priority = active.counted_at;
  auto& peers = running_[priority];
  if (change > 0) {
    peers.insert(slot);
  } else {
    peers.erase(slot);
  }
  if (peers.empty()) running_.erase(priority);
  if (evictable_.size() <= active.cluster.index()) evictable_.resize(active.cluster.index() + 1);
  auto& by_type = evictable_[active.cluster.index()];
  if (by_type.size() < fleet.type_count()) by_type.resize(fleet.type_count());
  if (change > 0) {
    active.counted.clear();
    active.counted_types = 0;
    active.counted.reserve(active.pods.size());
  }
  for (std::size_t i = 0; i < active.pods.size(); ++i) {
    const PodOn& pod = active.pods[i];
    if (change > 0) {
      active.counted.push_back(fleet.type_of(pod.node));
      active.counted_types |= type_bit(active.counted.back());
    }
    auto& by_class = by_type[active.counted[i].index()];
    Evictable& held = by_class[priority];
    held.pods += change;
    held.gpu_milli += change * std::int64_t{pod.each} * __builtin_popcount(pod.devices);
    if (held.pods == 0) by_class.erase(priority);
  }
  set_stake(job);
}

Evictable World::evictable_below(ClusterId cluster, TypeId type, int priority) const {
  Evictable sum;
  if (cluster.index() >= evictable_.size()) return sum;
  const auto& by_type = evictable_[cluster.index()];
  if (type.index() >= by_type.size()) return sum;
  for (const auto& [at, held] : by_type[type.index()]) {
    if (at >= priority) break;
    sum.pods += held.pods;
    sum.gpu_milli += held.gpu_milli;
  }
  return sum;
}

int World::leaving_for(JobSlot beneficiary) const {
  const auto it = leaving_.find(beneficiary);
  return it == leaving_.end() ? 0 : it->second;
}

void World::count_leaving(JobSlot beneficiary, int change) {
  if (beneficiary.is_none()) return;
  if ((leaving_[beneficiary] += change) == 0) leaving_.erase(beneficiary);
}

void World::recount_running() {
  running_.clear();
  evictable_.clear();
  for (const auto& slots : active_) {
    for (const JobSlot slot : slots) {
      if (!jobs_[slot.index()].active->stopping) count_running(slot, +1);
    }
  }
}

int World::lowest_running_priority() const {
  return running_.empty() ? std::numeric_limits<int>::max() : running_.begin()->first;
}

Active World::release(JobSlot slot, Time at, const Policy& policy) {
  Job& job = jobs_[slot.index()];
  MUSTER_CHECK(job.active != nullptr, "job {} is not placed", job.id);
  if (!job.active->stopping) count_running(slot, -1);
  if (const JobSlot waiting = job.active->beneficiary; !waiting.is_none()) {
    count_leaving(waiting, -1);
    const LineId line = jobs_[waiting.index()].line;
    if (leaving_for(waiting) == 0 && !line.is_none()) changes.again.push_back(line);
  }
  Active active = std::move(*job.active);
  job.active.reset();
  settle_guarantee(slot);
  busy.gpu_milli -= active.gpu_milli;
  busy.ends -= Outlook::Wide(active.gpu_milli) * active.expected_end.ms;
  for (const PodOn& pod : active.pods) fleet.vacate(pod, shapes);
  quota.charge(job.queue, active.charges, -1, at, policy.half_life);
  for (const QueueId extra : job.extra_queues)
    quota.charge(extra, active.charges, -1, at, policy.half_life);
  auto& peers = active_[active.cluster.index()];
  auto& stays = stays_[active.cluster.index()];
  auto& stakes = stakes_[active.cluster.index()];
  if (peers.back() != slot) {
    peers[active.at_in_cluster] = peers.back();
    stays[active.at_in_cluster] = stays.back();
    stakes[active.at_in_cluster] = stakes.back();
    jobs_[peers.back().index()].active->at_in_cluster = active.at_in_cluster;
  }
  peers.pop_back();
  stays.pop_back();
  stakes.pop_back();
  return active;
}

// ----------------------------------------------------------------------------------------------
// pools

PoolId World::find_pool(const std::string& name) const {
  const auto it = pool_ids_.find(name);
  return it == pool_ids_.end() ? PoolId::none() : it->second;
}

const std::vector<std::string>* World::find_fleet_pool(const std::string& name) const {
  const auto it = fleet_pools_.find(name);
  return it == fleet_pools_.end() ? nullptr : &it->second;
}

void World::set_pool(const model::PoolSpec& spec) {
  // A changed pool gets a new slot: pod shapes are cached per slot.
  pool_ids_[spec.name] = PoolId{static_cast<std::uint32_t>(pools_.size())};
  pools_.push_back({spec, fleet.find_cluster(spec.cluster)});
  for (const auto& [key, value] : spec.node_selector) shapes.ask_key(key);
  changes.everything = true;
}

void World::set_fleet_pool(const model::FleetPoolSpec& spec) {
  fleet_pools_[spec.name] = spec.pools;
  changes.everything = true;
}

// ----------------------------------------------------------------------------------------------
// reservations

ReservationId World::add_reservation(const Reservation& reservation) {
  ReservationId id{static_cast<std::uint32_t>(reservations_.size())};
  for (std::size_t i = 0; i < reservations_.size(); ++i) {
    if (reservations_[i].job.is_none()) {
      id = ReservationId{static_cast<std::uint32_t>(i)};
      break;
    }
  }
  if (id.index() == reservations_.size()) reservations_.emplace_back();
  restore_reservation(id, reservation);
  return id;
}

void World::restore_reservation(ReservationId id, const Reservation& reservation) {
  for (const NodeId node : reservation.nodes) fleet.reserve(node, id);
  jobs_[reservation.job.index()].reservation = id;
  reservations_[id.index()] = reservation;
  charge_reservation(reservation, +1);
  settle_guarantee(reservation.job);
}

void World::charge_reservation(const Reservation& reservation, int sign) {
  if (!reservation.preempting) return;
  const Job& job = jobs_[reservation.job.index()];
  if (shapes[job.shape].keeps_away) fleet.count_promised(sign);
  quota.charge_for_now(job.queue, reservation.charges, sign);
  for (const QueueId extra : job.extra_queues) {
    quota.charge_for_now(extra, reservation.charges, sign);
  }
}

void World::drop_reservation(ReservationId id) {
  Reservation& reservation = reservations_[id.index()];
  for (const NodeId node : reservation.nodes) {
    if (fleet.node(node).reserved == id) fleet.reserve(node, ReservationId::none());
  }
  charge_reservation(reservation, -1);
  const JobSlot job = reservation.job;
  jobs_[job.index()].reservation = ReservationId::none();
  reservation = Reservation{};
  settle_guarantee(job);
}

// ----------------------------------------------------------------------------------------------
// amounts

Capacity World::capacity(const Policy& policy) {
  const Fleet::Totals& totals = fleet.totals();
  std::int64_t weighted = 0;
  std::vector<std::pair<ResourceId, std::int64_t>> more;
  for (std::size_t t = 1; t < totals.gpu_milli.size(); ++t) {
    const std::string& type = fleet.type_name(TypeId{static_cast<std::uint16_t>(t)});
    const auto weight = policy.gpu_weight_milli.find(type);
    const bool weighs =
        weight != policy.gpu_weight_milli.end() && policy.rules.has(Rule::GpuWeight);
    weighted += totals.gpu_milli[t] * (weighs ? weight->second : 1000) / 1000;
    more.emplace_back(quota.resource("gpu." + type), totals.gpu_milli[t]);
  }
  for (std::size_t i = 0; i < totals.extended.size(); ++i) {
    more.emplace_back(quota.resource(shapes.extended_names()[i]), totals.extended[i]);
  }
  Capacity capacity(quota.resource_count(), 0);
  capacity[resource_cpu.index()] = totals.cpu;
  capacity[resource_memory.index()] = totals.memory;
  capacity[resource_gpu.index()] = weighted;
  for (const auto& [r, amount] : more) capacity[r.index()] = amount;
  return capacity;
}

ResourceId World::resource_of(TypeId type) {
  if (type_resources_.size() <= type.index()) type_resources_.resize(type.index() + 1);
  ResourceId& known = type_resources_[type.index()];
  if (known.is_none()) known = quota.resource("gpu." + fleet.type_name(type));
  return known;
}

/// Of one set, on GPUs of one type.
void World::add_pods(Charges& charges, const PodShapeRec& pod, int count, TypeId type,
                     std::int64_t gpu_milli, const Policy& policy) {
  const auto add = [&](ResourceId r, std::int64_t amount) {
    if (amount == 0) return;
    for (Charge& c : charges) {
      if (c.resource == r) {
        c.amount += amount;
        return;
      }
    }
    charges.push_back({r, amount});
  };
  add(resource_cpu, pod.cpu * count);
  add(resource_memory, pod.memory * count);
  if (gpu_milli > 0) {
    const auto weight = policy.gpu_weight_milli.find(fleet.type_name(type));
    const bool weighs =
        weight != policy.gpu_weight_milli.end() && policy.rules.has(Rule::GpuWeight);
    add(resource_gpu, gpu_milli * (weighs ? weight->second : 1000) / 1000);
    add(resource_of(type), gpu_milli);
  }
  for (const auto& [name, amount] : pod.spec.requests.extended)
    add(quota.resource(name), amount * count);
}

Charges World::charges(const Shape& shape, const std::vector<int>& counts,
                       std::span<const TypeId> types, const Policy& policy) {
  Charges charges;
  for (std::size_t i = 0; i < shape.sets.size(); ++i) {
    const PodShapeRec& pod = shapes.pod(shape.sets[i].pod);
    const std::int64_t each = pod.gpus == 0 ? 0 : share_of_device(pod, fleet, types[i]);
    add_pods(charges, pod, counts[i], types[i], each * pod.gpus * counts[i], policy);
  }
  return charges;
}

Charges World::charges(const Shape& shape, std::span<const model::PodPlace> places,
                       const Policy& policy) {
  struct Held {
    std::uint32_t set;
    TypeId type;
    int pods = 0;
    std::int64_t gpu_milli = 0;
  };
  std::vector<Held> all;
  for (const model::PodPlace& place : places) {
    const TypeId type = fleet.type_id(place.gpu_type);
    auto held = std::find_if(all.begin(), all.end(),
                             [&](const Held& h) { return h.set == place.set && h.type == type; });
    if (held == all.end()) held = all.insert(held, {place.set, type});
    ++held->pods;
    held->gpu_milli += std::int64_t{place.each} * __builtin_popcount(place.devices);
  }
  Charges charges;
  for (const Held& held : all) {
    add_pods(charges, shapes.pod(shape.sets[held.set].pod), held.pods, held.type, held.gpu_milli,
             policy);
  }
  return charges;
}

}  // namespace muster::sched
