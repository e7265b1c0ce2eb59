#include "api/rest/event_hub.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "net/sse.h"
#include "view/event_json.h"

namespace muster::api {
namespace {

constexpr int readers = 2;
constexpr std::size_t replays_most = 10'000;
constexpr std::size_t notes_most = 10'000;
constexpr std::size_t pending_most = 512 * 1024;  // of a client that reads the past
constexpr std::size_t replay_events = 4096;       // looked at for one client at a time
constexpr std::chrono::milliseconds replay_pause{5};
/// Between two batches: what comes meanwhile goes out together, because each send to each listener
/// costs the same, however little it is. The longer the more there are who get everything.
constexpr std::chrono::milliseconds pause_least{10};
constexpr std::chrono::milliseconds pause_most{50};
constexpr std::size_t joined_bytes = 64 * 1024;  // of events in one send

}  // namespace

EventHub::EventHub(const ports::Store& store, Options options)
    : store_(store), options_(options), last_(store.last()), readers_(readers, replays_most) {
  thread_ = std::thread([this] { run(); });
}

EventHub::~EventHub() { stop(); }

void EventHub::stop() {
  {
    const std::lock_guard lock(queue_mutex_);
    stopping_ = true;
  }
  queued_.notify_all();
  readers_.stop();
  if (thread_.joinable()) thread_.join();
}

void EventHub::publish(const control::StepReport& report, const sched::World& world) {
  if (report.events.empty() && report.decisions.empty()) return;
  const auto state_of = [&](const model::EventBody& body) -> std::optional<model::JobState> {
    if (const auto state = view::state_after(body)) return state;
    const std::string* job = model::job_of(body);
    if (job == nullptr) return std::nullopt;
    const sched::JobSlot slot = world.find_job(*job);
    if (slot.is_none()) return std::nullopt;
    return world.job(slot).state;
  };
  std::size_t books = 0;
  for (const model::Event& event : report.events) books += control::is_sight(event.body) ? 0 : 1;
  std::uint64_t sequence = report.events_sequence - books;
  const std::lock_guard lock(queue_mutex_);
  if (queue_.size() + report.events.size() + report.decisions.size() > options_.queued_most) {
    overflowed_ = true;
    wake();
    return;
  }
  for (const model::Event& event : report.events) {
    const bool sight = control::is_sight(event.body);
    if (!sight) ++sequence;
    if (view::event_kind(event.body).empty()) continue;
    queue_.push_back({sequence, sight, state_of(event.body), event});
  }
  for (const model::Decision& decision : report.decisions) {
    const model::EventBody body = model::to_event(decision);
    queue_.push_back({++sequence, false, state_of(body), {report.now, body}});
  }
  wake();
}

/// In a flood some are not sent: they can be asked for.
void EventHub::tell(const model::PodNote& note) {
  const std::lock_guard lock(queue_mutex_);
  if (notes_.size() < notes_most) notes_.push_back(note);
  wake();
}

/// While it waits for the next batch nobody need tell it that there is more.
void EventHub::wake() {
  if (is_idle_) queued_.notify_one();
}

std::chrono::milliseconds EventHub::pause() const {
  const std::lock_guard lock(mutex_);
  const std::chrono::milliseconds wanted(all_.size() / 2);
  return std::clamp(wanted, pause_least, pause_most);
}

void EventHub::run() {
  if (options_.begun) options_.begun();
  bool replays = false;
  auto next_batch = std::chrono::steady_clock::now();
  auto next_look = next_batch + options_.look_pause;
  while (true) {
    std::deque<Published> batch;
    std::deque<model::PodNote> notes;
    bool overflowed = false;
    {
      std::unique_lock lock(queue_mutex_);
      const auto something = [this] {
        return stopping_ || overflowed_ || has_replays_ || !queue_.empty() || !notes_.empty();
      };
      is_idle_ = true;
      if (replays) {
        queued_.wait_for(lock, replay_pause, something);
      } else {
        queued_.wait_until(lock, next_look, something);
      }
      is_idle_ = false;
      queued_.wait_until(lock, next_batch, [this] { return stopping_; });
      if (stopping_) return;
      has_replays_ = false;
      batch.swap(queue_);
      notes.swap(notes_);
      std::swap(overflowed, overflowed_);
    }
    next_batch = std::chrono::steady_clock::now() + pause();
    send(batch);
    send(notes);
    if (overflowed) {  // there is a gap now: everybody resumes over the journal
      const std::lock_guard lock(mutex_);
      all_.clear();
      by_job_.clear();
      kept_.clear();
    }
    replays = send_replays();
    if (std::chrono::steady_clock::now() >= next_look) {
      forget_gone();
      next_look = std::chrono::steady_clock::now() + options_.look_pause;
    }
  }
}

void EventHub::forget_gone() {
  const auto is_gone = [](const Listener& listener) { return !listener.stream.is_open(); };
  const std::lock_guard lock(mutex_);
  std::erase_if(all_, is_gone);
  for (auto& [job, listeners] : by_job_) std::erase_if(listeners, is_gone);
  std::erase_if(by_job_, [](const auto& item) { return item.second.empty(); });
}

void EventHub::send(const std::deque<Published>& batch) {
  std::vector<Kept> all;
  all.reserve(batch.size());
  for (const Published& published : batch)
    all.push_back(kept_of(published.event, published.sequence, published.state));
  const std::lock_guard lock(mutex_);
  send(all);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (batch[i].is_sight) continue;
    if (batch[i].sequence != last_ + 1) kept_.clear();
    last_ = batch[i].sequence;
    kept_.push_back(std::move(all[i]));
    if (kept_.size() > options_.kept) kept_.pop_front();
  }
}

void EventHub::send(const std::deque<model::PodNote>& notes) {
  std::vector<Kept> all;
  const std::lock_guard lock(mutex_);
  for (const model::PodNote& note : notes) {
    all.push_back({last_, note.job, view::note_kind,
                   net::share(net::to_text(net::SseEvent{fmt::format("{}", last_),
                                                         std::string(view::note_kind),
                                                         view::note_json(note, last_)}))});
  }
  send(all);
}

bool EventHub::send_replays() {
  const std::lock_guard lock(mutex_);
  std::erase_if(replays_, [this](Replay& replay) {
    const Caught caught = send_more(replay);
    if (caught == Caught::Up) attach(replay.what, replay.stream);
    return caught != Caught::NotYet;
  });
  return !replays_.empty();
}

/// If memory does not go back so far any more the stream ends, and the client resumes.
EventHub::Caught EventHub::send_more(Replay& replay) const {
  if (!replay.stream.is_open()) return Caught::Gone;
  if (replay.next < first_kept()) {
    replay.stream.finish();
    return Caught::Gone;
  }
  for (std::size_t looked = 0; replay.next <= last_; ++looked, ++replay.next) {
    if (looked == replay_events || replay.stream.pending_bytes() > pending_most)
      return Caught::NotYet;
    const Kept& kept = kept_[replay.next - first_kept()];
    if (wants(replay.what.filter, kept) && !replay.stream.send(kept.bytes)) return Caught::Gone;
  }
  return Caught::Up;
}

void EventHub::attach(const Listen& what, const net::Stream& stream) {
  if (!what.follow) return stream.finish();
  auto& listeners = what.filter.job.empty() ? all_ : by_job_[what.filter.job];
  listeners.push_back({what.filter, stream});
}

EventHub::Kept EventHub::kept_of(const model::Event& event, std::uint64_t sequence,
                                 std::optional<model::JobState> state) {
  const std::string* job = model::job_of(event.body);
  const std::string_view kind = view::event_kind(event.body);
  return {sequence, job == nullptr ? "" : *job, kind,
          net::share(net::to_text(net::SseEvent{fmt::format("{}", sequence), std::string(kind),
                                                view::event_json(event, sequence, state)}))};
}

bool EventHub::wants(const EventFilter& filter, const Kept& kept) {
  return (filter.job.empty() || filter.job == kept.job) &&
         (filter.kinds.empty() || filter.kinds.contains(std::string(kept.kind)));
}

void EventHub::send(const std::vector<Kept>& batch) {
  if (batch.empty()) return;
  std::vector<net::SharedBytes> joined;  // for those who want everything
  std::string part;
  for (const Kept& kept : batch) {
    if (!part.empty() && part.size() + kept.bytes->size() > joined_bytes)
      joined.push_back(net::share(std::exchange(part, {})));
    part += *kept.bytes;
  }
  joined.push_back(net::share(std::move(part)));
  const auto is_gone = [&](const Listener& listener) {
    for (const net::SharedBytes& bytes : joined) {
      if (!listener.stream.send(bytes)) return true;
    }
    return false;
  };
  const auto is_gone_of_some = [](const Listener& listener, const Kept& kept) {
    return wants(listener.filter, kept) ? !listener.stream.send(kept.bytes)
                                        : !listener.stream.is_open();
  };
  std::erase_if(all_, [&](const Listener& listener) {
    if (listener.filter.kinds.empty()) return is_gone(listener);
    return std::any_of(batch.begin(), batch.end(),
                       [&](const Kept& kept) { return is_gone_of_some(listener, kept); });
  });
  for (const Kept& kept : batch) {
    const auto it = by_job_.find(kept.job);
    if (it == by_job_.end()) continue;
    std::erase_if(it->second,
                  [&](const Listener& listener) { return is_gone_of_some(listener, kept); });
    if (it->second.empty()) by_job_.erase(it);
  }
}

void EventHub::listen(Listen what, std::function<net::Stream()> begin_stream,
                      std::function<void(const Error&)> refuse) {
  std::uint64_t first_kept = 0;
  std::uint64_t from = 0;
  {
    const std::lock_guard lock(mutex_);
    from = what.from.value_or(last_ + 1);
    first_kept = this->first_kept();
  }
  if (from >= first_kept) {
    begin(what, from, begin_stream());
    return;
  }
  const bool taken = readers_.post([this, what = std::move(what), from, first_kept,
                                    begin_stream = std::move(begin_stream), refuse] {
    // Whether the journal goes back so far is known with its first entry.
    std::optional<net::Stream> stream;
    const auto each = [&](const ports::Entry& entry) {
      if (!stream) stream.emplace(begin_stream());
      if (entry.sequence >= first_kept || !stream->is_open()) return;
      const Kept kept = kept_of(entry.event, entry.sequence, view::state_after(entry.event.body));
      if (wants(what.filter, kept)) stream->send(kept.bytes);
      while (stream->pending_bytes() > pending_most && stream->is_open())
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    };
    const Status read = store_.read(from, each);
    if (!read && !stream) {
      refuse(read.error());
      return;
    }
    if (!read) return;
    begin(what, first_kept, stream ? *stream : begin_stream());
  });
  if (!taken) refuse({Fault::Unavailable, "too many read the past of the journal: come again"});
}

/// From memory, and from then on live.
void EventHub::begin(const Listen& what, std::uint64_t from, const net::Stream& stream) {
  {
    const std::lock_guard lock(mutex_);
    if (from > last_) return attach(what, stream);
    replays_.push_back({what, stream, from});
  }
  const std::lock_guard lock(queue_mutex_);
  has_replays_ = true;
  wake();
}

std::size_t EventHub::listeners() const {
  const std::lock_guard lock(mutex_);
  std::size_t count = all_.size() + replays_.size();
  for (const auto& [job, listeners] : by_job_) count += listeners.size();
  return count;
}

}  // namespace muster::api
