#include "model/event.h"

#include <utility>

namespace muster::model {

EventBody::EventBody() = default;
EventBody::EventBody(const EventBody& other) = default;
EventBody::EventBody(EventBody&& other) noexcept = default;
EventBody& EventBody::operator=(const EventBody& other) = default;
EventBody& EventBody::operator=(EventBody&& other) noexcept = default;
EventBody::~EventBody() = default;

EventBody to_event(Decision decision) {
  return std::visit([](auto& made) -> EventBody { return std::move(made); }, decision);
}

}  // namespace muster::model
