// Prints docs/states.md: `states_page > docs/states.md`.
#include <cstdio>
#include <string>

#include "model/state_page.h"

int main() {
  const std::string page = muster::model::states_page();
  return std::fwrite(page.data(), 1, page.size(), stdout) == page.size() ? 0 : 1;
}
