#include "api/appwrapper/quota_desk.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace muster::api {

namespace {

constexpr Duration try_again = seconds(1);
constexpr const char* books = "queues";  // where others among the troubles are groups

bool has_queue(const work::QuotaForest& forest, const std::string& name) {
  return std::any_of(forest.queues.begin(), forest.queues.end(),
                     [&](const model::QueueSpec& spec) { return spec.name == name; });
}

}  // namespace

std::vector<std::string> queues_left(const sched::World& world, const work::QuotaForest& forest) {
  std::vector<std::pair<int, std::string>> found;  // with how many are above it
  for (const sched::QueueId id : world.quota.by_name()) {
    const sched::QueueNode& queue = world.quota[id];
    const bool is_of_tree =
        std::any_of(forest.trees.begin(), forest.trees.end(), [&](const std::string& tree) {
          return queue.name.starts_with(work::queue_name(tree, ""));
        });
    if (!queue.alive || !is_of_tree || has_queue(forest, queue.name)) continue;
    int above = 0;
    for (sched::QueueId up = queue.parent; !up.is_none(); up = world.quota[up].parent) ++above;
    found.emplace_back(above, queue.name);
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> names;
  for (auto& [above, name] : found) names.push_back(std::move(name));
  return names;
}

std::vector<model::EventBody> queue_changes(const work::QuotaForest& from,
                                            const work::QuotaForest& to) {
  std::vector<model::EventBody> events;
  for (const model::QueueSpec& spec : to.queues) {
    if (std::find(from.queues.begin(), from.queues.end(), spec) == from.queues.end())
      events.emplace_back(model::QueueSet{spec});
  }
  for (auto spec = from.queues.rbegin(); spec != from.queues.rend(); ++spec) {
    if (!has_queue(to, spec->name)) events.emplace_back(model::QueueRemoved{spec->name});
  }
  return events;
}

QuotaDesk::QuotaDesk(kube::Client& client, Parts parts) : parts_(std::move(parts)) {
  QuotaWatch::Handlers on;
  on.on_change = [this] { parts_.later([this] { follow(); }); };
  on.on_trouble = [this](const std::string& group, const std::string& why) {
    parts_.later([this, group, why] { set_trouble(group, why); });
  };
  watch_ = std::make_unique<QuotaWatch>(client, std::move(on));
}

/// Each reason is said once.
void QuotaDesk::set_trouble(const std::string& group, const std::string& why) {
  if (why.empty()) {
    if (troubles_.erase(group) == 0) return;
    return parts_.say(group == books
                          ? "quota: the queues are written again"
                          : fmt::format("quota: QuotaSubtrees of {} are read again", group));
  }
  if (std::exchange(troubles_[group], why) != why) parts_.say(words_of(group, why));
}

std::string QuotaDesk::trouble() const {
  if (troubles_.empty()) return "";
  const auto& [group, why] = *troubles_.begin();
  return words_of(group, why);
}

std::string QuotaDesk::words_of(const std::string& group, const std::string& why) const {
  const std::string what = group == books
                               ? "the queues cannot be written"
                               : fmt::format("QuotaSubtrees of {} cannot be read", group);
  return fmt::format("quota: {}, so {}: {}", what,
                     has_followed_ ? "the queues stay as they are" : "no AppWrapper is taken", why);
}

void QuotaDesk::follow() {
  if (!watch_->has_answered()) return;
  follows_again_ = is_putting_;
  if (is_putting_) return;
  const work::QuotaForest wanted = work::read_quota_forest(watch_->subtrees());
  if (told_ != wanted.problems) {
    for (const std::string& problem : wanted.problems) parts_.say("quota: " + problem);
    told_ = wanted.problems;
  }
  put_queues(wanted);
}

/// A job whose queue is not in the books yet would be refused: what is wanted counts when it is
/// there.
void QuotaDesk::put_queues(const work::QuotaForest& wanted) {
  control::Asked asked;
  asked.events = queue_changes(forest_, wanted);
  if (asked.events.empty()) return are_there(wanted);
  // At first also what went while no server ran.
  const auto ask = [asked, wanted, is_first = !has_followed_](
                       const sched::World& world, Time) mutable -> Result<control::Asked> {
    if (!is_first) return asked;
    for (std::string& name : queues_left(world, wanted))
      asked.events.emplace_back(model::QueueRemoved{std::move(name)});
    return asked;
  };
  // The loop may outlive this desk, so it calls nothing but `later`, which then runs nothing.
  const auto done = [this, wanted, later = parts_.later](const Result<control::Answer>& answer) {
    const Status is_written = answer ? Status(Ok{}) : Status(answer.error());
    later([this, wanted, is_written] { answered(wanted, is_written); });
  };
  const auto put = parts_.requests.put({ask, done});
  is_putting_ = put == control::Requests::Put::Taken;
  if (is_putting_ || put == control::Requests::Put::Closed) return;
  if (const auto refusal = parts_.requests.store_refusal()) set_trouble(books, refusal->message);
  follow_later();
}

void QuotaDesk::answered(const work::QuotaForest& wanted, const Status& is_written) {
  is_putting_ = false;
  if (!is_written) {
    set_trouble(books, is_written.error().message);
    return follow_later();
  }
  are_there(wanted);
  if (follows_again_) follow();
}

void QuotaDesk::follow_later() {
  parts_.later_after(try_again, [this] { follow(); });
}

void QuotaDesk::are_there(const work::QuotaForest& wanted) {
  forest_ = wanted;
  has_followed_ = true;
  set_trouble(books, "");
  parts_.on_change();
}

Result<work::Designation> QuotaDesk::designation_of(const model::Labels& labels) const {
  work::Designation made = work::designation_of(labels, forest_.trees);
  std::vector<std::string> queues = made.extra_queues;
  if (!made.queue.empty()) queues.push_back(made.queue);
  for (const std::string& queue : queues) {
    if (!has_queue(forest_, queue))
      return Error{Fault::NotFound,
                   fmt::format("its quota designation names {}, which is not there", queue)};
  }
  return made;
}

}  // namespace muster::api
