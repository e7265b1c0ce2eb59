#include "clusters/kubernetes/event_watch.h"

#include <mutex>
#include <utility>

#include "kube/reflector.h"

namespace muster::clusters {

namespace {

constexpr std::size_t waiting_most = 10'000;  // more are dropped: nothing is decided by them
constexpr Duration patience = seconds(10);    // with objects that are not known yet
constexpr Duration look_pause = seconds(2);   // between two looks for them

model::PodNote note_of(const EventSight& event, ports::Attempt attempt) {
  return {.job = std::move(attempt.job),
          .attempt = attempt.number,
          .at = event.at,
          .key = event.uid,
          .object = event.kind + " " + event.name,
          .reason = event.reason,
          .message = event.message,
          .is_warning = event.is_warning};
}

}  // namespace

class EventWatch::Sink : public kube::ObjectSink {
 public:
  explicit Sink(std::function<void()> on_change) : on_change_(std::move(on_change)) {}

  void begin_list() override {}
  void upsert(const boost::json::value& object) override {
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.size() >= waiting_most) return;
      waiting_.push_back(event_sight_of(object));
    }
    on_change_();
  }
  void end_list() override {}
  void remove(const boost::json::value&) override {}
  void failed(const kube::ApiError&, int) override {}
  void recovered() override {}

  std::vector<EventSight> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(waiting_, {});
  }

 private:
  const std::function<void()> on_change_;
  std::mutex mutex_;
  std::vector<EventSight> waiting_;  // guarded by mutex_
};

struct EventWatch::Core {
  Core(kube::Client& client, kube::ReflectorOptions options, std::function<void()> on_change)
      : sink(std::make_shared<Sink>(std::move(on_change))),
        reflector(client, std::move(options), sink) {}
  const std::shared_ptr<Sink> sink;
  kube::Reflector reflector;
};

EventWatch::EventWatch(kube::Client& client, const std::string& ns,
                       std::function<void()> on_change) {
  kube::ReflectorOptions options;
  options.resource = kube::resources::events();
  options.ns = ns;
  options.field_selector = worth_telling_selector();
  options.backoff_max = minutes(5);  // of those who may not read them
  core_ = std::make_unique<Core>(client, std::move(options), std::move(on_change));
}

EventWatch::~EventWatch() { core_->reflector.stop(); }

void EventWatch::tell(const OwnerOf& owner_of, ports::PodNotes& notes, Time now) {
  const auto is_told = [&](const EventSight& event) {
    auto attempt = owner_of(event);
    if (attempt) notes.note(note_of(event, std::move(*attempt)));
    return attempt.has_value();
  };
  if (now >= look_again_) {
    std::erase_if(untold_,
                  [&](const Untold& one) { return is_told(one.event) || now >= one.until; });
    look_again_ = now + look_pause;
  }
  for (EventSight& event : core_->sink->take()) {
    if (!is_told(event) && untold_.size() < waiting_most)
      untold_.push_back({std::move(event), now + patience});
  }
}

}  // namespace muster::clusters
