#include "sched/gang.h"

#include <algorithm>
#include <map>

#include "base/hash.h"
#include "sched/cheapest_first.h"
#include "sched/preempt.h"
#include "sched/relations.h"

namespace muster::sched {

bool may_use_reserved(const World& world, const Policy& policy, const Reservation& r,
                      const Asker& asker) {
  if (r.job.is_none() || r.job == asker.job) return true;
  if (!asker.own.is_none() && world.job(r.job).reservation == asker.own) return true;
  if (r.preempting) return false;
  const Job& holder = world.job(r.job);
  const Job& mine = world.job(asker.job);
  if (mine.queue == holder.queue && comes_before(mine, holder)) return true;
  if (asker.end <= r.start) return true;
  const bool inside =
      policy.rules.has(Rule::ProtectGuaranteed) && !world.quota.guarantor(holder.queue).is_none() &&
      world.guarantees.would_be_inside(world, claim_of(world, r.job, policy), r.charges);
  if (asker.inside != inside) return asker.inside;
  return priority_class(world, holder, policy) < asker.priority;
}

bool needs_one_domain(const Policy& policy, const Shape& shape) {
  return shape.gang.topology && shape.gang.topology->required &&
         policy.rules.has(Rule::TopologyDomain);
}

bool Placer::open_to(const NodeClass& c, const Ask& ask) const {
  if (c.reserved.is_none() || !policy_.rules.has(Rule::BackfillNoDelay)) return true;
  return may_use_reserved(world_, policy_, world_.reservation(c.reserved), ask.asker);
}

bool Placer::in_domain(const NodeClass& c, const Domain* domain) const {
  if (domain == nullptr) return true;
  const model::Labels& labels = world_.fleet.profile(c.profile).labels;
  const auto it = labels.find(domain->key);
  return it != labels.end() && it->second == domain->value;
}

Placer::Room Placer::room_for(const Ask& ask, int count) {
  const bool limited = ask.per_node > 0 && policy_.rules.has(Rule::PodsPerNode);
  const PodShapeId pod = ask.venue.pods[ask.set];
  Room room;
  each_class(ask, [&](const ListedClass& listed) {
    std::int64_t per_node = cache_.room(world_, policy_, pod, listed.id);
    if (per_node == 0) return true;
    if (limited) per_node = std::min<std::int64_t>(per_node, ask.per_node);
    const NodeClass& c = world_.fleet.node_class(listed.id);
    (open_to(c, ask) ? room.open : room.closed) += per_node * c.size;
    if (c.reserved.is_none()) room.unreserved += per_node * c.size;
    return room.open < count;
  });
  return room;
}

VenueView Placer::view(const Venue& venue, const Shape& shape, const std::vector<int>& counts,
                       const Asker& asker) {
  VenueView v;
  v.enough = true;
  bool enough_if_open = true;
  for (std::size_t i = 0; i < shape.sets.size(); ++i) {
    const Room room = room_for({venue, i, shape.sets[i].pods_per_node, asker, nullptr}, counts[i]);
    v.placeable += static_cast<int>(std::min<std::int64_t>(room.open, counts[i]));
    v.enough = v.enough && room.open >= counts[i];
    enough_if_open = enough_if_open && room.open + room.closed >= counts[i];
    v.unreserved += static_cast<int>(std::min<std::int64_t>(room.unreserved, counts[i]));
  }
  v.reserved_only = !v.enough && enough_if_open;
  return v;
}

std::vector<int> Placer::rooms(const Venue& venue, const Shape& shape,
                               const std::vector<int>& counts, const Asker& asker) {
  std::vector<int> rooms;
  for (std::size_t i = 0; i < shape.sets.size(); ++i) {
    const Room room = room_for({venue, i, shape.sets[i].pods_per_node, asker, nullptr}, counts[i]);
    rooms.push_back(static_cast<int>(std::min<std::int64_t>(room.open, counts[i])));
  }
  return rooms;
}

void Placer::price(const Venue& venue, const Shape& shape, const Asker& asker, VenueView& v) {
  v.cost = 0;
  for (std::size_t i = 0; i < shape.sets.size(); ++i) {
    const Ask ask{venue, i, shape.sets[i].pods_per_node, asker, nullptr};
    const auto best = CheapestFirst(*this, ask).next();
    if (best) v.cost += best->cost;
    if (i == 0) {
      v.rank = best ? best->rank : 0;
      v.best = best ? best->cls : ClassId::none();
    }
  }
}

std::optional<std::vector<PodOn>> Placer::place_one(const Venue& venue, const Shape& shape,
                                                    const Asker& asker, const VenueView& view) {
  const bool simple = shape.pods == 1 && !shape.gang.topology && !view.best.is_none() &&
                      !looks_at_others(venue.pods[0]);
  if (!simple) return std::nullopt;
  const Ask ask{venue, 0, 0, asker, nullptr};
  const std::uint16_t device = cache_.cost(world_, policy_, venue.pods[0], view.best)->device;
  return std::vector<PodOn>{put(ask, world_.fleet.first_member(view.best), device)};
}

bool Placer::looks_at_others(PodShapeId pod) const {
  return world_.shapes.pod(pod).relational || world_.fleet.repelling_pods() > 0 ||
         policy_.node_choice == NodeChoice::Random;
}

PodOn Placer::put(const Ask& ask, NodeId id, std::uint16_t device) {
  const Node& node = world_.fleet.node(id);
  const PodShapeRec& pod = world_.shapes.pod(ask.venue.pods[ask.set]);
  PodOn on;
  on.job = ask.asker.job;
  on.set = static_cast<std::uint32_t>(ask.set);
  on.pod = ask.venue.pods[ask.set];
  on.node = id;
  if (pod.gpus > 0) {
    on.each = cache_.match(world_, policy_, on.pod, node.profile).each;
    int left = pod.gpus;
    const std::uint16_t wanted = on.each == 1000 ? std::uint16_t{1000} : device;
    for (int d = 0; d < node.spec.gpu_count && left > 0; ++d) {
      if (node.devices[static_cast<std::size_t>(d)] == wanted) {
        on.devices |= 1u << d;
        --left;
      }
    }
  }
  world_.fleet.occupy(on, world_.shapes);
  return on;
}

int Placer::of_set_on(NodeId node, const Ask& ask) const {
  const auto& pods = world_.fleet.node(node).pods;
  return static_cast<int>(std::count_if(pods.begin(), pods.end(), [&](const PodOn& on) {
    return on.job == ask.asker.job && on.set == ask.set;
  }));
}

bool Placer::place_set(const Ask& ask, int count, std::vector<PodOn>& out,
                       std::vector<NodeId>& hidden) {
  const PodShapeId pod = ask.venue.pods[ask.set];
  CheapestFirst classes(*this, ask);
  for (int left = count; left > 0; --left) {
    const auto best = classes.next();
    if (!best) return false;
    const NodeId node = world_.fleet.first_member(best->cls);
    const std::uint16_t device = cache_.cost(world_, policy_, pod, best->cls)->device;
    out.push_back(put(ask, node, device));
    if (left == 1) break;
    if (world_.fleet.node_class(best->cls).generation == best->generation) classes.offer(best->cls);
    if (ask.per_node > 0 && policy_.rules.has(Rule::PodsPerNode) &&
        of_set_on(node, ask) >= ask.per_node) {
      world_.fleet.hide(node, true);
      hidden.push_back(node);
    } else {
      classes.offer(world_.fleet.node(node).cls);
    }
  }
  return true;
}

bool Placer::place_related(const Ask& ask, int count, std::vector<PodOn>& out) {
  const PodShapeId pod = ask.venue.pods[ask.set];
  const PodShapeRec& rec = world_.shapes.pod(pod);
  Relations relations(world_, policy_, ask.venue.cluster, pod, ask.asker);
  for (int n = 0; n < count; ++n) {
    NodeId best = NodeId::none();
    std::int64_t best_cost = 0;
    std::int64_t best_crowding = 0;
    for (const NodeId id : world_.fleet.cluster(ask.venue.cluster).nodes) {
      const Node& node = world_.fleet.node(id);
      if (node.cls.is_none()) continue;
      if (rec.gpus > 0 && world_.fleet.profile(node.profile).type != ask.venue.types[ask.set])
        continue;
      if (cache_.room(world_, policy_, pod, node.cls) == 0) continue;
      const NodeClass& c = world_.fleet.node_class(node.cls);
      if (!open_to(c, ask) || !in_domain(c, ask.domain)) continue;
      if (ask.per_node > 0 && policy_.rules.has(Rule::PodsPerNode) &&
          of_set_on(id, ask) >= ask.per_node)
        continue;
      if (!relations.allows(id)) continue;
      const std::int64_t crowding = relations.crowding(id);
      const std::int64_t cost =
          policy_.node_choice == NodeChoice::Random
              ? static_cast<std::int64_t>(Hasher()
                                              .add(policy_.random_seed)
                                              .add(world_.job(ask.asker.job).seq)
                                              .add(node.rank)
                                              .value() >>
                                          1)
              : cache_.cost(world_, policy_, pod, node.cls)->cost -
                    (relations.preference(id) << preference_shift);
      if (best.is_none() || crowding < best_crowding ||
          (crowding == best_crowding && cost < best_cost)) {
        best = id;
        best_cost = cost;
        best_crowding = crowding;
      }
    }
    if (best.is_none()) return false;
    const std::uint16_t device =
        cache_.cost(world_, policy_, pod, world_.fleet.node(best).cls)->device;
    out.push_back(put(ask, best, device));
    relations.placed(pod, best);
  }
  return true;
}

/// Sets that match the fewest nodes choose first, so that a picky set does not find its nodes
/// taken.
std::vector<std::size_t> Placer::most_demanding_first(const Venue& venue, const Shape& shape) {
  std::vector<std::size_t> order(shape.sets.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (order.size() < 2) return order;
  std::vector<std::int64_t> nodes(order.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const PodShapeRec& pod = world_.shapes.pod(venue.pods[i]);
    for (const ProfileId id : world_.fleet.cluster(venue.cluster).profiles) {
      const Profile& profile = world_.fleet.profile(id);
      if (pod.gpus > 0 && profile.type != venue.types[i]) continue;
      if (cache_.match(world_, policy_, venue.pods[i], id).allowed) nodes[i] += profile.nodes;
    }
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (nodes[a] != nodes[b]) return nodes[a] < nodes[b];
    const PodShapeRec& x = world_.shapes.pod(venue.pods[a]);
    const PodShapeRec& y = world_.shapes.pod(venue.pods[b]);
    if (x.gpus != y.gpus) return x.gpus > y.gpus;
    if (x.cpu != y.cpu) return x.cpu > y.cpu;
    return a < b;
  });
  return order;
}

bool Placer::place_in_order(const Whole& whole, std::vector<PodOn>& out) {
  bool all = true;
  for (const std::size_t i : whole.order) {
    if (whole.counts[i] == 0 || !all) continue;
    const Ask ask{whole.venue, i, whole.shape.sets[i].pods_per_node, whole.asker, whole.domain};
    if (looks_at_others(whole.venue.pods[i])) {
      all = place_related(ask, whole.counts[i], out);
    } else {
      std::vector<NodeId> hidden;
      all = place_set(ask, whole.counts[i], out, hidden);
      for (const NodeId node : hidden) world_.fleet.hide(node, false);
    }
  }
  return all || (!out.empty() && !policy_.rules.has(Rule::GangWhole));
}

bool Placer::place_within(const Venue& venue, const Shape& shape, const std::vector<int>& counts,
                          const Asker& asker, const Domain* domain, std::vector<PodOn>& out) {
  Whole whole{venue, shape, counts, asker, domain, most_demanding_first(venue, shape)};
  if (place_in_order(whole, out)) return true;
  take_back(out);
  out.clear();
  // A set that chose well for itself may have taken what only another could use.
  if (whole.order.size() < 2) return false;
  std::reverse(whole.order.begin(), whole.order.end());
  if (place_in_order(whole, out)) return true;
  take_back(out);
  out.clear();
  return search(whole, out);
}

std::vector<Placer::Domain> Placer::domains(const Venue& venue, const Shape& shape,
                                            const std::vector<int>& counts, const Asker& asker) {
  const std::string& key = shape.gang.topology->key;
  std::map<std::string, std::vector<std::int64_t>> room;  // by value: pods that fit, per set
  for (std::size_t i = 0; i < shape.sets.size(); ++i) {
    const Ask ask{venue, i, shape.sets[i].pods_per_node, asker, nullptr};
    each_class(ask, [&](const ListedClass& listed) {
      const NodeClass& c = world_.fleet.node_class(listed.id);
      const int pods = cache_.room(world_, policy_, venue.pods[i], listed.id);
      const auto& labels = world_.fleet.profile(c.profile).labels;
      const auto value = labels.find(key);
      if (pods == 0 || value == labels.end() || !open_to(c, ask)) return true;
      auto& rooms = room[value->second];
      rooms.resize(shape.sets.size(), 0);
      rooms[i] += std::int64_t{pods} * c.size;
      return true;
    });
  }
  // The tightest domain that can hold the gang first: large holes stay for large gangs.
  std::vector<std::pair<std::int64_t, std::string>> order;
  for (const auto& [value, rooms] : room) {
    std::int64_t total = 0;
    bool enough = true;
    for (std::size_t i = 0; i < rooms.size(); ++i) {
      total += rooms[i];
      enough = enough && rooms[i] >= counts[i];
    }
    if (enough) order.emplace_back(total, value);
  }
  std::sort(order.begin(), order.end());
  std::vector<Domain> found;
  for (const auto& [total, value] : order) found.push_back({key, value});
  return found;
}

std::optional<std::vector<PodOn>> Placer::place(const Venue& venue, const Shape& shape,
                                                const std::vector<int>& counts,
                                                const Asker& asker) {
  std::vector<PodOn> pods;
  if (shape.gang.topology && policy_.rules.has(Rule::TopologyDomain)) {
    for (const Domain& domain : domains(venue, shape, counts, asker)) {
      if (place_within(venue, shape, counts, asker, &domain, pods)) return pods;
    }
    if (shape.gang.topology->required) return std::nullopt;
  }
  if (place_within(venue, shape, counts, asker, nullptr, pods)) return pods;
  return std::nullopt;
}

void Placer::take_back(const std::vector<PodOn>& pods) {
  for (auto it = pods.rbegin(); it != pods.rend(); ++it) world_.fleet.vacate(*it, world_.shapes);
}

}  // namespace muster::sched
