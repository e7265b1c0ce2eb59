// `muster scenario test|rewrite|mutate DIR`: the language of tests, from the command line.
#pragma once

namespace CLI {
class App;
}

void add_scenario(CLI::App& app);
