#include "clusters/kubernetes/names.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"

namespace muster::clusters {

namespace {

constexpr std::size_t name_max = 52;
constexpr std::size_t label_max = 63;
constexpr std::uint64_t peer_services = 16;

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string with_hash(std::string text, std::string_view original, std::size_t size_max) {
  const std::string hash = fmt::format("{:016x}", Hasher().add(original).value());
  text.resize(std::min(text.size(), size_max - hash.size() - 1));
  while (!text.empty() && !is_alphanumeric(text.back())) text.pop_back();
  return text.empty() ? "x" + hash : text + "-" + hash;
}

}  // namespace

std::string object_name(const ports::Attempt& attempt, std::string_view part) {
  const std::string number = std::to_string(attempt.number);
  const std::string plain =
      fmt::format("{}-{}{}{}", attempt.job, number, part.empty() ? "" : "-", part);
  // The parts are told apart in the hash, where dashes inside of them do not matter.
  const std::string original = fmt::format("{}\n{}\n{}", attempt.job, number, part);
  std::string name = "m-";
  bool is_changed = attempt.job.find('-') != std::string::npos;
  for (const char c : plain) {
    const bool is_fine = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    const bool is_upper = c >= 'A' && c <= 'Z';
    is_changed |= !is_fine;
    name += is_fine ? c : is_upper ? static_cast<char>(c + 32) : '-';
  }
  is_changed |= name.size() > name_max || name.ends_with('-');
  return is_changed ? with_hash(std::move(name), original, name_max) : name;
}

std::string peers_name(const ports::Attempt& attempt, const std::string& server) {
  const std::uint64_t number = Hasher().add(attempt.job).value() % peer_services;
  if (server.empty()) return fmt::format("muster-peers-{:x}", number);
  const auto whose = static_cast<std::uint32_t>(Hasher().add(server).value());
  return fmt::format("muster-peers-{:08x}-{:x}", whose, number);
}

std::string peers_selector(const std::string& server) {
  if (server.empty()) return std::string(peers_label);
  return fmt::format("{},{}={}", peers_label, server_label, server);
}

std::string label_value(std::string_view text) {
  const auto is_fine = [](char c) {
    return is_alphanumeric(c) || c == '-' || c == '_' || c == '.';
  };
  const bool is_allowed = !text.empty() && text.size() <= label_max &&
                          std::all_of(text.begin(), text.end(), is_fine) &&
                          is_alphanumeric(text.front()) && is_alphanumeric(text.back());
  if (is_allowed) return std::string(text);
  std::string value = "x";
  for (const char c : text) value += is_fine(c) ? c : '_';
  return with_hash(std::move(value), text, label_max);
}

std::string server_selector(const std::string& server) {
  if (server.empty()) return std::string(job_label);
  return fmt::format("{},{}={}", job_label, server_label, server);
}

std::string attempts_selector(std::span<const ports::Attempt> attempts, const std::string& server) {
  std::string jobs;
  for (const ports::Attempt& attempt : attempts) {
    MUSTER_CHECK(attempt.number == attempts.front().number, "attempts of different numbers");
    if (!jobs.empty()) jobs += ',';
    jobs += label_value(attempt.job);
  }
  if (attempts.front().number == 0) return fmt::format("{} in ({})", job_label, jobs);
  const std::string selector =
      fmt::format("{} in ({}),{}={}", job_label, jobs, attempt_label, attempts.front().number);
  return server.empty() ? selector : fmt::format("{},{}={}", selector, server_label, server);
}

}  // namespace muster::clusters
