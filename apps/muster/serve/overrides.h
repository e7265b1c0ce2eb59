// What the command line of `muster serve` says instead of the file: at the start, and whenever the
// file is read again.
#pragma once

#include <optional>
#include <string>

#include "config/config.h"

namespace muster::app {

struct Overrides {
  std::string listen = {};    // "": as the file says
  std::string data_dir = {};  // "": as the file says
  std::optional<config::Tls> tls = {};

  void put_over(config::Config& config) const {
    if (!listen.empty()) config.listen = listen;
    if (!data_dir.empty()) config.data_dir = data_dir;
    if (tls) config.tls = tls;
  }
};

}  // namespace muster::app
