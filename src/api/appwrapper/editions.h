// AppWrappers that are changed while they wait. A job is what it was when it was submitted, so one
// whose AppWrapper is another by now is cancelled, and a new one takes its place, at the end of the
// queue. Its id tells the edition, which an annotation of the AppWrapper keeps: whatever is killed
// when, the newest edition becomes one job, and the older ones are cancelled. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster::api {

inline constexpr std::string_view edition_annotation = "muster.dev/edition";

/// 0: it was never changed.
std::int64_t edition_of(const boost::json::value& object);
/// As it ends the job's id; "" of the first.
std::string edition_suffix(std::int64_t edition);

/// Of labels and annotations that may mean something to a job.
std::uint64_t notes_hash(const boost::json::value& object);
/// Of what a job is made of: the spec without what can be followed later (priority, suspend), and
/// `queues`, in which it is to stand. Never 0. The same whatever version of Muster made it.
std::uint64_t content_hash(const boost::json::value& object, std::string_view queues);

/// `status.muster.content` of what was written last; 0: nothing was.
std::uint64_t written_content(const boost::json::object& status);
std::string content_text(std::uint64_t content);

}  // namespace muster::api
