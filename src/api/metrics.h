// What Muster counts and measures of itself, as Prometheus reads it. Every series has a help text;
// no label takes its values from users without a bound: queues and clusters beyond `names_max`
// share the one named "(others)", routes are patterns.
//
// Others' numbers (sizes of queues, open streams) are not copied here: watch() registers a function
// that is asked at each scrape.
//
// Thread contract: step() on the loop's thread; everything else from any thread. A scrape never
// waits for the loop.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "control/loop.h"
#include "net/http_server.h"
#include "net/router.h"
#include "ports/store.h"
#include "sched/world.h"

namespace muster::api {

class Metrics {
 public:
  static constexpr std::size_t names_max = 200;  // of queues, and of clusters

  explicit Metrics(const std::string& version);
  ~Metrics();

  /// After every step, with the world as it is then and how long it took. Queues and clusters are
  /// looked at every five seconds.
  void step(const control::StepReport& report, const sched::World& world, double seconds);
  void store_commit(double seconds, bool ok);
  void http(const net::Access& access);
  void retained(const ports::Retained& removed);
  void logs_removed(std::uint64_t bytes);
  /// One caller at a time.
  void appwrappers(const std::map<std::string, std::size_t>& by_state);
  /// Something went wrong that no client was told: `where` is one of a few words of ours.
  void error(const std::string& where);

  enum class Kind { Gauge, Counter };
  /// `value` is called at each scrape, from any thread, as long as this lives.
  void watch(Kind kind, std::string name, std::string help, std::function<double()> value);

  /// The text format 0.0.4.
  std::string text() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// GET /metrics. `metrics` must outlive the router's server.
void add_metrics_route(net::Router& router, const Metrics& metrics);

}  // namespace muster::api
