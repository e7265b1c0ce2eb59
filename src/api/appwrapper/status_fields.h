// What Muster says of an AppWrapper beyond MCAD and its successor, in both versions alike. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "api/appwrapper/facts.h"
#include "base/time.h"

namespace muster::api {

/// `status.muster`: the job and attempt, what it was made of, its queue, cluster, spec.suspend as
/// it was followed, its priority where its job has another, and, in a word, why it waits. `before`
/// is the status that was written last.
boost::json::object muster_fields(const WrapperFacts& facts, const boost::json::object& before);

/// The last try could not be made and said why, and the next one is on its way: until its objects
/// are there, what was said stands.
bool is_made_again(const WrapperFacts& facts, const boost::json::object& before);

/// Whether it says that Muster could not make a job of it.
bool is_refused(const boost::json::object& status);

/// Why it waits. Only of one that does.
const std::string& why_it_waits(const WrapperFacts& facts);

/// Of the condition Waiting.
struct WaitingWords {
  std::string reason = {};   // one word
  std::string message = {};  // which resource is short, where, and when it is expected to start
};
WaitingWords waiting_words(const WrapperFacts& facts);

/// An estimate stands until it is over for so long: each is written once, and not too often.
constexpr Duration estimate_stands = minutes(5);
/// Whether that of a message of the condition is over.
bool has_old_estimate(std::string_view message, Time now);

/// Whether a patch of the status tells nothing but how many pods are in which state, why some do
/// not start, or in other words than before why it waits: what changes all the time.
bool is_counts_only(const boost::json::object& before, const boost::json::object& patch);

/// All pods that it wants run, or have run.
bool all_pods_run(const WrapperFacts& facts);

/// RFC 7386: what turns one into the other.
boost::json::object merge_patch(const boost::json::object& from, const boost::json::object& to);

}  // namespace muster::api
