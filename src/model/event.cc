#include "model/event.h"

#include <utility>

namespace muster::model {

EventBody to_event(Decision decision) {
  return std::visit([](auto& made) -> EventBody { return std::move(made); }, decision);
}

}  // namespace muster::model
