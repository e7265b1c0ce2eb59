#include "view/state_word.h"

namespace muster::view {

std::string state_word(model::JobState state) {
  std::string word(model::to_text(state));
  for (char& c : word) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return word;
}

}  // namespace muster::view
