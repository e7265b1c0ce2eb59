// `muster scenario test|rewrite|mutate DIR`: the language of tests, from the command line.
#pragma once

#include <CLI/CLI.hpp>

void add_scenario(CLI::App& app);
