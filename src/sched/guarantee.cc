#include "sched/guarantee.h"

#include <algorithm>
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
  return fill;
}

/// The first member behind a job of this class; behind all of the class if there is none().
std::size_t Guarantees::first_behind(const World& world, const Fill& fill, int priority,
                                     JobSlot job) const {
  const auto before = [&](const Member& m) {
    const int other = where_[m.job.index()].priority;
    if (other != priority || job.is_none()) return other >= priority;
    const Job& x = world.job(m.job);
    const Job& y = world.job(job);
    return std::tie(x.seq, x.id) < std::tie(y.seq, y.id);
  };
  const auto it = std::partition_point(fill.members.begin(), fill.members.end(), before);
  return static_cast<std::size_t>(it - fill.members.begin());
}

/// Where the claim stands: its own place if it has one.
std::size_t Guarantees::row_of(const World& world, const Fill& fill, const Claim& claim) const {
  const Place* own = place_of(claim.job);
  if (own == nullptr) return first_behind(world, fill, claim.priority, JobSlot::none());
  return first_behind(world, fill, own->priority, claim.job);
}

void Guarantees::note_growth(QueueId guarantor) {
  news_.grown.insert(guarantor);
  ++growths_;
}

/// What is left before the row is right; put the rest right, as far as anything changes.
void Guarantees::fill_from(QueueId guarantor, Fill& fill, std::size_t row) {
  const std::size_t width = fill.resources.size();
  for (std::size_t i = row; i < fill.members.size(); ++i) {
    Member& m = fill.members[i];
    const std::int64_t* amounts = &fill.amounts[i * width];
    const std::int64_t* left = &fill.left[i * width];
    std::int64_t* behind = &fill.left[(i + 1) * width];
    const bool inside = fits(amounts, left, width);
    if (m.inside != inside) ++turns_;
    if (m.inside && !inside) news_.fallen.push_back(m.job);
    m.inside = inside;
    bool same = true;
    bool grows = false;
    for (std::size_t r = 0; r < width; ++r) {
      const std::int64_t now = left[r] - (inside ? amounts[r] : 0);
      same = same && now == behind[r];
      grows = grows || now > behind[r];
      behind[r] = now;
    }
    if (grows) note_growth(guarantor);
    if (same) return;
  }
}

void Guarantees::join(const World& world, JobSlot job, const Charges& charges) {
  const Job& rec = world.job(job);
  const QueueId guarantor = world.quota.guarantor(rec.queue);
  if (guarantor.is_none()) return;
  MUSTER_CHECK(place_of(job) == nullptr, "job {} uses its guarantee already", rec.id);
  ++moves_;
  Fill& fill = fill_of(world, guarantor);
  if (where_.size() <= job.index()) where_.resize(job.index() + 1);
  const int priority = std::min(rec.priority, world.quota.cap(rec.queue));
  const std::size_t row = first_behind(world, fill, priority, job);
  where_[job.index()] = {guarantor, priority};
  const std::size_t width = fill.resources.size();
  const auto at = static_cast<std::ptrdiff_t>(row * width);
  const Row amounts = row_for(fill.resources, charges);
  const Row left(fill.left.begin() + at, fill.left.begin() + at + static_cast<int>(width));
  const bool inside = fits(amounts.data(), left.data(), width);
  fill.members.insert(fill.members.begin() + static_cast<std::ptrdiff_t>(row), {job, inside});
  fill.amounts.insert(fill.amounts.begin() + at, amounts.begin(), amounts.end());
  fill.left.insert(fill.left.begin() + at, left.begin(), left.end());
  if (inside) fill_from(guarantor, fill, row);
}

void Guarantees::leave(const World& world, JobSlot job) {
  const Place* place = place_of(job);
  if (place == nullptr) return;
  ++moves_;
  const QueueId guarantor = place->guarantor;
  Fill& fill = fills_[guarantor.index()];
  const std::size_t row = first_behind(world, fill, place->priority, job);
  MUSTER_CHECK(row < fill.members.size() && fill.members[row].job == job,
               "job {} is not where it joined", world.job(job).id);
  where_[job.index()] = {};
  const bool inside = fill.members[row].inside;
  const std::size_t width = fill.resources.size();
  const auto erase_row = [&](std::vector<std::int64_t>& rows, std::size_t i) {
    const auto at = rows.begin() + static_cast<std::ptrdiff_t>(i * width);
    rows.erase(at, at + static_cast<std::ptrdiff_t>(width));
  };
  fill.members.erase(fill.members.begin() + static_cast<std::ptrdiff_t>(row));
  erase_row(fill.amounts, row);
  erase_row(fill.left, row + 1);
  if (!inside) return;
  note_growth(guarantor);
  fill_from(guarantor, fill, row);
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
  const Fill& fill = fills_[place->guarantor.index()];
  return fill.members[first_behind(world, fill, place->priority, job)].inside;
}

bool Guarantees::would_be_inside(const World& world, const Claim& claim,
                                 const Charges& charges) const {
  const QueueId guarantor = world.quota.guarantor(claim.queue);
  if (guarantor.is_none()) return false;
  const bool used = guarantor.index() < fills_.size() && !fills_[guarantor.index()].left.empty();
  const std::vector<LimitRec>& limits = world.quota[guarantor].limits;
  const Fill* fill = used ? &fills_[guarantor.index()] : nullptr;
  const std::size_t row = used ? row_of(world, *fill, claim) * fill->resources.size() : 0;
  bool any = false;
  for (const Charge& c : charges) {
    const std::size_t r = c.resource.index();
    if (c.amount == 0 || r >= limits.size() || limits[r].guaranteed == unset) continue;
    std::int64_t left = limits[r].guaranteed;
    if (used) {
      const auto it = std::find(fill->resources.begin(), fill->resources.end(), c.resource);
      left = fill->left[row + static_cast<std::size_t>(it - fill->resources.begin())];
    }
    if (c.amount > left) return false;
    any = true;
  }
  return any;
}

bool Guarantees::may_be_inside(const World& world, QueueId guarantor, int priority,
                               const Charges& least) const {
  const bool used = guarantor.index() < fills_.size() && !fills_[guarantor.index()].left.empty();
  if (!used) return true;
  const Fill& fill = fills_[guarantor.index()];
  const std::size_t width = fill.resources.size();
  const std::size_t row = first_behind(world, fill, priority, JobSlot::none()) * width;
  const Row asked = row_for(fill.resources, least);
  bool any = false;
  for (std::size_t r = 0; r < width; ++r) {
    const std::int64_t left = fill.left[row + r];
    if (asked[r] > left) return false;
    any = any || left > 0;
  }
  return any;
}

std::vector<JobSlot> Guarantees::pushed_by(const World& world, const Claim& claim,
                                           const Charges& charges) const {
  std::vector<JobSlot> pushed;
  if (!would_be_inside(world, claim, charges) || place_of(claim.job) != nullptr) return pushed;
  const QueueId guarantor = world.quota.guarantor(claim.queue);
  if (guarantor.index() >= fills_.size()) return pushed;
  const Fill& fill = fills_[guarantor.index()];
  if (fill.left.empty()) return pushed;
  const std::size_t width = fill.resources.size();
  const std::size_t row = row_of(world, fill, claim);
  const auto at = fill.left.begin() + static_cast<std::ptrdiff_t>(row * width);
  Row left(at, at + static_cast<std::ptrdiff_t>(width));
  const auto take = [&](const std::int64_t* amounts) {
    for (std::size_t r = 0; r < width; ++r) left[r] -= amounts[r];
  };
  take(row_for(fill.resources, charges).data());
  for (std::size_t i = row; i < fill.members.size(); ++i) {
    const std::int64_t* amounts = &fill.amounts[i * width];
    const bool inside = fits(amounts, left.data(), width);
    if (inside) take(amounts);
    if (fill.members[i].inside && !inside) pushed.push_back(fill.members[i].job);
  }
  return pushed;
}

}  // namespace muster::sched
