// A request on its way through the server. Handlers run on the threads of the network and must not
// wait there: what asks the store goes to a worker, what asks the live world to the loop as a
// question (control/reads.h), what changes the books to the loop as a wish (control/requests.h).
// The client is answered when that is done. Where too much waits it is told 429, while the store
// refuses or the server stops 503, both with Retry-After.
//
// Thread contract: any thread; what is handed to `read` and `change` is called on the loop's
// thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "control/reads.h"
#include "control/requests.h"
#include "net/http.h"
#include "net/responder.h"
#include "net/router.h"

namespace muster::api {

/// A request and where its answer goes; shared by the closures that work on it.
struct Call {
  net::Request request;
  net::Responder responder;

  void answer(int status, std::string json) const;
  void answer(const Error& error) const;
  void answer(const Result<std::string>& json) const;  // 200, or the error
};
using CallPtr = std::shared_ptr<const Call>;

CallPtr make_call(net::Request request, net::Responder responder);

/// Runs a task that may wait for the disk on another thread; false: too much waits.
using Work = std::function<bool(std::function<void()>)>;
/// Runs on a worker; the client is told what it returns if that is an error.
void on_worker(const Work& work, const CallPtr& call, std::function<Status()> task);

/// `then` gets what was read, on the loop's thread; when the question is not taken the client is
/// told so.
void read(control::Reads& reads, const CallPtr& call, control::ReadAsk ask,
          std::function<void(Result<std::string>)> then);
/// The same with the text read as the answer.
void read(control::Reads& reads, const CallPtr& call, control::ReadAsk ask);

/// `then` is called when the wish is durable and applied; an error is told to the client.
void change(control::Requests& requests, const CallPtr& call,
            std::function<Result<control::Asked>(const sched::World&, Time)> ask,
            std::function<void()> then);

/// Adds a route under /api/muster/v1.
void add_route(net::Router& router, std::string_view method, std::string_view path,
               std::function<void(const CallPtr&)> handle);

/// A row of the audit log for this call.
ports::AuditRow audit_row(const net::Request& request, std::string verb, std::string object,
                          std::string detail = "");

}  // namespace muster::api
