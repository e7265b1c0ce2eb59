// Chooses the handler of a request by method and path, and answers what has none: 404, 405 with
// Allow, OPTIONS. HEAD goes to the handler of GET; the server leaves the body out.
//
// Patterns: "/jobs/{id}/logs" with one whole segment per name, and "/web/{path...}" whose last
// name takes the rest (also nothing). A written segment is preferred to a name, a name to a rest.
// Filled before the server starts, read by all I/O threads afterwards.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http.h"
#include "net/responder.h"

namespace muster::net {

/// Answers at once, on the I/O thread: it must not wait for anything.
using AnswerNow = std::function<Response(const Request&)>;
/// Answers now or later, from any thread, through the responder. Called on an I/O thread.
using Handler = std::function<void(Request, Responder)>;

struct Match {
  const Handler* handler = nullptr;  // null: no route, see allowed
  std::string_view pattern;          // "" without a route
  QueryMap params;
  std::string allowed;  // methods of the path, as Allow wants them; "" when nobody knows the path
};

class Router {
 public:
  Router();
  ~Router();
  Router(Router&&) noexcept;
  Router& operator=(Router&&) noexcept;

  /// A malformed pattern, or one that is there already, is a bug of the caller and CHECKed; see
  /// try_add for patterns from outside.
  void add(std::string_view method, std::string_view pattern, Handler handler);
  void add(std::string_view method, std::string_view pattern, AnswerNow handler);
  Status try_add(std::string_view method, std::string_view pattern, Handler handler);

  Match match(std::string_view method, const std::vector<std::string>& segments) const;

  /// Finds the handler and calls it, or answers itself. The errors it makes have error_response's
  /// form.
  void dispatch(Request request, Responder responder) const;

 private:
  struct Node;
  std::unique_ptr<Node> root_;
};

}  // namespace muster::net
