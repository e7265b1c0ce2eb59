#include "clusters/kubernetes/pod_logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "kube/requests.h"

namespace muster::clusters {
namespace {

constexpr std::size_t waiting_most = 1U << 20;  // bytes of one log
constexpr Duration pause_min = milliseconds(500);
constexpr Duration pause_max = seconds(10);
constexpr Duration settle_pause = milliseconds(100);  // between two looks at the end of a log
constexpr Duration idle_most = minutes(10);           // of a followed log: then it is begun anew
constexpr Duration read_within = seconds(5);          // the next bytes of one that ended

/// The log is not there, or not for us: asking again changes nothing.
bool is_final(const kube::ApiError& error) {
  return error.code == 403 || error.code == 404 || error.code == 405;
}

}  // namespace

/// What the client's thread leaves for ours.
struct PodLogs::Stream {
  std::mutex mutex;
  std::string bytes;                        // guarded by mutex, as all that follows
  bool is_open = false;                     // the server has the log
  bool is_cut = false;                      // by us: too much waits
  std::optional<kube::Reply<Ok>> end = {};  // nothing more comes
};

struct PodLogs::Follow {
  ports::PodOutput output;
  std::string ns;
  std::string pod;
  std::string node;
  std::string container;
  std::optional<PodLogReader> reader = {};
  std::vector<ports::OutputChunk> chunks = {};  // not taken by the sink yet
  std::shared_ptr<Stream> stream = {};
  kube::Client::Call call = {};
  // Of the stream, the last one if there is none:
  bool is_followed = false;   // it goes on until the container ends
  bool is_after_end = false;  // begun when the container had ended
  bool has_news = false;      // it brought lines
  bool was_whole = false;     // it came to its end
  bool has_ended = false;     // the container
  bool is_gone = false;       // the pod
  bool is_done = false;
  Time end_by;  // of a container that ended
  Time not_before;
  Duration pause = pause_min;
};

PodLogs::PodLogs(kube::Client& client, PodLogOptions options, ports::LogSink& sink,
                 std::function<void()> wake)
    : client_(client), options_(std::move(options)), sink_(sink), wake_(std::move(wake)) {}
PodLogs::~PodLogs() {
  for (const auto& [attempt, follows] : attempts_) {
    for (const auto& [uid, follow] : follows) follow->call.cancel();
  }
}

void PodLogs::look(const ports::Attempt& attempt, const std::vector<PodSight>& pods, Time now) {
  std::set<std::string> there;
  for (const PodSight& pod : pods) {
    there.insert(pod.uid);
    if (!pod.output.has_begun) continue;
    std::unique_ptr<Follow>& follow = attempts_[attempt][pod.uid];
    if (!follow) {
      follow = std::make_unique<Follow>();
      follow->output = {attempt.job, attempt.number, pod.output.rank};
      follow->ns = pod.ns;
      follow->pod = pod.name;
      follow->node = pod.node;
      follow->container = pod.output.container;
    }
    if (pod.output.has_ended && !std::exchange(follow->has_ended, true)) {
      follow->end_by = now + options_.end_within;
      follow->not_before = now;
      if (!follow->is_done) ++endings_;
    }
  }
  const auto at = attempts_.find(attempt);
  if (at == attempts_.end()) return;
  for (auto& [uid, follow] : at->second) {
    if (!there.contains(uid)) follow->is_gone = true;
  }
}

void PodLogs::pass(Time now) {
  for (auto at = attempts_.begin(); at != attempts_.end();) {
    bool is_over = true;
    for (auto& [uid, one] : at->second) {
      Follow& follow = *one;
      if (!follow.is_done) {
        if (follow.stream) take_bytes(follow);
        if (follow.stream) take_end(follow, now);
        if (follow.stream && follow.is_followed && follow.has_ended && now >= follow.end_by) {
          follow.call.cancel();  // nobody told this stream that it is over
        }
        if (!follow.is_done && !follow.stream && hand_over(follow)) {
          if (follow.is_gone || is_whole(follow)) finish(follow);
          if (!follow.is_done && may_begin(follow, now)) begin(follow, now);
        }
      }
      is_over = is_over && follow.is_done && follow.is_gone;
    }
    at = is_over ? attempts_.erase(at) : std::next(at);
  }
}

bool PodLogs::is_complete(const ports::Attempt& attempt) const {
  const auto at = attempts_.find(attempt);
  return at == attempts_.end() ||
         std::all_of(at->second.begin(), at->second.end(),
                     [](const auto& one) { return one.second->is_done || !one.second->has_ended; });
}

// ----------------------------------------------------------------------------------------------
// one log

void PodLogs::take_bytes(Follow& follow) {
  std::string bytes;
  {
    const std::lock_guard lock(follow.stream->mutex);
    bytes.swap(follow.stream->bytes);
  }
  if (bytes.empty()) return;
  follow.pause = pause_min;
  const std::size_t before = follow.chunks.size();
  follow.reader->feed(bytes, follow.chunks);
  follow.has_news = follow.has_news || follow.chunks.size() > before;
  hand_over(follow);
}

/// A container has ended before the last of its output is in the log, and a log that is followed
/// may end there: it is whole when it is read to its end and has nothing new.
bool PodLogs::is_whole(const Follow& follow) {
  return follow.is_after_end && follow.was_whole && !follow.has_news;
}

bool PodLogs::hand_over(Follow& follow) {
  if (follow.chunks.empty()) return true;
  if (!sink_.append(follow.output, follow.chunks)) return false;  // the same again, later
  follow.chunks.clear();
  return true;
}

void PodLogs::take_end(Follow& follow, Time now) {
  std::optional<kube::Reply<Ok>> end;
  bool is_cut = false;
  {
    const std::lock_guard lock(follow.stream->mutex);
    if (!follow.stream->end || !follow.stream->bytes.empty()) return;
    end = std::move(follow.stream->end);
    is_cut = follow.stream->is_cut;
    if (follow.stream->is_open) nodes_[follow.node] = {.has_answered = true, .not_before = {}};
  }
  follow.stream.reset();
  --(follow.is_followed ? following_ : reading_);
  if (!*end && !is_cut) return take_failure(follow, end->error(), now);
  // What a running container wrote since is not in a log that was only read.
  follow.was_whole = !is_cut && (follow.is_followed || follow.has_ended);
  follow.not_before = now + (is_cut               ? Duration{0}
                             : follow.has_ended   ? settle_pause
                             : follow.is_followed ? seconds(1)
                                                  : options_.read_again);
}

void PodLogs::take_failure(Follow& follow, const kube::ApiError& error, Time now) {
  if (error.is_cancelled) return;
  if (is_final(error) || follow.is_gone) return give_up(follow, error.message, now);
  NodeState& node = nodes_[follow.node];
  const bool is_hopeless = !node.has_answered || now >= follow.end_by;
  if (follow.has_ended && is_hopeless) return give_up(follow, error.message, now);
  if (!node.has_answered) node.not_before = now + options_.node_pause;
  follow.not_before = now + follow.pause;
  follow.pause = std::min(follow.pause + follow.pause, follow.has_ended ? seconds(2) : pause_max);
}

void PodLogs::give_up(Follow& follow, const std::string& why, Time now) {
  const std::string text = fmt::format("[the output of pod {} could not be read: {}]\n", follow.pod,
                                       why.substr(0, why.find('\n')));
  follow.chunks.push_back(follow.reader->note(text, now));
  hand_over(follow);
  follow.was_whole = false;
  finish(follow);
}

void PodLogs::finish(Follow& follow) {
  if (follow.was_whole) follow.reader->end_log(follow.chunks);
  hand_over(follow);
  follow.is_done = true;
  if (follow.has_ended) --endings_;
  follow.reader.reset();
}

bool PodLogs::may_begin(const Follow& follow, Time now) const {
  if (now < follow.not_before) return false;
  const auto node = nodes_.find(follow.node);
  const bool is_silent = node != nodes_.end() && now < node->second.not_before;
  if (is_silent && !follow.has_ended) return false;
  return reading_ < options_.reads_most ||
         (!follow.has_ended && following_ < options_.follows_most);
}

void PodLogs::begin(Follow& follow, Time now) {
  if (!follow.reader) {
    const auto kept = sink_.last_kept(follow.output);
    if (!kept) {
      follow.not_before = now + seconds(1);
      return;
    }
    follow.reader.emplace(*kept);
  }
  follow.is_followed = !follow.has_ended && following_ < options_.follows_most;
  follow.is_after_end = follow.has_ended;
  follow.was_whole = false;
  follow.has_news = false;
  ++(follow.is_followed ? following_ : reading_);
  follow.reader->begin_stream();
  kube::LogOptions options;
  options.container = follow.container;
  options.follow = follow.is_followed;
  options.timestamps = true;
  options.since_time = follow.reader->since();
  auto request = kube::log_request(follow.ns, follow.pod, options);
  request.may_retry = false;
  request.idle_timeout = follow.is_followed ? idle_most : read_within;
  const auto stream = std::make_shared<Stream>();
  follow.stream = stream;
  follow.call = client_.stream_later(
      request,
      [stream, wake = wake_](std::string_view bytes) {
        {
          const std::lock_guard lock(stream->mutex);
          if (stream->bytes.size() > waiting_most) {
            stream->is_cut = true;
            return false;
          }
          stream->bytes += bytes;
        }
        wake();
        return true;
      },
      [stream, wake = wake_](kube::Reply<Ok> end) {
        {
          const std::lock_guard lock(stream->mutex);
          stream->end = std::move(end);
        }
        wake();
      },
      [stream] {
        const std::lock_guard lock(stream->mutex);
        stream->is_open = true;
      });
}

}  // namespace muster::clusters
