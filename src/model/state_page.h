// docs/states.md, made from the table in state.cc so that the page cannot lie. Only the generator
// in tools/ and the test that compares the file use it.
#pragma once

#include <string>

namespace muster::model {

std::string states_page();

}  // namespace muster::model
