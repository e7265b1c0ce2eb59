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
constexpr Duration sink_pause = milliseconds(100);    // after the sink refused
constexpr Duration turn_pause = milliseconds(100);    // until a node may be asked
constexpr Duration settle_pause = milliseconds(100);  // between two looks at the end of a log
constexpr Duration empty_pause = milliseconds(500);   // of one that never brought a line
constexpr Duration idle_most = minutes(10);           // of a followed log: then it is begun anew
constexpr Duration read_within = seconds(5);          // the next bytes of one that ended

/// The log is not there, or not for us: asking again changes nothing.
bool is_final(const kube::ApiError& error) {
  return error.code == 403 || error.code == 404 || error.code == 405;
}

}  // namespace

/// What the client's thread leaves for ours.
struct PodLogs::Stream {
  std::uint64_t follow = 0;
  std::mutex mutex;
  std::string bytes;                        // guarded by mutex, as all that follows
  bool is_told = false;                     // it is among the arrivals
  bool is_open = false;                     // the server has the log
  bool is_cut = false;                      // by us: too much waits
  std::optional<kube::Reply<Ok>> end = {};  // nothing more comes
};

/// Which streams have something for us.
struct PodLogs::Arrivals {
  std::mutex mutex;
  std::vector<std::shared_ptr<Stream>> streams;  // guarded by mutex

  /// Under the stream's mutex.
  void tell(const std::shared_ptr<Stream>& stream) {
    if (std::exchange(stream->is_told, true)) return;
    const std::lock_guard lock(mutex);
    streams.push_back(stream);
  }
  std::vector<std::shared_ptr<Stream>> take() {
    const std::lock_guard lock(mutex);
    return std::exchange(streams, {});
  }
};

struct PodLogs::Follow {
  std::uint64_t number = 0;
  ports::Attempt attempt;
  ports::PodOutput output;
  std::string ns;
  std::string pod;
  NodeState* node = nullptr;
  std::string container;
  std::optional<PodLogReader> reader = {};
  std::vector<ports::OutputChunk> chunks = {};  // not taken by the sink yet
  std::shared_ptr<Stream> stream = {};
  kube::Client::Call call = {};
  // Of the stream, the last one if there is none:
  bool is_followed = false;   // it goes on until the container ends
  bool is_question = false;   // only read, to find out whether the node answers
  bool is_after_end = false;  // begun when the container had ended
  bool has_news = false;      // it brought lines
  bool was_whole = false;     // it came to its end
  // Of all streams:
  bool has_lines = false;
  int empty_reads = 0;     // from the beginning to the end, after the container had ended
  bool has_ended = false;  // the container
  bool is_gone = false;    // the pod
  bool is_ending = false;  // nothing more is read, but the sink has not taken all
  bool is_done = false;
  bool is_over = false;  // both, and counted
  Time end_by;           // of a container that ended
  Time not_before;
  Duration pause = pause_min;
  Line line = Line::None;
  Time due = Time::never();
};

PodLogs::PodLogs(kube::Client& client, PodLogOptions options, ports::LogSink& sink,
                 std::function<void()> wake)
    : client_(client),
      options_(std::move(options)),
      sink_(sink),
      wake_(std::move(wake)),
      arrivals_(std::make_shared<Arrivals>()) {}
PodLogs::~PodLogs() {
  for (const auto& [number, follow] : follows_) follow->call.cancel();
}

void PodLogs::look(const ports::Attempt& attempt, const std::vector<PodSight>& pods, Time now) {
  std::set<std::string> there;
  for (const PodSight& pod : pods) {
    there.insert(pod.uid);
    if (!pod.output.has_begun) continue;
    std::unique_ptr<Follow>& follow = attempts_[attempt].follows[pod.uid];
    if (!follow) {
      follow = std::make_unique<Follow>();
      follow->number = ++last_number_;
      follow->attempt = attempt;
      follow->output = {attempt.job, attempt.number, pod.output.rank};
      follow->ns = pod.ns;
      follow->pod = pod.name;
      follow->node = &nodes_[pod.node];
      ++follow->node->follows;
      follow->container = pod.output.container;
      follows_.emplace(follow->number, follow.get());
      look_at(*follow, now);
    }
    if (pod.output.has_ended && !std::exchange(follow->has_ended, true)) {
      follow->end_by = now + options_.end_within;
      follow->not_before = now;
      if (!follow->is_done) ++endings_;
      look_at(*follow, now);
    }
  }
  const auto at = attempts_.find(attempt);
  if (at == attempts_.end()) return;
  for (auto& [uid, follow] : at->second.follows) {
    if (there.contains(uid) || std::exchange(follow->is_gone, true)) continue;
    look_at(*follow, now);
  }
}

void PodLogs::pass(Time now) {
  for (const auto& stream : arrivals_->take()) {
    {
      const std::lock_guard lock(stream->mutex);
      stream->is_told = false;
    }
    const auto found = follows_.find(stream->follow);
    if (found != follows_.end()) tend(*found->second, now);
  }
  while (!due_.empty() && due_.begin()->first <= now) {
    Follow& follow = *follows_.at(due_.begin()->second);
    look_at(follow, Time::never());
    tend(follow, now);
  }
  begin_waiting(now);
}

/// One log, which has changed or is due.
void PodLogs::tend(Follow& follow, Time now) {
  if (!follow.is_done) {
    if (follow.stream) take_bytes(follow);
    if (follow.stream) take_end(follow, now);
    if (follow.stream && follow.is_followed && follow.has_ended && now >= follow.end_by) {
      follow.call.cancel();  // nobody told this stream that it is over
    }
    if (!follow.is_done && !follow.stream && hand_over(follow)) {
      if (follow.is_ending || follow.is_gone || is_whole(follow)) finish(follow);
    }
  }
  plan(follow, now);
}

/// When it is to be looked at again, unless its stream brings something before.
void PodLogs::plan(Follow& follow, Time now) {
  if (follow.is_done) {
    follow.line = Line::None;
    look_at(follow, Time::never());
    if (!follow.is_gone || std::exchange(follow.is_over, true)) return;
    Gang& gang = attempts_.at(follow.attempt);
    if (++gang.over == gang.follows.size()) forget(follow.attempt);
    return;
  }
  if (!follow.chunks.empty() || follow.is_ending) return look_at(follow, now + sink_pause);
  if (follow.stream) {
    const bool has_limit = follow.is_followed && follow.has_ended && now < follow.end_by;
    return look_at(follow, has_limit ? follow.end_by : Time::never());
  }
  if (now < follow.not_before) return look_at(follow, follow.not_before);
  look_at(follow, Time::never());
  join_line(follow);
}

void PodLogs::look_at(Follow& follow, Time at) {
  if (follow.due == at) return;
  if (!follow.due.is_never()) due_.erase({follow.due, follow.number});
  follow.due = at;
  if (!at.is_never()) due_.emplace(at, follow.number);
}

void PodLogs::forget(const ports::Attempt& attempt) {
  const auto gang = attempts_.extract(attempt);
  for (const auto& [uid, follow] : gang.mapped().follows) {
    --follow->node->follows;
    follows_.erase(follow->number);
  }
}

void PodLogs::forget_nodes(const std::function<bool(const std::string&)>& is_gone) {
  std::set<const NodeState*> gone;
  for (const auto& [name, node] : nodes_) {
    if (node.follows == 0 && is_gone(name)) gone.insert(&node);
  }
  if (gone.empty()) return;
  const auto is_of_them = [&](const Waiting& one) { return gone.contains(one.node); };
  std::erase_if(ended_line_, is_of_them);
  std::erase_if(running_line_, is_of_them);
  std::erase_if(nodes_due_, [&](const auto& due) { return gone.contains(due.second); });
  std::erase_if(nodes_, [&](const auto& one) { return gone.contains(&one.second); });
}

bool PodLogs::is_complete(const ports::Attempt& attempt) const {
  const auto at = attempts_.find(attempt);
  return at == attempts_.end() ||
         std::all_of(at->second.follows.begin(), at->second.follows.end(),
                     [](const auto& one) { return one.second->is_done || !one.second->has_ended; });
}

// ----------------------------------------------------------------------------------------------
// one log

void PodLogs::take_bytes(Follow& follow) {
  if (!hand_over(follow)) return;  // the rest waits in the stream, which is cut if it is too much
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
  follow.has_lines |= follow.has_news;
  hand_over(follow);
}

/// A container has ended before the last of its output is in the log, and a log that is followed
/// may end there: it is whole when it is read to its end and has nothing new. Of one without a line
/// nothing tells whether it was only late: it is read twice.
bool PodLogs::is_whole(const Follow& follow) {
  return follow.is_after_end && follow.was_whole && !follow.has_news &&
         (follow.has_lines || follow.empty_reads > 1);
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
  bool is_open = false;
  {
    const std::lock_guard lock(follow.stream->mutex);
    is_open = follow.stream->is_open;
    is_cut = follow.stream->is_cut;
    if (follow.stream->bytes.empty()) end.swap(follow.stream->end);
  }
  if (is_open) node_answered(*follow.node);
  if (!end) return;
  follow.stream.reset();
  --(follow.is_followed ? following_ : reading_);
  if (follow.is_question) follow.node->is_asked = false;
  if (!*end && !is_cut) return take_failure(follow, end->error(), now);
  // What a running container wrote since is not in a log that was only read.
  follow.was_whole = !is_cut && (follow.is_followed || follow.has_ended);
  const bool is_empty = follow.is_after_end && follow.was_whole && !follow.has_lines;
  if (is_empty) ++follow.empty_reads;
  const bool goes_on = is_cut || (follow.is_question && !follow.has_ended);
  follow.not_before = now + (goes_on              ? Duration{0}
                             : is_empty           ? empty_pause
                             : follow.has_ended   ? settle_pause
                             : follow.is_followed ? seconds(1)
                                                  : options_.read_again);
}

void PodLogs::take_failure(Follow& follow, const kube::ApiError& error, Time now) {
  NodeState& node = *follow.node;
  const bool is_of_node = !error.is_cancelled && !is_final(error);
  if (!node.has_answered && is_of_node) node.not_before = now + options_.node_pause;
  if (!node.has_answered && follow.is_question) ask_node_at(node, std::max(now, node.not_before));
  if (error.is_cancelled) return;
  if (is_final(error) || follow.is_gone) return give_up(follow, error.message, now);
  const bool is_hopeless = !node.has_answered || now >= follow.end_by;
  if (follow.has_ended && is_hopeless) return give_up(follow, error.message, now);
  follow.not_before = now + follow.pause;
  follow.pause = std::min(follow.pause + follow.pause, follow.has_ended ? seconds(2) : pause_max);
}

void PodLogs::give_up(Follow& follow, const std::string& why, Time now) {
  const std::string text = fmt::format("[the output of pod {} could not be read: {}]\n", follow.pod,
                                       why.substr(0, why.find('\n')));
  follow.chunks.push_back(follow.reader->note(text, now));
  follow.was_whole = false;
  finish(follow);
}

void PodLogs::finish(Follow& follow) {
  follow.is_ending = true;
  if (follow.was_whole) follow.reader->end_log(follow.chunks);
  if (!hand_over(follow) || !sink_.finish(follow.output)) return;  // the same again, later
  follow.is_done = true;
  if (follow.has_ended) --endings_;
  follow.reader.reset();
}

// ----------------------------------------------------------------------------------------------
// whose turn it is

void PodLogs::join_line(Follow& follow) {
  const Line which = follow.has_ended ? Line::Ended : Line::Running;
  if (std::exchange(follow.line, which) == which) return;
  (follow.has_ended ? ended_line_ : running_line_).push_back({follow.number, follow.node});
}

/// Null: there is none.
PodLogs::Follow* PodLogs::take_first(std::deque<Waiting>& line, Line which) {
  while (!line.empty()) {
    const Waiting first = line.front();
    line.pop_front();
    const auto found = follows_.find(first.follow);
    if (found != follows_.end() && found->second->line == which) {
      found->second->line = Line::None;
      return found->second;
    }
    // It may have been the one to ask its node: another does it.
    if (which == Line::Running && !first.node->has_answered && !first.node->is_asked)
      ask_node_at(*first.node, first.node->not_before);
  }
  return nullptr;
}

void PodLogs::begin_waiting(Time now) {
  while (reading_ < options_.reads_most) {
    Follow* follow = take_first(ended_line_, Line::Ended);
    if (follow == nullptr) break;
    begin(*follow, false, now);
  }
  while (!nodes_due_.empty() && nodes_due_.begin()->first <= now) {
    NodeState& node = *nodes_due_.begin()->second;
    nodes_due_.erase(nodes_due_.begin());
    if (Follow* follow = take_first(node.line, Line::Node)) join_line(*follow);
  }
  begin_running(now);
}

bool PodLogs::may_ask(const NodeState& node, Time now) const {
  return !node.is_asked && now >= node.not_before && reading_ < options_.reads_most;
}

void PodLogs::begin_running(Time now) {
  const bool is_busy = client_.waiting() > 0;
  if (is_busy && now < busy_until_) return;
  std::size_t begun = 0;
  while (following_ < options_.follows_most || reading_ < options_.reads_most) {
    if (is_busy && begun == options_.busy_begins) break;
    Follow* follow = take_first(running_line_, Line::Running);
    if (follow == nullptr) break;
    NodeState& node = *follow->node;
    if (!node.has_answered && !may_ask(node, now)) {
      follow->line = Line::Node;
      node.line.push_back({follow->number, &node});
      if (!node.is_asked) ask_node_at(node, std::max(node.not_before, now + turn_pause));
      continue;
    }
    ++begun;
    begin(*follow, !node.has_answered, now);
  }
  if (is_busy && begun > 0) busy_until_ = now + options_.busy_pause;
}

void PodLogs::node_answered(NodeState& node) {
  if (std::exchange(node.has_answered, true)) return;
  nodes_due_.erase({node.not_before, &node});
  node.not_before = {};
  while (Follow* follow = take_first(node.line, Line::Node)) join_line(*follow);
}

void PodLogs::ask_node_at(NodeState& node, Time at) {
  if (!node.line.empty()) nodes_due_.emplace(at, &node);
}

/// Of a node that has never answered a log is read, not followed: one that is followed is silent
/// until its container writes, and nobody knows why.
void PodLogs::begin(Follow& follow, bool is_question, Time now) {
  if (!follow.reader) {
    const auto kept = sink_.last_kept(follow.output);
    if (!kept) {
      follow.not_before = now + seconds(1);
      if (is_question) ask_node_at(*follow.node, follow.not_before);
      return plan(follow, now);
    }
    follow.reader.emplace(*kept);
    follow.has_lines = !follow.reader->since().empty();
  }
  follow.is_question = is_question;
  if (is_question) follow.node->is_asked = true;
  follow.is_followed = !is_question && !follow.has_ended && following_ < options_.follows_most;
  follow.is_after_end = follow.has_ended;
  follow.was_whole = false;
  follow.has_news = false;
  ++(follow.is_followed ? following_ : reading_);
  follow.reader->begin_stream();
  begin_stream(follow);
  plan(follow, now);
}

void PodLogs::begin_stream(Follow& follow) {
  kube::LogOptions options;
  options.container = follow.container;
  options.follow = follow.is_followed;
  options.timestamps = true;
  options.since_time = follow.reader->since();
  auto request = kube::log_request(follow.ns, follow.pod, options);
  request.may_retry = false;
  request.idle_timeout = follow.is_followed ? idle_most : read_within;
  const auto stream = std::make_shared<Stream>();
  stream->follow = follow.number;
  follow.stream = stream;
  const auto tell = [stream, arrivals = arrivals_, wake = wake_](const auto& change) {
    {
      const std::lock_guard lock(stream->mutex);
      change();
      arrivals->tell(stream);
    }
    wake();
  };
  follow.call = client_.stream_later(
      request,
      [stream, tell](std::string_view bytes) {
        bool is_too_much = false;
        tell([&] {
          is_too_much = stream->bytes.size() > waiting_most;
          stream->is_cut |= is_too_much;
          if (!is_too_much) stream->bytes += bytes;
        });
        return !is_too_much;
      },
      [stream, tell](kube::Reply<Ok> end) { tell([&] { stream->end = std::move(end); }); },
      [stream, tell] { tell([&] { stream->is_open = true; }); });
}

}  // namespace muster::clusters
