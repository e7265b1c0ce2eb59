#include "sched/guarantee.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "sched/world.h"

namespace muster::sched {
namespace {

using Row = std::vector<std::int64_t>;

Row row_for(const std::vector<ResourceId>& resources, const Charges& charges) {
  Row row(resources.size(), 0);
  for (const Charge& c : charges) {
    const auto it = std::find(resources.begin(), resources.end(), c.resource);
    if (it != resources.end()) row[static_cast<std::size_t>(it - resources.begin())] += c.amount;
  }
  return row;
}

/// Something of it is guaranteed, and all that is fits into what is left.
bool fits(const std::int64_t* amounts, const std::int64_t* left, std::size_t width) {
  bool any = false;
  for (std::size_t r = 0; r < width; ++r) {
    if (amounts[r] > left[r]) return false;
    any = any || amounts[r] > 0;
  }
  return any;
}

}  // namespace

const Guarantees::Place* Guarantees::place_of(JobSlot job) const {
  if (job.index() >= where_.size() || where_[job.index()].guarantor.is_none()) return nullptr;
  return &where_[job.index()];
}

const Guarantees::Fill* Guarantees::used_fill(QueueId guarantor) const {
  const bool used = guarantor.index() < fills_.size() && !fills_[guarantor.index()].left.empty();
  return used ? &fills_[guarantor.index()] : nullptr;
}

Guarantees::Fill& Guarantees::fill_of(const World& world, QueueId guarantor) {
  if (fills_.size() <= guarantor.index()) fills_.resize(guarantor.index() + 1);
  Fill& fill = fills_[guarantor.index()];
  if (!fill.left.empty()) return fill;
  const std::vector<LimitRec>& limits = world.quota[guarantor].limits;
  for (std::size_t r = 0; r < limits.size(); ++r) {
    if (limits[r].guaranteed == unset) continue;
    fill.resources.push_back(ResourceId{static_cast<std::uint16_t>(r)});
    fill.left.push_back(limits[r].guaranteed);
  }
  std::vector<QueueId> below = world.quota[guarantor].children;
  while (!below.empty()) {
    const QueueId id = below.back();
    below.pop_back();
    if (world.quota[id].has_guarantee) fill.nested.push_back(id);
    const std::vector<QueueId>& children = world.quota[id].children;
    below.insert(below.end(), children.begin(), children.end());
  }
  return fill;
}

/// The first member who does not come before it.
std::size_t Guarantees::first_behind(const World& world, const Fill& fill, const Rank& rank) {
  const auto before = [&](const Member& m) {
    if (m.priority != rank.priority || rank.job.is_none()) return m.priority >= rank.priority;
    if (m.below != rank.below) return m.below;
    const Job& x = world.job(m.job);
    const Job& y = world.job(rank.job);
    return std::tie(x.seq, x.id) < std::tie(y.seq, y.id);
  };
  const auto it = std::partition_point(fill.members.begin(), fill.members.end(), before);
  return static_cast<std::size_t>(it - fill.members.begin());
}

/// Of a member.
std::size_t Guarantees::row_of(const World& world, const Fill& fill, JobSlot job, int priority) {
  for (const bool below : {false, true}) {
    const std::size_t row = first_behind(world, fill, {below, priority, job});
    if (row < fill.members.size() && fill.members[row].job == job) return row;
  }
  MUSTER_CHECK(false, "job {} is not where it joined", world.job(job).id);
}

void Guarantees::note_growth(QueueId guarantor) {
  news_.grown.insert(guarantor);
  const std::vector<QueueId>& nested = fills_[guarantor.index()].nested;
  news_.grown.insert(nested.begin(), nested.end());
  ++growths_;
}

/// With less left, the next who comes to be inside further down may push out who is inside of this
/// one alone.
void Guarantees::note_pressure(QueueId guarantor, int priority) {
  const Fill& fill = fills_[guarantor.index()];
  const auto has_to_fear = [&](const Member& m) { return m.inside && m.priority <= priority; };
  if (!fill.nested.empty() && std::any_of(fill.members.begin(), fill.members.end(), has_to_fear))
    news_.pressed.insert(guarantor);
}

/// Who came to be inside further down uses this one before those who are inside of it alone.
void Guarantees::note_pressure(QueueId guarantor, const Touch& turned) {
  for (const Touched& t : turned) {
    if (!t.was) note_pressure(guarantor, t.priority);
  }
}

/// What is left before the row is right; put the rest right, as far as anything changes.
void Guarantees::fill_from(QueueId guarantor, Fill& fill, std::size_t row, Touch& touched) {
  const std::size_t width = fill.resources.size();
  for (std::size_t i = row; i < fill.members.size(); ++i) {
    Member& m = fill.members[i];
    const std::int64_t* amounts = &fill.amounts[i * width];
    const std::int64_t* left = &fill.left[i * width];
    std::int64_t* behind = &fill.left[(i + 1) * width];
    const bool inside = !m.below && fits(amounts, left, width);
    if (m.inside != inside) touched.push_back({m.job, m.priority, m.anywhere()});
    m.inside = inside;
    bool same = true;
    bool grows = false;
    for (std::size_t r = 0; r < width; ++r) {
      const std::int64_t taken = m.anywhere() ? std::min(amounts[r], left[r]) : 0;
      const std::int64_t now = left[r] - taken;
      same = same && now == behind[r];
      grows = grows || now > behind[r];
      behind[r] = now;
    }
    if (grows) note_growth(guarantor);
    if (same) return;
  }
}

/// Not inside yet: fill_from() says whether it is.
std::size_t Guarantees::insert(const World& world, Fill& fill, const Rank& rank,
                               const Row& amounts) {
  const std::size_t row = first_behind(world, fill, rank);
  const std::size_t width = fill.resources.size();
  const auto at = static_cast<std::ptrdiff_t>(row * width);
  const Row left(fill.left.begin() + at, fill.left.begin() + at + static_cast<int>(width));
  fill.members.insert(fill.members.begin() + static_cast<std::ptrdiff_t>(row),
                      {rank.job, rank.priority, rank.below, false});
  fill.amounts.insert(fill.amounts.begin() + at, amounts.begin(), amounts.end());
  fill.left.insert(fill.left.begin() + at, left.begin(), left.end());
  return row;
}

/// True if it leaves something to those behind it.
bool Guarantees::erase(Fill& fill, std::size_t row) {
  const bool took = fill.members[row].anywhere();
  const std::size_t width = fill.resources.size();
  const auto erase_row = [&](std::vector<std::int64_t>& rows, std::size_t i) {
    const auto at = rows.begin() + static_cast<std::ptrdiff_t>(i * width);
    rows.erase(at, at + static_cast<std::ptrdiff_t>(width));
  };
  fill.members.erase(fill.members.begin() + static_cast<std::ptrdiff_t>(row));
  erase_row(fill.amounts, row);
  erase_row(fill.left, row + 1);
  return took;
}

/// Those who came to be inside further down, or are not any more, change their places.
void Guarantees::regroup(const World& world, QueueId guarantor, const Touch& turned,
                         Touch& touched) {
  Fill& fill = fills_[guarantor.index()];
  const std::size_t width = fill.resources.size();
  for (const Touched& t : turned) {
    const std::size_t row = row_of(world, fill, t.job, t.priority);
    touched.push_back({t.job, t.priority, fill.members[row].anywhere()});
    const auto at = fill.amounts.begin() + static_cast<std::ptrdiff_t>(row * width);
    const Row amounts(at, at + static_cast<std::ptrdiff_t>(width));
    if (erase(fill, row)) fill_from(guarantor, fill, row, touched);
    const std::size_t now = insert(world, fill, {!t.was, t.priority, t.job}, amounts);
    fill_from(guarantor, fill, now, touched);
  }
}

/// Those of them who are inside, here or further down, and were not, or the other way round.
Guarantees::Touch Guarantees::turned_of(const World& world, const Fill& fill, const Touch& touched,
                                        JobSlot except) {
  Touch turned;
  std::set<JobSlot> seen = {except};
  for (const Touched& t : touched) {  // what they were at first counts
    if (!seen.insert(t.job).second) continue;
    const bool is = fill.members[row_of(world, fill, t.job, t.priority)].anywhere();
    if (is != t.was) turned.push_back(t);
  }
  return turned;
}

void Guarantees::tell(const Touch& turned) {
  turns_ += turned.size();
  for (const Touched& t : turned) {
    if (t.was) news_.fallen.push_back(t.job);
  }
}

void Guarantees::add(const World& world, const Claim& claim, const Charges& charges) {
  Touch turned;
  bool below = false;
  for (QueueId id = world.quota.guarantor(claim.queue); !id.is_none();
       id = world.quota.guarantor_above(id)) {
    Fill& fill = fill_of(world, id);
    Touch touched;
    regroup(world, id, turned, touched);
    note_pressure(id, claim.priority);
    const std::size_t row =
        insert(world, fill, {below, claim.priority, claim.job}, row_for(fill.resources, charges));
    fill_from(id, fill, row, touched);
    below = fill.members[row].anywhere();
    note_pressure(id, turned);
    turned = turned_of(world, fill, touched, claim.job);
  }
  tell(turned);
}

void Guarantees::join(const World& world, JobSlot job, const Charges& charges) {
  const Job& rec = world.job(job);
  const QueueId guarantor = world.quota.guarantor(rec.queue);
  if (guarantor.is_none()) return;
  MUSTER_CHECK(place_of(job) == nullptr, "job {} uses its guarantee already", rec.id);
  ++moves_;
  if (where_.size() <= job.index()) where_.resize(job.index() + 1);
  const int priority = std::min(rec.priority, world.quota.cap(rec.queue));
  where_[job.index()] = {guarantor, priority};
  add(world, {job, rec.queue, priority}, charges);
}

void Guarantees::leave(const World& world, JobSlot job) {
  if (place_of(job) == nullptr) return;
  ++moves_;
  const Place place = std::exchange(where_[job.index()], {});
  Touch turned;
  for (QueueId id = place.guarantor; !id.is_none(); id = world.quota.guarantor_above(id)) {
    Fill& fill = fills_[id.index()];
    Touch touched;
    regroup(world, id, turned, touched);
    const std::size_t row = row_of(world, fill, job, place.priority);
    if (erase(fill, row)) {
      note_growth(id);
      fill_from(id, fill, row, touched);
    }
    note_pressure(id, turned);
    turned = turned_of(world, fill, touched, job);
  }
  tell(turned);
}

void Guarantees::rebuild(const World& world) {
  fills_.clear();
  where_.clear();
  if (!world.quota.any_guarantee()) return;
  News before = take_news();
  for (const ClusterId cluster : world.fleet.by_name()) {
    for (const JobSlot slot : world.active_in(cluster)) {
      const Active& active = *world.job(slot).active;
      if (counts_in_guarantee(active)) join(world, slot, active.charges);
    }
  }
  for (const Reservation& r : world.reservations()) {
    if (!r.job.is_none() && r.preempting) join(world, r.job, r.charges);
  }
  ++growths_;
  ++turns_;
  set_news(std::move(before));  // whoever changes queues looks at everything anew
}

bool Guarantees::same_as(const Guarantees& other) const {
  const auto at = [](const auto& items, std::size_t i) {
    using Item = std::decay_t<decltype(items[i])>;
    return i < items.size() ? items[i] : Item{};
  };
  for (std::size_t i = 0; i < std::max(where_.size(), other.where_.size()); ++i) {
    if (!(at(where_, i) == at(other.where_, i))) return false;
  }
  for (std::size_t i = 0; i < std::max(fills_.size(), other.fills_.size()); ++i) {
    const Fill a = at(fills_, i);
    const Fill b = at(other.fills_, i);
    if (a.members.empty() && b.members.empty()) continue;
    if (!(a == b)) return false;
  }
  return true;
}

bool Guarantees::is_inside(const World& world, JobSlot job) const {
  const Place* place = place_of(job);
  if (place == nullptr) return false;
  QueueId top = place->guarantor;
  for (QueueId id = top; !id.is_none(); id = world.quota.guarantor_above(id)) top = id;
  const Fill& fill = fills_[top.index()];
  return fill.members[row_of(world, fill, job, place->priority)].anywhere();
}

QueueId Guarantees::inside_of(const World& world, const Claim& claim,
                              const Charges& charges) const {
  const Place* own = place_of(claim.job);
  const Rank rank{false, own != nullptr ? own->priority : claim.priority,
                  own != nullptr ? claim.job : JobSlot::none()};
  const auto is_inside_of = [&](QueueId guarantor) {
    const std::vector<LimitRec>& limits = world.quota[guarantor].limits;
    const Fill* fill = used_fill(guarantor);
    const std::size_t row =
        fill != nullptr ? first_behind(world, *fill, rank) * fill->resources.size() : 0;
    bool any = false;
    for (const Charge& c : charges) {
      const std::size_t r = c.resource.index();
      if (c.amount == 0 || r >= limits.size() || limits[r].guaranteed == unset) continue;
      std::int64_t left = limits[r].guaranteed;
      if (fill != nullptr) {
        const auto it = std::find(fill->resources.begin(), fill->resources.end(), c.resource);
        left = fill->left[row + static_cast<std::size_t>(it - fill->resources.begin())];
      }
      if (c.amount > left) return false;
      any = true;
    }
    return any;
  };
  QueueId id = world.quota.guarantor(claim.queue);
  while (!id.is_none() && !is_inside_of(id)) id = world.quota.guarantor_above(id);
  return id;
}

bool Guarantees::may_be_inside(const World& world, QueueId guarantor, int priority,
                               const Charges& least) const {
  const auto may_be_inside_of = [&](QueueId id) {
    const Fill* fill = used_fill(id);
    if (fill == nullptr) return true;
    const std::size_t width = fill->resources.size();
    const std::size_t row = first_behind(world, *fill, {false, priority, JobSlot::none()}) * width;
    const Row asked = row_for(fill->resources, least);
    bool any = false;
    for (std::size_t r = 0; r < width; ++r) {
      const std::int64_t left = fill->left[row + r];
      if (asked[r] > left) return false;
      any = any || left > 0;
    }
    return any;
  };
  QueueId id = guarantor;
  while (!id.is_none() && !may_be_inside_of(id)) id = world.quota.guarantor_above(id);
  return !id.is_none();
}

std::vector<JobSlot> Guarantees::pushed_by(const World& world, const Claim& claim,
                                           const Charges& charges) const {
  if (place_of(claim.job) != nullptr || !would_be_inside(world, claim, charges)) return {};
  const QueueId lowest = world.quota.guarantor(claim.queue);
  if (world.quota.guarantor_above(lowest).is_none())
    return pushed_out_of(world, lowest, claim, charges);
  Guarantees beside;  // what it would be with the claim
  for (QueueId id = lowest; !id.is_none(); id = world.quota.guarantor_above(id)) {
    const Fill* fill = used_fill(id);
    if (fill == nullptr) continue;
    if (beside.fills_.size() <= id.index()) beside.fills_.resize(id.index() + 1);
    beside.fills_[id.index()] = *fill;
  }
  beside.add(world, claim, charges);
  return beside.news_.fallen;
}

/// Where there is one guarantor nobody changes its place: a walk over those behind the claim.
std::vector<JobSlot> Guarantees::pushed_out_of(const World& world, QueueId guarantor,
                                               const Claim& claim, const Charges& charges) const {
  const Fill* fill = used_fill(guarantor);
  if (fill == nullptr) return {};
  std::vector<JobSlot> pushed;
  const std::size_t width = fill->resources.size();
  const std::size_t row = first_behind(world, *fill, {false, claim.priority, JobSlot::none()});
  const auto at = fill->left.begin() + static_cast<std::ptrdiff_t>(row * width);
  Row left(at, at + static_cast<std::ptrdiff_t>(width));
  const auto take = [&](const std::int64_t* amounts) {
    for (std::size_t r = 0; r < width; ++r) left[r] -= amounts[r];
  };
  take(row_for(fill->resources, charges).data());
  for (std::size_t i = row; i < fill->members.size(); ++i) {
    const std::int64_t* amounts = &fill->amounts[i * width];
    const bool inside = fits(amounts, left.data(), width);
    if (inside) take(amounts);
    if (fill->members[i].inside && !inside) pushed.push_back(fill->members[i].job);
  }
  return pushed;
}

}  // namespace muster::sched
