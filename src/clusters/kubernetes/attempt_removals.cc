#include "clusters/kubernetes/attempt_removals.h"

#include <array>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "clusters/kubernetes/names.h"
#include "clusters/kubernetes/object_writer.h"
#include "kube/json.h"
#include "kube/requests.h"

namespace muster::clusters {

namespace {

namespace json = boost::json;
using kube::Reply;

constexpr std::size_t together_most = 100;  // some kilobytes of a request's path

/// An attempt, and who waits for an answer about it.
template <typename Answer>
struct PlaceFor {
  ports::Attempt attempt;
  std::function<void(Answer)> done;
};

/// Who waits for the same kind of answer of the same namespace.
template <typename Answer>
struct Line {
  using Place = PlaceFor<Answer>;
  std::deque<Place> waiting = {};
  bool is_busy = false;

  /// Those that one selector can name: attempts of the same number.
  std::vector<Place> take() {
    std::vector<Place> taken;
    std::deque<Place> left;
    for (Place& place : waiting) {
      const bool fits = taken.empty() || (taken.size() < together_most &&
                                          taken.front().attempt.number == place.attempt.number);
      if (fits) {
        taken.push_back(std::move(place));
      } else {
        left.push_back(std::move(place));
      }
    }
    waiting = std::move(left);
    return taken;
  }
};
template <typename Answer>
using Lines = std::map<std::string, Line<Answer>>;  // by namespace

template <typename Answer>
std::string selector_of(const std::vector<PlaceFor<Answer>>& places, const std::string& server) {
  std::vector<ports::Attempt> attempts;
  for (const auto& place : places) attempts.push_back(place.attempt);
  return attempts_selector(attempts, server);
}

}  // namespace

class AttemptRemovals::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(kube::Client& client, std::string server) : client_(client), server_(std::move(server)) {}

  void remove(const std::string& ns, const ports::Attempt& attempt,
              std::function<void(Taken)> done) {
    if (join<Taken>(removing_, ns, {attempt, std::move(done)})) next_removal(ns);
  }
  void confirm_gone(const std::string& ns, const ports::Attempt& attempt,
                    std::function<void(bool)> done) {
    if (join<bool>(confirming_, ns, {attempt, std::move(done)})) next_question(ns);
  }
  std::string refusal() const {
    const std::lock_guard lock(mutex_);
    return refusals_.empty() ? "" : refusals_.begin()->second;
  }

 private:
  /// True: nobody is under way.
  template <typename Answer>
  bool join(Lines<Answer>& lines, const std::string& ns, PlaceFor<Answer> place) {
    const std::lock_guard lock(mutex_);
    Line<Answer>& line = lines[ns];
    line.waiting.push_back(std::move(place));
    return !std::exchange(line.is_busy, true);
  }
  template <typename Answer>
  std::vector<PlaceFor<Answer>> take(Lines<Answer>& lines, const std::string& ns) {
    const std::lock_guard lock(mutex_);
    Line<Answer>& line = lines[ns];
    auto taken = line.take();
    line.is_busy = !taken.empty();
    return taken;
  }

  // ---- removing

  /// What goes together.
  struct Removal {
    std::string ns;
    std::vector<PlaceFor<Taken>> places;
    std::string selector;
    Taken taken = Taken::All;
    std::string refusal = {};  // of the first that was not taken
  };

  void next_removal(const std::string& ns) {
    auto removal = std::make_shared<Removal>();
    removal->ns = ns;
    removal->places = take(removing_, ns);
    if (removal->places.empty()) return;
    removal->selector = selector_of(removal->places, server_);
    remove_from(0, removal);
  }

  void remove_from(std::size_t index, const std::shared_ptr<Removal>& removal) {
    const std::array<kube::Resource, 4> all = {kube::resources::config_maps(),
                                               kube::resources::jobs(), kube::resources::pods(),
                                               kube::resources::secrets()};
    if (index == all.size()) return end(*removal);
    kube::DeleteOptions options;
    // The root stays until all that it owns is gone; a Job until its pods are, and makes no others
    // meanwhile.
    if (index <= 1) options.propagation = "Foreground";
    client_.send_later(
        kube::unread(kube::delete_collection_request(
            all.at(index), removal->ns, {.label_selector = removal->selector}, options)),
        [self = shared_from_this(), index, removal,
         what = all.at(index).plural](const Reply<json::value>& deleted) {
          if (!deleted && is_unanswered(deleted.error())) {
            const bool has_answered = deleted.error().code != 0 && !deleted.error().is_cancelled;
            if (removal->refusal.empty()) removal->refusal = what + ": " + deleted.error().message;
            // Few attempts have roots, and all have Jobs, which take room.
            const bool goes_on = index == 0 && has_answered;
            removal->taken = goes_on ? Taken::AllButRoots : Taken::No;
            if (!goes_on) return self->end(*removal);
          }
          self->remove_from(index + 1, removal);
        });
  }

  void end(const Removal& removal) {
    {
      const std::lock_guard lock(mutex_);
      refusals_.erase(removal.ns);
      if (!removal.refusal.empty()) refusals_.emplace(removal.ns, removal.refusal);
    }
    for (const auto& place : removal.places) place.done(removal.taken);
    next_removal(removal.ns);
  }

  // ---- confirming

  /// What is left of those that are asked for, and who could not be asked.
  struct Question {
    std::string ns;
    std::vector<PlaceFor<bool>> places;
    std::string selector;
    std::set<std::string, std::less<>> left;  // labels of jobs
    bool is_answered = true;
  };

  void next_question(const std::string& ns) {
    auto question = std::make_shared<Question>();
    question->ns = ns;
    question->places = take(confirming_, ns);
    if (question->places.empty()) return;
    question->selector = selector_of(question->places, server_);
    ask(0, question);
  }

  void ask(std::size_t index, const std::shared_ptr<Question>& question) {
    // Owners before pods: when there is none any more, nobody makes pods.
    const std::array<kube::Resource, 3> kinds = {kube::resources::config_maps(),
                                                 kube::resources::jobs(), kube::resources::pods()};
    if (index == kinds.size() || !question->is_answered) return end(*question);
    kube::ListOptions which{.label_selector = question->selector};
    if (question->places.size() == 1) which.limit = 1;
    client_.send_later(
        kube::list_request(kinds.at(index), question->ns, which),
        [self = shared_from_this(), index, question](const Reply<json::value>& list) {
          // Whoever may not look for roots could not make any.
          const bool is_no_matter = !list && index == 0 && list.error().is_forbidden();
          if (!list && !is_no_matter) question->is_answered = false;
          if (list) note(*list, *question);
          self->ask(index + 1, question);
        });
  }

  static void note(const json::value& list, Question& question) {
    for (const json::value& item : kube::items_at(list, {"items"})) {
      question.left.emplace(kube::text_at(item, {"metadata", "labels", job_label}));
    }
  }

  void end(const Question& question) {
    for (const auto& place : question.places) {
      const bool is_left = question.left.contains(label_value(place.attempt.job));
      place.done(question.is_answered && !is_left);
    }
    next_question(question.ns);
  }

  kube::Client& client_;
  const std::string server_;
  mutable std::mutex mutex_;
  Lines<Taken> removing_;  // guarded by mutex_, as the next
  Lines<bool> confirming_;
  std::map<std::string, std::string> refusals_;  // by namespace
};

AttemptRemovals::AttemptRemovals(kube::Client& client, std::string server)
    : core_(std::make_shared<Core>(client, std::move(server))) {}
AttemptRemovals::~AttemptRemovals() = default;
void AttemptRemovals::remove(const std::string& ns, const ports::Attempt& attempt,
                             std::function<void(Taken)> done) {
  core_->remove(ns, attempt, std::move(done));
}
void AttemptRemovals::confirm_gone(const std::string& ns, const ports::Attempt& attempt,
                                   std::function<void(bool)> done) {
  core_->confirm_gone(ns, attempt, std::move(done));
}
std::string AttemptRemovals::refusal() const { return core_->refusal(); }

}  // namespace muster::clusters
