#include "api/rest/exec_routes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <utility>
#include <vector>

#include "api/rest/answers.h"
#include "api/rest/exec_bridge.h"
#include "model/state.h"
#include "net/url.h"
#include "net/websocket.h"
#include "view/state_word.h"

namespace muster::api {
namespace {

constexpr std::int64_t ranks_most = 1'000'000;
constexpr std::size_t detail_bytes = 500;  // of the command in the audit log

/// One of so many at a time; goes back when the last copy is gone.
class Seats {
 public:
  explicit Seats(int most) : most_(most), taken_(std::make_shared<std::atomic<int>>(0)) {}
  /// Null: all are taken.
  std::shared_ptr<void> take() const {
    if (taken_->fetch_add(1) >= most_) {
      taken_->fetch_sub(1);
      return nullptr;
    }
    return {taken_.get(), [taken = taken_](void*) { taken->fetch_sub(1); }};
  }
  int most() const { return most_; }

 private:
  const int most_;
  const std::shared_ptr<std::atomic<int>> taken_;
};

Result<ports::PodCommand> command_of(const net::Request& request) {
  ports::PodCommand command;
  if (Status known = only_query(request, {"pod", "command", "input", "terminal"}); !known)
    return known.error();
  const auto pod = query_int(request, "pod", 0, ranks_most, 0);
  if (!pod) return pod.error();
  const auto input = query_bool(request, "input", false);
  if (!input) return input.error();
  const auto terminal = query_bool(request, "terminal", false);
  if (!terminal) return terminal.error();
  // Of a key that is repeated the request keeps only the last value.
  const std::string_view target = request.target;
  const std::size_t question = target.find('?');
  const auto pairs = net::parse_query(
      question == std::string_view::npos ? std::string_view() : target.substr(question + 1));
  if (!pairs) return pairs.error();
  for (const auto& [key, value] : *pairs) {
    if (key == "command") command.words.push_back(value);
  }
  if (command.words.empty() || command.words.front().empty())
    return invalid("command: nothing is given to run; repeat it once for each word");
  for (const std::string& word : command.words) {
    if (word.find('\0') != std::string::npos) return invalid("command: a word has a zero byte");
  }
  command.pod = static_cast<std::uint32_t>(*pod);
  command.has_input = *input;
  command.has_terminal = *terminal;
  return command;
}

/// Where the job runs now: its cluster, and the attempt in the command.
Result<std::string> find_place(const sched::World& world, ports::PodCommand& command) {
  const std::string& id = command.attempt.job;
  const sched::JobSlot slot = world.find_job(id);
  if (slot.is_none())
    return Error{Fault::NotFound,
                 fmt::format("job {} does not run: it has ended, or there never was one", id)};
  const sched::Job& job = world.job(slot);
  if (!job.active)
    return Error{Fault::Conflict, fmt::format("job {} is {}: a command can only run in a pod that "
                                              "runs",
                                              id, view::state_word(job.state))};
  command.attempt.number = job.attempt;
  return world.fleet.cluster(job.active->cluster).spec.name;
}

std::string audit_detail(const ports::PodCommand& command) {
  std::string detail = fmt::format("pod {}: {}", command.pod, fmt::join(command.words, " "));
  if (detail.size() > detail_bytes) detail = detail.substr(0, detail_bytes) + "...";
  return detail;
}

void exec(const ExecParts& parts, const CallPtr& call, std::shared_ptr<void> seat) {
  struct Asked {
    ports::PodCommand command;
    std::string cluster;
  };
  const auto asked = std::make_shared<Asked>();
  auto command = command_of(call->request);
  if (!command) return call->answer(command.error());
  if (Status fits = net::check_websocket_request(call->request); !fits)
    return call->answer(fits.error());
  asked->command = std::move(*command);
  asked->command.attempt.job = call->request.param("job");
  change(
      parts.requests, call,
      [asked, call](const sched::World& world, Time) -> Result<control::Asked> {
        auto cluster = find_place(world, asked->command);
        if (!cluster) return cluster.error();
        asked->cluster = std::move(*cluster);
        control::Asked wish;
        wish.audit.push_back(audit_row(call->request, "exec", asked->command.attempt.job,
                                       audit_detail(asked->command)));
        return wish;
      },
      [&parts, asked, call, seat = std::move(seat)] {
        on_worker(parts.work, call, [&parts, asked, call, seat]() -> Status {
          const auto bridge = std::make_shared<ExecBridge>(seat);
          auto session = parts.run(asked->cluster, asked->command, bridge->command_callbacks());
          if (!session)
            return Error{
                session.error().fault,
                fmt::format("job {}: {}", asked->command.attempt.job, session.error().message)};
          bridge->open(*session, call->request, call->responder);
          return Ok{};
        });
      });
}

}  // namespace

void add_exec_routes(net::Router& router, const ExecParts& parts) {
  const auto seats = std::make_shared<const Seats>(parts.sessions_most);
  add_route(router, "GET", "/jobs/{job}/exec", [&parts, seats](const CallPtr& call) {
    std::shared_ptr<void> seat = seats->take();
    if (seat) return exec(parts, call, std::move(seat));
    call->responder.send(
        fail(call->request,
             {.status = 429,
              .message = fmt::format(
                  "{} commands run in pods already; try again when one has ended", seats->most()),
              .retry_after_s = 5}));
  });
}

}  // namespace muster::api
