// What Muster says of an AppWrapper beyond MCAD and its successor, in both versions alike. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "api/appwrapper/facts.h"

namespace muster::api {

/// `status.muster`: the job and attempt, its queue, cluster, spec.suspend as it was followed and,
/// in a word, why it waits.
boost::json::object muster_fields(const WrapperFacts& facts);

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

/// RFC 7386: what turns one into the other.
boost::json::object merge_patch(const boost::json::object& from, const boost::json::object& to);

}  // namespace muster::api
