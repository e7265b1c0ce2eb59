// Every allowed cluster judged for one gang: the candidates that can take it now, best first, or
// why there is none.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sched/agenda.h"
#include "sched/gang.h"
#include "sched/route.h"
#include "sched/verdict.h"

namespace muster::sched {

struct Judgement {
  std::vector<Candidate> candidates;
  Why why = NotTried{};  // if there is no candidate, or none of them can hold the gang after all
  std::vector<VenueRoom> rooms;  // of venues without enough of it; only for gangs of one set
  bool over_somewhere = false;   // its own quota, not room, kept it out of a venue
  bool over_held = false;        // by what is kept for others, which they may come to use
  bool lent = false;             // there is a place, but outside its guarantee
};

/// Whose turn it is: everybody's who waits, or of those inside their guarantees, who come first and
/// get only what is their own.
enum class Turn : std::uint8_t { Everybody, Inside };

/// The asker of a job that would start now.
Asker asker_of(const World& world, const Policy& policy, JobSlot job, Time now);

Judgement judge(World& world, Agenda& agenda, Placer& placer, const Policy& policy,
                const Asker& asker, const std::vector<int>& counts, Turn turn = Turn::Everybody);

struct Chosen {
  std::size_t candidate = 0;  // index in Judgement::candidates
  std::vector<PodOn> pods;    // on their nodes already; Placer::take_back() undoes it
};
/// Puts the gang on the best candidate that can really hold it: one nominee at a time.
std::optional<Chosen> place_best(const World& world, Placer& placer, const Policy& policy,
                                 const Asker& asker, const std::vector<int>& counts,
                                 Judgement& judged);

/// The first quota, in any tree, that does not allow these charges.
std::optional<OverQuota> over_quota(const World& world, const Job& job, const Charges& charges,
                                    const Capacity& capacity, const Rules& rules);

/// No limit of its queues is below these charges, whoever else uses them.
bool allowed_alone(const World& world, const Job& job, const Charges& charges, const Rules& rules);
/// That is so in some venue, for the fewest pods it may start with.
bool allowed_somewhere(const World& world, const Job& job, const Venues& venues,
                       const Rules& rules);

/// Quota that a job with reserved nodes, which it would delay, needs for itself.
std::optional<OverQuota> over_kept_quota(const World& world, const Policy& policy,
                                         const Asker& asker, const Charges& charges);

/// The same asker, inside its guarantee if these charges are.
Asker inside_guarantee(const World& world, const Policy& policy, Asker asker,
                       const Charges& charges);

/// The verdict if no allowed cluster could hold the gang even with all its nodes empty.
std::optional<Infeasible> infeasible(World& world, Agenda& agenda, const Policy& policy,
                                     ShapeId shape);

}  // namespace muster::sched
