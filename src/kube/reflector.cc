#include "kube/reflector.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <random>
#include <utility>

#include "base/prng.h"
#include "kube/json.h"
#include "kube/watch.h"

namespace muster::kube {

namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

}  // namespace

class Reflector::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(Client& client, ReflectorOptions options, std::shared_ptr<ObjectSink> sink)
      : client_(client),
        options_(std::move(options)),
        sink_(std::move(sink)),
        jitter_(std::random_device{}()) {}

  void start() { client_.run_after({}, guarded(&Core::list)); }

  void stop() {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    call_.cancel();
  }

  ReflectorStats stats() const {
    const std::lock_guard lock(shown_mutex_);
    return shown_;
  }

 private:
  using Lock = std::lock_guard<std::recursive_mutex>;

  /// A step for later: not taken when it was stopped in between.
  std::function<void(bool)> guarded(void (Core::*step)()) {
    return [self = shared_from_this(), step](bool is_stopping) {
      const Lock lock(self->mutex_);
      if (is_stopping) self->is_stopped_ = true;
      if (!self->is_stopped_) (self.get()->*step)();
    };
  }

  void show_stats() {
    stats_.resource_version = version_;
    const std::lock_guard lock(shown_mutex_);
    shown_ = stats_;
  }

  // --- listing

  void list() {
    ++stats_.lists;
    show_stats();
    continue_token_.clear();
    sink_->begin_list();
    if (!is_stopped_) next_page();
  }

  void next_page() {
    const ListOptions which{.label_selector = options_.label_selector,
                            .field_selector = options_.field_selector,
                            .limit = is_unpaged_ ? 0 : options_.page,
                            .continue_token = continue_token_};
    call_ = client_.send_later(
        list_request(options_.resource, options_.ns, which),
        [self = shared_from_this()](Reply<json::value> page) { self->take_page(std::move(page)); });
  }

  void take_page(Reply<json::value> page) {
    const Lock lock(mutex_);
    take_objects();  // of the page before
    if (is_stopped_) return;
    if (!page) {
      // The token outlived what the server keeps: once more, in one piece, which cannot expire.
      is_unpaged_ = page.error().is_gone() && !continue_token_.empty();
      return is_unpaged_ ? list() : fail(page.error(), &Core::list);
    }
    contact();
    version_ = version_of(*page);
    continue_token_ = text_at(*page, {"metadata", "continue"});
    page_.emplace(std::move(*page));
    if (!continue_token_.empty()) {
      // While the server reads the next page, this one is taken in.
      next_page();
      return client_.run_after({}, guarded(&Core::take_objects));
    }
    take_objects();
    if (is_stopped_) return;
    is_unpaged_ = false;
    sink_->end_list();
    if (!is_stopped_) watch();
  }

  void take_objects() {
    std::optional<json::value> page;
    page.swap(page_);
    if (!page || is_stopped_) return;
    for (const json::value& object : items_at(*page, {"items"})) {
      sink_->upsert(object);
      if (is_stopped_) return;
    }
  }

  // --- watching

  void watch() {
    ++stats_.watches;
    show_stats();
    watch_began_ = Clock::now();
    events_before_ = stats_.events + stats_.bookmarks;
    decoder_ = std::make_unique<WatchDecoder>(
        [this](const WatchEvent& event) { return take_event(event); }, options_.message);
    const WatchOptions which{.label_selector = options_.label_selector,
                             .field_selector = options_.field_selector,
                             .resource_version = version_,
                             .timeout = jittered(options_.watch_timeout)};
    ApiRequest request = watch_request(options_.resource, options_.ns, which);
    request.idle_timeout = options_.idle_timeout;
    if (options_.message != nullptr)
      request.accept = fmt::format("{};stream=watch,application/json", protobuf_media_type);
    call_ = client_.stream_later(
        request,
        [self = shared_from_this()](std::string_view bytes) {
          const Lock lock(self->mutex_);
          return !self->is_stopped_ && self->decoder_->feed(bytes);
        },
        [self = shared_from_this()](const Reply<Ok>& end) { self->end_watch(end); },
        [self = shared_from_this()] {
          const Lock lock(self->mutex_);
          if (!self->is_stopped_) self->contact();
        });
  }

  bool take_event(const WatchEvent& event) {
    const std::string_view version = version_of(*event.object);
    switch (event.kind) {
      case WatchEvent::Kind::Added:
      case WatchEvent::Kind::Modified:
        ++stats_.events;
        sink_->upsert(*event.object);
        break;
      case WatchEvent::Kind::Deleted:
        ++stats_.events;
        sink_->remove(*event.object);
        break;
      case WatchEvent::Kind::Bookmark:
        ++stats_.bookmarks;
        break;
    }
    if (!version.empty()) version_ = version;
    gone_in_a_row_ = 0;
    show_stats();
    return !is_stopped_;
  }

  void end_watch(const Reply<Ok>& end) {
    const Lock lock(mutex_);
    if (is_stopped_) return;
    const std::optional<ApiError> told = decoder_->error();
    if (told || !end) {
      const ApiError& error = told ? *told : end.error();
      if (error.is_gone()) return list_anew();
      const bool may_resume = error.code == 0 || error.code == 429 || error.code >= 500;
      const bool must_list = error.is_from_the_future() || !may_resume;
      return fail(error, must_list ? &Core::list : &Core::watch);
    }
    // Ended in good order. One that ends at once, again and again, must not become a busy loop.
    const bool was_short = Clock::now() - watch_began_ < std::chrono::seconds(1) &&
                           events_before_ == stats_.events + stats_.bookmarks;
    if (was_short) return client_.run_after(jittered(options_.backoff_min), guarded(&Core::watch));
    watch();
  }

  /// Its place is forgotten: no failure, only older than what the server keeps. A server that has
  /// forgotten at once what it listed just now is given time.
  void list_anew() {
    if (gone_in_a_row_++ == 0) return list();
    client_.run_after(jittered(backoff(gone_in_a_row_ - 1)), guarded(&Core::list));
  }

  // --- failing

  void contact() {
    if (std::exchange(failures_, 0) > 0) sink_->recovered();
  }

  void fail(const ApiError& error, void (Core::*next)()) {
    if (error.is_cancelled) {
      is_stopped_ = true;  // the client goes away
      return;
    }
    ++failures_;
    sink_->failed(error, failures_);
    if (is_stopped_) return;
    Duration wait = backoff(failures_);
    if (error.retry_after)
      wait = std::max(wait, std::min(*error.retry_after, options_.retry_after_max));
    client_.run_after(jittered(wait), guarded(next));
  }

  Duration backoff(int in_a_row) const {
    const int doublings = std::min(in_a_row - 1, 10);
    return {std::min(options_.backoff_min.ms << doublings, options_.backoff_max.ms)};
  }

  /// Between three quarters of it and all, so that many do not come at once.
  Duration jittered(Duration d) { return {d.ms - jitter_.between(0, d.ms / 4)}; }

  Client& client_;
  const ReflectorOptions options_;
  const std::shared_ptr<ObjectSink> sink_;

  /// Held while the sink is called, so that stop() means stopped; recursive as the sink may stop.
  mutable std::recursive_mutex mutex_;
  bool is_stopped_ = false;  // guarded by mutex_, as all that follows
  Client::Call call_;
  Prng jitter_;
  ReflectorStats stats_;
  std::string version_;
  std::string continue_token_;
  std::optional<json::value> page_;  // whose objects the sink has not got yet
  bool is_unpaged_ = false;
  int failures_ = 0;
  int gone_in_a_row_ = 0;  // watches that ended with 410, without an event between
  std::unique_ptr<WatchDecoder> decoder_;
  Clock::time_point watch_began_;
  std::uint64_t events_before_ = 0;

  /// Apart from the other, so that who asks never waits for a sink.
  mutable std::mutex shown_mutex_;
  ReflectorStats shown_;  // guarded by shown_mutex_
};

Reflector::Reflector(Client& client, ReflectorOptions options, std::shared_ptr<ObjectSink> sink)
    : core_(std::make_shared<Core>(client, std::move(options), std::move(sink))) {
  core_->start();
}

Reflector::~Reflector() { stop(); }
void Reflector::stop() { core_->stop(); }
ReflectorStats Reflector::stats() const { return core_->stats(); }

}  // namespace muster::kube
