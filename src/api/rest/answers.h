// How the REST API answers: errors in one form, and the small parts of queries that many routes
// share. Every error has a code, one line that says what is wrong, where it can the field and the
// fix, and the id of the request.
//
// Pure. Thread contract: none needed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/problem.h"
#include "net/http.h"

namespace muster::api {

struct Fail {
  int status = 400;
  std::string message;
  std::string field = {};
  std::string fix = {};
  std::int64_t retry_after_s = 0;  // 0: not said
};

net::Response fail(const net::Request& request, const Fail& what);
/// Invalid 400, NotFound 404, Conflict 409, Unavailable 503 with Retry-After. A message that begins
/// with "field: " names the field.
net::Response fail(const net::Request& request, const Error& error);
/// 400 with all of them.
net::Response fail(const net::Request& request, const config::Problems& problems);

/// A number in the query, in [low, high]; `otherwise` if it is not there.
Result<std::int64_t> query_int(const net::Request& request, std::string_view name, std::int64_t low,
                               std::int64_t high, std::int64_t otherwise);
Result<bool> query_bool(const net::Request& request, std::string_view name, bool otherwise);
/// Invalid if the query has other keys: for requests in which a mistyped one would do harm.
Status only_query(const net::Request& request, std::initializer_list<std::string_view> known);
/// `cursor` of a page; 0: the first.
Result<std::uint64_t> query_cursor(const net::Request& request);
/// The value of `next` in a page, as JSON.
std::string next_json(std::uint64_t next);

/// Who asks: set by the server for every request that comes to a handler (api.h).
std::string user_of(const net::Request& request);

}  // namespace muster::api
