// Why a job waits, in the words that an AppWrapper's status has room for. On the loop's thread.
#pragma once

#include <optional>
#include <string>

#include "api/appwrapper/facts.h"
#include "sched/agenda.h"
#include "sched/policy.h"
#include "sched/world.h"

namespace muster::api {

/// None: it does not wait, or no plan has looked at it yet.
std::optional<WrapperWait> wait_of(sched::World& world, sched::Agenda& agenda,
                                   const sched::Policy& policy, const std::string& job, Time now);

}  // namespace muster::api
