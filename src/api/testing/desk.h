// A router with a world behind it and no sockets: requests are dispatched, the test plays the loop.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "control/reads.h"
#include "control/requests.h"
#include "net/exchange.h"
#include "net/router.h"
#include "net/url.h"
#include "sched/plan.h"
#include "sched/world.h"

namespace muster::api::testing {

struct Answer {
  int status = 0;
  net::Headers headers;
  std::string text;
  boost::json::value body;  // null if it is not JSON

  const boost::json::value& at(std::string_view name) const { return body.at(name); }
  std::string message() const {
    return boost::json::value_to<std::string>(body.at("error").at("message"));
  }
};

struct Desk {
  sched::World world;
  sched::Agenda agenda;
  sched::Policy policy;
  Time now = Time{0} + hours(1);
  control::Reads reads{10};
  control::Requests requests{10};
  net::Router router;
  std::vector<ports::AuditRow> audit;

  void tell(model::EventBody body) { sched::apply(world, {now, std::move(body)}, policy); }

  /// One turn of the loop.
  void turn() {
    reads.answer_some(std::chrono::milliseconds(100), [this](const control::ReadAsk& ask) {
      return ask(world, agenda, policy, now);
    });
    for (control::Request& request : requests.take(100)) {
      Result<control::Asked> asked = request.ask(world, now);
      if (!asked) {
        request.done(asked.error());
        continue;
      }
      for (model::EventBody& event : asked->events) tell(std::move(event));
      audit.insert(audit.end(), asked->audit.begin(), asked->audit.end());
      request.done(control::Answer{asked->answer, 1});
    }
  }

  Answer ask(const std::string& method, const std::string& target, const std::string& body = "") {
    net::Request request;
    request.method = method;
    request.target = target;
    request.path = target.substr(0, target.find('?'));
    request.segments = *net::path_segments(request.path);
    if (request.path.size() < target.size()) {
      const auto pairs = net::parse_query(target.substr(request.path.size() + 1));
      for (const auto& [key, value] : *pairs) request.query[key] = value;
    }
    request.body = body;
    request.id = "req-1";
    request.headers.set("X-Muster-User", "ann");
    const auto exchange = std::make_shared<net::Exchange>(std::weak_ptr<net::Waker>(), request.id);
    router.dispatch(std::move(request), net::Responder(exchange));
    for (int i = 0; i < 10; ++i) {
      if (auto answer = exchange->take()) return read(answer->response);
      turn();
    }
    ADD_FAILURE() << method << " " << target << " was not answered";
    return {};
  }
  Answer get(const std::string& path) { return ask("GET", "/api/muster/v1" + path); }
  Answer post(const std::string& path, const std::string& body = "") {
    return ask("POST", "/api/muster/v1" + path, body);
  }

 private:
  static Answer read(const net::Response& response) {
    Answer answer{response.status, response.headers, std::string(response.body.view()), {}};
    boost::system::error_code bad;
    answer.body = boost::json::parse(answer.text, bad);
    return answer;
  }
};

}  // namespace muster::api::testing
