#include "apps/muster/bench_appwrapper/sightings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <unordered_map>

#include "api/appwrapper/wrapper_watch.h"
#include "apps/muster/bench_kube/parts.h"
#include "kube/json.h"

namespace muster::app {
namespace {

constexpr std::size_t stages = 5;
constexpr std::chrono::minutes patience{3};  // without any change

WrapperStage stage_of(const boost::json::value& wrapper) {
  if (kube::text_at(wrapper, {"status", "state"}) == "Completed") return WrapperStage::Completed;
  if (kube::integer_at(wrapper, {"status", "running"}) >= 2) return WrapperStage::Running;
  WrapperStage stage = WrapperStage::Created;
  const bool is_v1beta2 = kube::find(wrapper, {"spec", "components"}) != nullptr;
  for (const boost::json::value& one : kube::items_at(wrapper, {"status", "conditions"})) {
    const std::string_view type = kube::text_at(one, {"type"});
    if (type == "Dispatched") return WrapperStage::Dispatched;
    const bool waits = is_v1beta2 && type == "Waiting" && kube::text_at(one, {"status"}) == "True";
    if (type == "Backoff" || waits) stage = WrapperStage::Queued;
  }
  return stage;
}

}  // namespace

struct Sightings::Seen {
  void set_stage(const std::string& name, WrapperStage stage) {
    const std::lock_guard lock(mutex);
    const auto [at, is_new] = wrappers.try_emplace(name, stage);
    const std::size_t known = is_new ? 0 : static_cast<std::size_t>(at->second) + 1;
    for (std::size_t i = known; i <= static_cast<std::size_t>(stage); ++i) ++counts[i];
    at->second = std::max(at->second, stage);
    tell();
  }
  void remove(const std::string& name) {
    const std::lock_guard lock(mutex);
    const auto at = wrappers.find(name);
    if (at == wrappers.end()) return;
    for (std::size_t i = 0; i <= static_cast<std::size_t>(at->second); ++i) --counts[i];
    wrappers.erase(at);
    tell();
  }
  void add_job(const std::string& name) {
    const std::lock_guard lock(mutex);
    jobs.try_emplace(name, Clock::now());
    tell();
  }
  void tell() {
    ++changes;
    changed.notify_all();
  }

  /// False: nothing changed for too long.
  bool wait(const std::function<bool()>& is_reached) {
    std::unique_lock lock(mutex);
    while (!is_reached()) {
      const std::uint64_t before = changes;
      if (!changed.wait_for(lock, patience, [&] { return changes != before; })) return false;
    }
    return true;
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::unordered_map<std::string, WrapperStage> wrappers;  // guarded by mutex, as all that follows
  std::array<std::size_t, stages> counts = {};             // of wrappers that are so far
  std::unordered_map<std::string, Clock::time_point> jobs;
  std::uint64_t changes = 0;
};

namespace {

class Watcher : public kube::ObjectSink {
 public:
  void begin_list() override {}
  void end_list() override {}
  void failed(const kube::ApiError&, int) override {}
  void recovered() override {}
};

}  // namespace

class Sightings::Wrappers final : public Watcher {
 public:
  explicit Wrappers(std::shared_ptr<Seen> seen) : seen_(std::move(seen)) {}
  void upsert(const boost::json::value& object) override {
    seen_->set_stage(std::string(kube::name_of(object)), stage_of(object));
  }
  void remove(const boost::json::value& object) override {
    seen_->remove(std::string(kube::name_of(object)));
  }

 private:
  const std::shared_ptr<Seen> seen_;
};

class Sightings::Jobs final : public Watcher {
 public:
  explicit Jobs(std::shared_ptr<Seen> seen) : seen_(std::move(seen)) {}
  void upsert(const boost::json::value& object) override {
    seen_->add_job(std::string(kube::name_of(object)));
  }
  void remove(const boost::json::value&) override {}

 private:
  const std::shared_ptr<Seen> seen_;
};

Sightings::Sightings(kube::Client& client) : seen_(std::make_shared<Seen>()) {
  kube::ReflectorOptions options;
  options.ns = bench_namespace;
  options.resource = api::appwrappers(api::WrapperGroup::Workload);
  wrappers_ = std::make_unique<kube::Reflector>(client, options, std::make_shared<Wrappers>(seen_));
  options.resource = kube::resources::jobs();
  jobs_ = std::make_unique<kube::Reflector>(client, options, std::make_shared<Jobs>(seen_));
}

Sightings::~Sightings() {
  wrappers_->stop();
  jobs_->stop();
}

Status Sightings::wait_for(WrapperStage stage, std::size_t count) {
  const std::size_t& so_far = seen_->counts.at(static_cast<std::size_t>(stage));
  if (seen_->wait([&] { return so_far >= count; })) return Ok{};
  const std::lock_guard lock(seen_->mutex);
  return Error{Fault::Unavailable,
               fmt::format("{} of {} AppWrappers came so far, and then nothing happened; of each "
                           "stage there are {}",
                           so_far, count, fmt::join(seen_->counts, ", "))};
}

std::size_t Sightings::count(WrapperStage stage) const {
  const std::lock_guard lock(seen_->mutex);
  return seen_->counts.at(static_cast<std::size_t>(stage));
}

Status Sightings::wait_for_left(std::size_t count) {
  if (seen_->wait([&] { return seen_->wrappers.size() == count; })) return Ok{};
  return Error{Fault::Unavailable, "AppWrappers that were deleted do not go"};
}

Result<Sightings::Clock::time_point> Sightings::wait_for_job(const std::string& name) {
  if (!seen_->wait([&] { return seen_->jobs.contains(name); }))
    return Error{Fault::Unavailable, fmt::format("Job {} is not made", name)};
  const std::lock_guard lock(seen_->mutex);
  return seen_->jobs.at(name);
}

}  // namespace muster::app
