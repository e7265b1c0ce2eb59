#include "sched/cheapest_nodes.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace muster::sched {
namespace {

/// Nodes looked at closely beyond those that are needed at least.
constexpr std::size_t spare_nodes = 32;
/// Pods that leave or come back for one answer: a few milliseconds.
constexpr std::int64_t looks_max = 32'768;

__extension__ using Wide = __int128;

/// A suspect on one node, and what of the node's GPUs it has.
struct Guest {
  std::uint32_t rank = 0;  // of the node
  std::uint32_t at = 0;    // in the list
  NodeId node;
  std::int64_t gpu_milli = 0;
};

/// The suspects of one node, lowest first; no room there costs less than `least`.
struct Corner {
  std::uint32_t rank = 0;
  std::span<const Guest> guests;
  std::int64_t least = 0;
};

/// Who of a node goes next, and the pods that have room then.
struct Offer {
  std::size_t corner = 0;
  std::vector<std::uint32_t> who;  // positions in the list
  std::int64_t lost = 0;
  std::int64_t gain = 0;
};

class ByNode {
 public:
  ByNode(const World& world, RoomWalk walk, const PodShapeRec& pod,
         const std::vector<const Suspect*>& list, std::int64_t wanted)
      : world_(world),
        walk_(std::move(walk)),
        pod_(pod),
        list_(list),
        wanted_(wanted),
        gone_(list.size()) {}

  std::vector<const Suspect*> run() {
    const std::int64_t lacking = wanted_ - walk_.room();
    if (lacking <= 0) return {};
    find_corners(lacking);
    const auto dearer = [&](const Offer& a, const Offer& b) { return costs_less(b, a); };
    std::priority_queue<Offer, std::vector<Offer>, decltype(dearer)> offers(dearer);
    const auto offer = [&](std::size_t corner) {
      Offer next = next_of(corner);
      if (next.gain > 0) offers.push(std::move(next));
    };
    for (std::size_t i = 0; i < corners_.size(); ++i) offer(i);
    std::vector<const Suspect*> order;
    while (walk_.room() < wanted_ && !offers.empty() && looks_left_ > 0) {
      const Offer best = offers.top();
      offers.pop();
      // A gang of which a part is here may have gone for another node's sake.
      const bool stale = std::any_of(best.who.begin(), best.who.end(),
                                     [&](std::uint32_t at) { return gone_[at]; });
      for (const std::uint32_t at : best.who) {
        if (stale) break;
        release(at);
        gone_[at] = true;
        order.push_back(list_[at]);
      }
      offer(best.corner);
    }
    if (walk_.room() < wanted_) order.clear();
    return order;
  }

 private:
  const std::vector<PodOn>& pods_of(std::uint32_t at) const {
    return world_.job(list_[at]->job).active->pods;
  }
  void release(std::uint32_t at) {
    looks_left_ -= static_cast<std::int64_t>(pods_of(at).size());
    walk_.release(pods_of(at));
  }
  void take_back(std::uint32_t at) { walk_.take_back(pods_of(at)); }

  /// By work lost for each pod that has room then; more than is wanted is worth nothing.
  bool costs_less(const Offer& a, const Offer& b) const {
    const Wide x = Wide(a.lost) * b.gain;
    const Wide y = Wide(b.lost) * a.gain;
    if (x != y) return x < y;
    return std::make_tuple(a.who.size(), corners_[a.corner].rank) <
           std::make_tuple(b.who.size(), corners_[b.corner].rank);
  }

  void find_guests() {
    for (std::uint32_t at = 0; at < list_.size(); ++at) {
      const std::size_t first = guests_.size();
      for (const PodOn& on : pods_of(at)) {
        const std::int64_t milli = std::int64_t{__builtin_popcount(on.devices)} * on.each;
        const auto known =
            std::find_if(guests_.begin() + static_cast<std::ptrdiff_t>(first), guests_.end(),
                         [&](const Guest& g) { return g.node == on.node; });
        if (known != guests_.end()) {
          known->gpu_milli += milli;
        } else {
          guests_.push_back({world_.fleet.node(on.node).rank, at, on.node, milli});
        }
      }
    }
    std::sort(guests_.begin(), guests_.end(), [](const Guest& a, const Guest& b) {
      return std::tie(a.rank, a.at) < std::tie(b.rank, b.at);
    });
  }

  /// The nodes that may be the cheapest, as many as are looked at closely.
  void find_corners(std::int64_t lacking) {
    find_guests();
    std::set<std::uint32_t> alone;  // has nodes for itself: one stands for all of them
    for (std::size_t from = 0, to = 0; from < guests_.size(); from = to) {
      while (to < guests_.size() && guests_[to].rank == guests_[from].rank) ++to;
      Corner corner{guests_[from].rank, {guests_.data() + from, to - from}, 0};
      if (corner.guests.size() == 1 && alone.contains(corner.guests[0].at)) continue;
      if (!walk_.counts(corner.guests[0].node) || !set_least(corner, lacking)) continue;
      if (corner.guests.size() == 1) alone.insert(corner.guests[0].at);
      corners_.push_back(corner);
    }
    const std::size_t most = static_cast<std::size_t>(lacking) + spare_nodes;
    if (corners_.size() <= most) return;
    const auto end = corners_.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(corners_.begin(), end, corners_.end(), [](const Corner& a, const Corner& b) {
      return std::tie(a.least, a.rank) < std::tie(b.least, b.rank);
    });
    corners_.erase(end, corners_.end());
  }

  /// A bound by GPUs alone, as if jobs could leave in parts: those first that lose the least for
  /// each GPU. False if all of them have too few.
  bool set_least(Corner& corner, std::int64_t lacking) {
    struct Part {
      std::int64_t lost = 0;
      std::int64_t milli = 0;  // on this node
      std::int64_t of = 1;     // all that its leaving is good for
    };
    boost::container::small_vector<Part, 16> parts;
    corner.least = std::numeric_limits<std::int64_t>::max();
    for (const Guest& g : corner.guests) {
      const Suspect& s = *list_[g.at];
      corner.least = std::min(corner.least, s.lost_gpu_ms);
      if (g.gpu_milli > 0)
        parts.push_back({s.lost_gpu_ms, g.gpu_milli, lacking > 1 ? s.gpu_milli : g.gpu_milli});
    }
    std::int64_t need = devices_lacking(corner.guests[0].node) * 1000;
    if (need <= 0) return true;
    std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
      return Wide(a.lost) * b.of < Wide(b.lost) * a.of;
    });
    corner.least = 0;
    for (const Part& part : parts) {
      const std::int64_t used = std::min(need, part.milli);
      corner.least += static_cast<std::int64_t>(Wide(part.lost) * used / part.of);
      need -= used;
      if (need == 0) return true;
    }
    return false;
  }

  std::int64_t devices_lacking(NodeId id) const {
    if (pod_.gpus == 0 || pod_.spec.gpu.is_share()) return 0;
    const Node& node = world_.fleet.node(id);
    return pod_.gpus - std::count(node.devices.begin(), node.devices.end(), 1000);
  }

  /// The lowest who are still there, until more pods have room; nobody if that never comes.
  Offer next_of(std::size_t corner) {
    Offer offer{corner, {}, 0, 0};
    const std::int64_t before = walk_.room();
    for (const Guest& g : corners_[corner].guests) {
      if (walk_.room() > before || looks_left_ <= 0) break;
      if (gone_[g.at]) continue;
      release(g.at);
      offer.who.push_back(g.at);
    }
    offer.gain = std::min(walk_.room(), wanted_) - before;
    if (offer.gain > 0) spare(offer.who, before + offer.gain);
    for (const std::uint32_t at : offer.who) {
      take_back(at);
      offer.lost += list_[at]->lost_gpu_ms;
    }
    return offer;
  }

  /// The highest who are not needed stay. The last of them is: without him there was no room.
  void spare(std::vector<std::uint32_t>& who, std::int64_t room) {
    for (std::size_t i = who.size() - 1; i-- > 0;) {
      take_back(who[i]);
      if (walk_.room() >= room) {
        who.erase(who.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        release(who[i]);
      }
    }
  }

  const World& world_;
  RoomWalk walk_;
  const PodShapeRec& pod_;
  const std::vector<const Suspect*>& list_;
  std::int64_t wanted_;
  std::int64_t looks_left_ = looks_max;
  std::vector<Guest> guests_;
  std::vector<Corner> corners_;
  std::vector<bool> gone_;  // by position in the list
};

}  // namespace

std::vector<const Suspect*> cheapest_by_node(const World& world, RoomWalk walk,
                                             const PodShapeRec& pod,
                                             const std::vector<const Suspect*>& list,
                                             std::int64_t wanted) {
  return ByNode(world, std::move(walk), pod, list, wanted).run();
}

}  // namespace muster::sched
