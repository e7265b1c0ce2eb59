// Any events, in any order: each is taken or refused as a whole. The world is sound after every
// one, the same event again changes nothing, plans can be made and taken, and what the journal has
// of it folds to the same books by way of a snapshot.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "control/loop.h"
#include "sched/books.h"
#include "sched/plan.h"
#include "store/book_codec.h"
#include "store/event_codec.h"
#include "tests/fuzz/event_maker.h"

namespace {

using namespace muster;

class Life {
 public:
  explicit Life(fuzz::Bytes bytes) : make_(bytes, world_) {}

  void live() {
    if (make_.one_in(2)) begin();
    while (!make_.is_done()) {
      if (make_.one_in(6)) {
        plan();
      } else {
        happens(make_.next());
      }
    }
    fold_books();
  }

 private:
  /// A small fleet and two queues: what follows then has something to act on.
  void begin() {
    happens({make_.now(), model::ClusterSet{{"a", {}, {}, minutes(5)}}});
    for (const char* name : {"n1", "n2"}) {
      model::NodeSpec node;
      node.name = name;
      node.labels["rack"] = "r1";
      node.allocatable.cpu.v = 8000;
      node.allocatable.memory.v = 8000;
      node.gpu_count = 4;
      node.gpu_type = "T4";
      happens({make_.now(), model::NodeSeen{"a", node}});
    }
    for (const char* name : {"q", "r"}) {
      model::QueueSpec queue;
      queue.name = name;
      queue.limits["gpu"].guaranteed = 2000;
      happens({make_.now(), model::QueueSet{queue}});
    }
  }

  void happens(const model::Event& made) {
    std::string bytes;
    store::encode(made, bytes);
    std::string_view rest = bytes;
    const Result<model::Event> read = store::decode(rest);
    if (!read) return;  // the journal does not take it
    sched::apply(world_, *read, policy_);
    expect_sound(*read);
    const std::uint64_t once = world_.hash();
    sched::apply(world_, *read, policy_);
    expect_sound(*read);
    MUSTER_CHECK(world_.hash() == once, "event {} twice is not once", read->body.index());
    if (!control::is_sight(read->body)) books_.push_back(*read);
  }

  void expect_sound(const model::Event& event) const {
    const std::string wrong = sched::check(world_);
    MUSTER_CHECK(wrong.empty(), "after event {}: {}", event.body.index(), wrong);
  }

  void plan() {
    const Time now = make_.now();
    const sched::Plan plan = sched::plan(world_, agenda_, policy_, now);
    for (const model::Decision& decision : plan.decisions)
      happens({now, model::to_event(decision)});
  }

  void fold_books() const {
    sched::World whole;
    for (const model::Event& event : books_) sched::apply(whole, event, policy_);
    MUSTER_CHECK(sched::check(whole).empty(), "the books: {}", sched::check(whole));
    sched::BookWriter writer(whole, make_.now());
    sched::BookReader reader;
    while (const auto record = writer.next()) {
      std::string bytes;
      store::encode_book(*record, bytes);
      std::string_view rest = bytes;
      model::BookRecord again;
      Status status = store::decode_book(rest, again);
      MUSTER_CHECK(status.ok(), "{}", status.error().message);
      status = reader.add(again);
      MUSTER_CHECK(status.ok(), "{}", status.error().message);
    }
    const Result<sched::ReadBooks> read = reader.finish();
    MUSTER_CHECK(read.ok(), "{}", read.error().message);
    MUSTER_CHECK(sched::check(read->world).empty(), "a snapshot: {}", sched::check(read->world));
    MUSTER_CHECK(read->world.books_hash() == whole.books_hash(), "a snapshot of another world");
  }

  sched::World world_;
  sched::Agenda agenda_;
  sched::Policy policy_;
  fuzz::EventMaker make_;
  std::vector<model::Event> books_;  // as the journal has them
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Life({data, size}).live();
  return 0;
}
