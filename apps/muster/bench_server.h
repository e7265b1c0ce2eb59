// `muster bench server`: a real server as users run it, beside what this machine could do at best.
#pragma once

namespace CLI {
class App;
}

namespace muster::app {

void add_bench_server(CLI::App& bench);

}  // namespace muster::app
