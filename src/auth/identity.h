// Who asks, and who may be let in at all. Every request has a user: that of its bearer token, or,
// on a connection from this machine without one, the local user. There is no listener beyond
// loopback on which somebody without a token could be taken for anybody. (The health port of the
// profile mcad, which asks nobody who he is, answers /healthz alone.)
//
// A connection from loopback is not proof of a person at this machine: a proxy forwards strangers,
// and a page in a browser can send requests to any address. So the local user is given only if the
// request names a loopback host, comes from no other site and was not forwarded.
//
// Pure but for the tokens asked. Thread contract: any thread.
#pragma once

#include <string>
#include <string_view>

#include "auth/tokens.h"
#include "base/result.h"
#include "base/time.h"

namespace muster::auth {

/// What of a request says who sent it.
struct Claim {
  std::string_view authorization = {};  // the header's value; "" without one
  std::string_view host = {};           // as sent
  std::string_view origin = {};         // "" unless a browser sent it
  bool is_loopback = false;             // of the connection itself
  bool is_forwarded = false;            // it has a Forwarded, X-Forwarded-For or Via header
};

/// How a refusal is told: 401 with WWW-Authenticate, or 403.
enum class Refusal { Unauthenticated, Forbidden };
struct Identity {
  std::string user;  // "" when refused
  Refusal refusal = Refusal::Unauthenticated;
  std::string message;  // of a refusal, with the fix
  bool ok() const { return !user.empty(); }
};

/// `local_user`: "" where nobody is let in without a token, not even from this machine.
Identity identify(const Claim& claim, const Tokens& tokens, std::string_view local_user, Time now);

/// The user of this process for the local default: a name made fit for check_name; "local" when
/// nothing of it is.
std::string local_user_name(std::string_view system_name);

/// "localhost", "127.0.0.0/8", "::1", with or without a port and brackets.
bool is_loopback_host(std::string_view host);

/// What decides whether a listener may start.
struct Listener {
  std::string address = {};  // "127.0.0.1:8080", "[::1]:80", ":8080", "unix:/path", as configured
  bool tls = false;
  std::size_t tokens = 0;            // that exist
  bool runs_processes_here = false;  // a cluster of type local is configured
};
/// An error names the reason and the fix. `listen` without a host means every address.
Status may_listen(const Listener& listener);
/// What an administrator should hear although the listener may start; "" mostly.
std::string listen_warning(const Listener& listener);

}  // namespace muster::auth
