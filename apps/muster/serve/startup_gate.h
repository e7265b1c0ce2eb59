// Who asks before the world is recovered is told so at once: the server listens from its first
// moment on, /healthz says that it lives, /readyz how far it is, and everything else comes later.
//
// Thread contract: any thread; open once.
#pragma once

#include <atomic>
#include <string>

#include "control/recovery.h"
#include "net/http.h"
#include "net/router.h"

namespace muster::app {

class StartupGate {
 public:
  void set_progress(control::RecoveryProgress progress);
  /// From now on `handler` answers.
  void open(net::Handler handler);
  void handle(net::Request request, net::Responder responder) const;

  /// "recovering: 420,000 of 1,000,000 entries"
  std::string text() const;

 private:
  std::atomic<bool> is_open_{false};
  net::Handler handler_;
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::uint64_t> total_{0};
};

/// With commas between thousands.
std::string grouped(std::uint64_t number);

}  // namespace muster::app
