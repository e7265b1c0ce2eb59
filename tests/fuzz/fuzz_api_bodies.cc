// Bodies of requests: a queue or a patch of one, read from any bytes, is either refused with a
// message or can be given to the engine.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/rest/queue_body.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  sched::World world;
  auto queue = api::read_queue(body);
  if (queue) {
    MUSTER_CHECK(!queue->name.empty(), "a queue without a name");
    if (queue->parent.empty() && api::place(world, *queue)) {
      sched::apply(world, {Time{0}, model::QueueSet{*queue}}, {});
      const sched::QueueId id = world.quota.find(queue->name);
      const model::QueueSpec back = api::spec_of(world, id);
      MUSTER_CHECK(back.limits == queue->limits && back.weight == queue->weight,
                   "another queue than was read");
    }
  } else {
    MUSTER_CHECK(!queue.error().message.empty(), "refused without a word");
  }
  if (const auto patch = api::read_queue_patch(body)) {
    model::QueueSpec spec;
    spec.name = "q";
    api::apply_patch(*patch, spec);
    for (const auto& [resource, limit] : spec.limits)
      MUSTER_CHECK(!(limit == model::Limit{}), "an empty limit of {}", resource);
  }
  return 0;
}
