// spec.suspend of an AppWrapper as the hold of its job, and its priority. The first holds what
// waits and stops what runs; set back, the job queues again and starts over. What was last followed
// of both stands in the status, so that a change made while no server ran is not missed, and a hold
// or a priority that somebody else gave the job is left alone. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/appwrapper/facts.h"
#include "model/event.h"
#include "sched/job_table.h"

namespace muster::api {

/// `status.muster.suspend` of what was written last.
bool was_suspended(const boost::json::object& status);

/// `status.muster.priority` of what was written last. None: the job had the one that was asked for.
std::optional<int> followed_priority(const boost::json::object& status);

/// What a job is asked for when its AppWrapper changed from one ask to the other.
std::vector<model::EventBody> changes_between(const std::string& job, const WrapperAsk& before,
                                              const WrapperAsk& after);

/// Of these, what the job can still take as it is now.
std::vector<model::EventBody> still_wanted(const sched::Job& job,
                                           const std::vector<model::EventBody>& events);

}  // namespace muster::api
