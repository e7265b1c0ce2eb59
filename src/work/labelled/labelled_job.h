// The job that a labelled object of a hub cluster is: a RayCluster or a RayJob with the label
// muster.dev/queue. It is there already; the job starts and stops it where it is. Pure; the same
// object gives the same job.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "manifest/amounts.h"
#include "model/command.h"
#include "work/wrapped/wrapped_job.h"

namespace muster::work {

constexpr std::string_view labelled_queue = "muster.dev/queue";
/// On one whose job is over: how it ended. It is not taken again.
constexpr std::string_view ended_annotation = "muster.dev/ended";

/// On one whose job was given another priority than it was queued with, as its label says: which,
/// and which job's. Nothing else tells whether the label was followed.
constexpr std::string_view followed_annotation = "muster.dev/followed-priority";

struct LabelledOptions {
  std::string hub = {};  // the cluster that it is in
  int priority = 0;      // of those that say none
  bool is_mcad = false;  // fits against sums
  manifest::GpuNaming gpus = {};
};

/// Fault::Invalid names the field.
Result<WrappedJob> labelled_job(const boost::json::value& object, const LabelledOptions& options);

/// By its label. Also of one as it was queued, which has no uid, so it is no job.
Result<int> asked_priority(const boost::json::value& object, const LabelledOptions& options);

/// The annotation's text, and what it says. None: nothing of this job.
std::string followed_text(int priority, std::string_view job);
std::optional<int> followed_priority(const boost::json::value& object, std::string_view job);

/// The object as it was when it was queued. Null: that is not known.
boost::json::value queued_object(const model::Command& command);

/// Of what its job is made: another one makes it another job. Never 0.
std::uint64_t content_of(const boost::json::value& object);

/// Whether somebody else looks after it: the object that it belongs to, another controller, or
/// Kueue where it is installed.
bool is_of_others(const boost::json::value& object, bool has_kueue);
/// Whether an attempt of this job has it, which started it.
bool is_started_for(const boost::json::value& object, std::string_view job);

/// It rests, in the way that its operator follows; it can at all.
bool is_resting(const boost::json::value& object);
bool can_rest(const boost::json::value& object);
/// It has ended by itself; its job has.
bool has_ended(const boost::json::value& object);
bool is_noted_as_ended(const boost::json::value& object);

/// A merge patch that makes it rest, and takes marks of attempts off. It is refused if the object
/// changed since.
boost::json::value rest_patch(const boost::json::value& object);

}  // namespace muster::work
