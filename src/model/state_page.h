// docs/states.md, made from the table in state.cc so that the page cannot lie. Only the generator
// in tools/ uses it; the test tidy.states_page compares the file.
#pragma once

#include <string>

namespace muster::model {

std::string states_page();

}  // namespace muster::model
