#include "api/appwrapper/packed_status.h"

#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstddef>

namespace muster::api {

namespace {

namespace json = boost::json;

/// Their place is their letter, from 1 on. Longer ones stand before their beginnings. They are
/// written nowhere: what was packed lives as long as the process, and their order may change.
constexpr std::array<std::string_view, 29> phrases = {
    R"("status":"True","lastUpdateMicroTime":")",
    R"(","lastTransitionMicroTime":")",
    R"({"lastTransitionMicroTime":")",
    R"(","lastUpdateMicroTime":")",
    R"(","lastTransitionTime":")",
    R"({"type":"Init",)",
    R"({"type":"Queueing",)",
    R"(","reason":"AwaitingHeadOfLine"},)",
    R"({"type":"HeadOfLine",)",
    R"(","reason":"FrontOfQueue."},)",
    R"({"type":"Backoff",)",
    R"(","reason":"AppWrapperNotRunnable.","message":")"
    R"(Insufficient resources to dispatch AppWrapper."},)",
    R"({"type":"Waiting","status":"True","reason":")",
    R"({"type":"Dispatched",)",
    R"({"type":"QuotaReserved","status":")",
    R"({"type":"ResourcesDeployed","status":")",
    R"(False","reason":"Suspended","message":"It waits in its queue)",
    R"("controllerfirsttimestamp":")",
    R"(,"filterignore":true,"state":"Pending","queuejobstate":"Backoff","canrun":false,)"
    R"("sender":"before [backoff] - Rejoining")",
    R"("muster":{"job":")",
    R"("componentStatus":[{"name":")",
    R"(InsufficientResources)",
    R"(","status":"True","type":")",
    R"(","reason":")",
    R"(","message":")",
    R"(,"conditions":[)",
    R"(; expected to start about )",
    R"(,"systempriority":)",
    R"("apiVersion":")",
};
constexpr char same_time = static_cast<char>(phrases.size() + 1);
constexpr char this_job = static_cast<char>(phrases.size() + 2);
static_assert(this_job < 0x20);

constexpr std::string_view time_like = "0000-00-00T00:00:00";  // 0: a digit

/// The time that a text begins with; "": none.
std::string_view time_at(std::string_view text) {
  if (text.size() <= time_like.size()) return "";
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (std::size_t i = 0; i < time_like.size(); ++i) {
    if (time_like[i] == '0' ? !is_digit(text[i]) : text[i] != time_like[i]) return "";
  }
  std::size_t end = time_like.size();
  while (end < text.size() && (text[end] == '.' || is_digit(text[end]))) ++end;
  return end < text.size() && text[end] == 'Z' ? text.substr(0, end + 1) : "";
}

}  // namespace

std::string pack_status(const json::object& status, std::string_view job) {
  const std::string text = json::serialize(status);
  std::string packed;
  packed.reserve(text.size());
  std::string_view last;
  for (std::string_view left = text; !left.empty();) {
    std::size_t taken = 0;
    if (!job.empty() && left.starts_with(job)) {
      packed += this_job;
      taken = job.size();
    }
    for (std::size_t i = 0; i < phrases.size() && taken == 0; ++i) {
      if (!left.starts_with(phrases[i])) continue;
      packed += static_cast<char>(i + 1);
      taken = phrases[i].size();
    }
    if (const std::string_view time = taken == 0 ? time_at(left) : ""; !time.empty()) {
      time == last ? packed += same_time : packed += time;
      last = time;
      taken = time.size();
    }
    if (taken == 0) packed += left.front();
    left.remove_prefix(taken == 0 ? 1 : taken);
  }
  packed.shrink_to_fit();
  return packed;
}

json::object unpack_status(std::string_view packed, std::string_view job) {
  std::string text;
  std::string_view last;  // in `packed`
  for (std::size_t i = 0; i < packed.size();) {
    const auto letter = static_cast<unsigned char>(packed[i]);
    if (const std::string_view time = time_at(packed.substr(i)); !time.empty()) {
      text += time;
      last = time;
      i += time.size();
      continue;
    }
    if (packed[i] == same_time) {
      text += last;
    } else if (packed[i] == this_job) {
      text += job;
    } else if (letter >= 1 && letter <= phrases.size()) {
      text += phrases[letter - 1U];
    } else {
      text += packed[i];
    }
    ++i;
  }
  return json::parse(text).as_object();
}

}  // namespace muster::api
