#include "auth/identity.h"

#include <algorithm>

#include "base/text.h"

namespace muster::auth {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

/// "[::1]:80" -> "::1", "localhost:80" -> "localhost", "::1" as it is.
std::string_view host_of(std::string_view authority) {
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    return end == std::string_view::npos ? std::string_view{} : authority.substr(1, end - 1);
  }
  const std::size_t colon = authority.find(':');
  if (colon == std::string_view::npos || authority.find(':', colon + 1) != std::string_view::npos)
    return authority;
  return authority.substr(0, colon);
}

bool is_loopback_ipv4(std::string_view host) {
  const std::vector<std::string_view> parts = split(host, '.');
  if (parts.size() != 4 || parts[0] != "127") return false;
  return std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
    return part.size() <= 3 && parse_int(part, "host", 0, 255).ok();
  });
}

bool is_loopback_origin(std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme)) return is_loopback_host(origin.substr(scheme.size()));
  }
  return false;
}

Identity refuse(Refusal refusal, std::string message) { return {"", refusal, std::move(message)}; }

Identity identify_by_token(std::string_view authorization, const Tokens& tokens, Time now) {
  const std::size_t blank = authorization.find(' ');
  if (!equals_ignoring_case(authorization.substr(0, blank), "bearer"))
    return refuse(Refusal::Unauthenticated,
                  "authorization: only Bearer tokens are taken; send Authorization: Bearer TOKEN");
  const std::string_view secret =
      blank == std::string_view::npos ? "" : trim(authorization.substr(blank));
  if (auto user = tokens.user_of(secret, now)) return {std::move(*user), {}, {}};
  return refuse(Refusal::Unauthenticated,
                "authorization: this token is unknown or revoked; make one with muster token "
                "create");
}

bool reaches_only_here(std::string_view address) {
  return address.starts_with("unix:") || is_loopback_host(address);
}

}  // namespace

bool is_loopback_host(std::string_view authority) {
  const std::string_view host = host_of(authority);
  return equals_ignoring_case(host, "localhost") || host == "::1" || is_loopback_ipv4(host);
}

Identity identify(const Claim& claim, const Tokens& tokens, std::string_view local_user, Time now) {
  // Whoever shows a token is judged by it: a wrong one is not mended by coming from here.
  if (!claim.authorization.empty()) return identify_by_token(claim.authorization, tokens, now);
  if (!claim.is_loopback || local_user.empty() || claim.is_forwarded)
    return refuse(Refusal::Unauthenticated,
                  "authorization: a token is needed; set MUSTER_TOKEN or send Authorization: "
                  "Bearer TOKEN");
  if (!claim.host.empty() && !is_loopback_host(claim.host))
    return refuse(Refusal::Forbidden,
                  fmt::format("host: {} is not a name of this machine's loopback; use localhost or "
                              "send a token",
                              claim.host.substr(0, 80)));
  if (!claim.origin.empty() && !is_loopback_origin(claim.origin))
    return refuse(Refusal::Forbidden, fmt::format("origin: requests of pages from {} need a token",
                                                  claim.origin.substr(0, 80)));
  return {std::string(local_user), {}, {}};
}

std::string local_user_name(std::string_view system_name) {
  std::string name;
  for (const char c : system_name.substr(0, 64)) {
    const std::string one(1, c);
    if (check_name(name + one, "user")) name += one;
  }
  return name.empty() ? "local" : name;
}

Status may_listen(const Listener& listener) {
  if (reaches_only_here(listener.address)) return Ok{};
  if (listener.runs_processes_here)
    return invalid(fmt::format(
        "listen: {} can be reached from other machines, and a cluster of type local would let "
        "them run processes here; listen on 127.0.0.1 or remove that cluster",
        listener.address));
  if (listener.tokens == 0)
    return invalid(fmt::format(
        "listen: {} can be reached from other machines and there are no tokens to tell users "
        "apart; listen on 127.0.0.1 or make one with muster token create",
        listener.address));
  return Ok{};
}

std::string listen_warning(const Listener& listener) {
  if (listener.tls || reaches_only_here(listener.address)) return "";
  return fmt::format(
      "listen: {} takes tokens without TLS: whoever sees the traffic can use them; set --tls-cert "
      "and --tls-key",
      listener.address);
}

}  // namespace muster::auth
