// What the world remembers of jobs that have come and gone: how long those of a name took, and the
// jobs themselves until they are forgotten. A table that only grew would end every server some day.
#include <algorithm>

#include "sched/world.h"

namespace muster::sched {

// ----------------------------------------------------------------------------------------------
// finished jobs

/// By a slot: an attempt left behind, or victims that leave for it although it is gone itself.
bool World::is_referred_to(JobSlot slot) const {
  return leaving_.contains(slot) ||
         std::any_of(orphans_.begin(), orphans_.end(),
                     [slot](const Orphan& orphan) { return orphan.job == slot; });
}

void World::forget_finished(Time until) {
  auto it = finished.begin();
  while (it != finished.end() && it->first <= until) {
    const JobSlot slot = it->second;
    if (is_referred_to(slot)) {
      ++it;
      continue;
    }
    Job& job = jobs_[slot.index()];
    leave_history(job.history, job.finished);
    shapes.drop_job(job.shape);
    spare_counts_.add(job.spare, slot, -1);
    job_ids_.erase(job.id);
    job = Job{};
    job.state = model::JobState::Cancelled;  // a free slot waits for nothing
    free_jobs_.push_back(slot);
    it = finished.erase(it);
  }
  drop_idle_shapes();
}

// ----------------------------------------------------------------------------------------------
// shapes and lines

/// All at once and seldom, in the books as everything else: whoever keeps something by their
/// numbers drops it, and a folded journal comes to the same numbers.
void World::drop_idle_shapes() {
  const std::size_t used = shapes.size() - shapes.idle();
  if (shapes.idle() <= std::max(idle_shapes_most, used)) return;
  std::vector<LineId> lines_now(lines_.size());
  Chunked<Line> kept;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (lines_[i].jobs.empty()) continue;
    lines_now[i] = LineId{static_cast<std::uint32_t>(kept.size())};
    kept.push_back(std::move(lines_[i]));
  }
  lines_ = std::move(kept);
  rename_shapes(shapes.drop_idle());
  rename_lines(lines_now);
  changes.lines.clear();
  changes.again.clear();
  changes.everything = changes.renumbered = true;
}

void World::rename_shapes(const Shapes::Renumbered& now) {
  const auto rename = [&](std::vector<PodOn>& pods) {
    for (PodOn& pod : pods) pod.pod = now.pods[pod.pod.index()];
  };
  for (Job& job : jobs_) {
    if (job.id.empty()) continue;
    job.shape = now.shapes[job.shape.index()];
    if (job.active) rename(job.active->pods);
  }
  for (Orphan& orphan : orphans_) rename(orphan.active.pods);
  fleet.rename_pods(now.pods);
  line_ids_.clear();
  shape_lines_.clear();
  shapes_with_lines_.clear();
  for (std::uint32_t i = 0; i < lines_.size(); ++i) {
    Line& line = lines_[i];
    line.shape = now.shapes[line.shape.index()];
    line_ids_.emplace(line_key(line), LineId{i});
    list_by_shape(LineId{i}, true);
  }
}

/// Shapes have their numbers already.
void World::rename_lines(const std::vector<LineId>& now) {
  for (Job& job : jobs_) {
    if (!job.line.is_none()) job.line = now[job.line.index()];
  }
  for (History& history : histories_) {
    std::set<LineId> lines;
    for (const LineId id : history.lines) lines.insert(now[id.index()]);
    history.lines = std::move(lines);
  }
  const auto before = [&](const LineRank& a, const LineRank& b) { return ranks_before(a, b); };
  for (SortedChunks<LineRank>& ranks : queue_lines_) {
    SortedChunks<LineRank> renamed;
    for (const LineRank& rank : ranks) renamed.insert(rank_of(now[rank.line.index()]), before);
    ranks = std::move(renamed);
  }
}

// ----------------------------------------------------------------------------------------------
// names and run times

TextId World::text_id(const std::string& text) {
  const auto known = text_ids_.find(text);
  if (known != text_ids_.end()) return known->second;
  TextId id{static_cast<std::uint32_t>(texts_.size())};
  if (free_texts_.empty()) {
    texts_.push_back(text);
    text_uses_.push_back(0);
  } else {
    id = free_texts_.back();
    free_texts_.pop_back();
    texts_[id.index()] = text;
  }
  text_ids_.emplace(texts_[id.index()], id);
  return id;
}

void World::drop_text(TextId id) {
  if (--text_uses_[id.index()] > 0) return;
  text_ids_.erase(texts_[id.index()]);
  texts_[id.index()] = {};
  free_texts_.push_back(id);
}

void World::join_history(Job& job) {
  const std::uint64_t key = std::uint64_t{job.user.v} << 32 | job.name.v;
  const auto known = history_ids_.find(key);
  if (known == history_ids_.end()) {
    job.history = HistoryId{static_cast<std::uint32_t>(histories_.size())};
    if (free_histories_.empty()) {
      histories_.push_back({});
      learned_ms_.push_back(-1);
    } else {
      job.history = free_histories_.back();
      free_histories_.pop_back();
    }
    histories_[job.history.index()].user = job.user;
    histories_[job.history.index()].name = job.name;
    ++text_uses_[job.user.index()];
    ++text_uses_[job.name.index()];
    history_ids_.emplace(key, job.history);
  } else {
    job.history = known->second;
  }
  History& history = histories_[job.history.index()];
  if (history.jobs++ == 0) idle_histories_.erase({history.idle_since, job.history});
}

void World::leave_history(HistoryId id, Time at) {
  History& history = histories_[id.index()];
  if (--history.jobs > 0) return;
  if (history.recent_ms.empty()) {
    drop_history(id);
    return;
  }
  history.idle_since = at;
  idle_histories_.emplace(at, id);
}

void World::drop_history(HistoryId id) {
  const TextId user = histories_[id.index()].user;
  const TextId name = histories_[id.index()].name;
  history_ids_.erase(std::uint64_t{user.v} << 32 | name.v);
  histories_[id.index()] = History{};
  learned_ms_[id.index()] = -1;
  free_histories_.push_back(id);
  drop_text(user);
  drop_text(name);
}

void World::forget_names(Time until) {
  while (!idle_histories_.empty() && idle_histories_.begin()->first <= until) {
    const HistoryId id = idle_histories_.begin()->second;
    idle_histories_.erase(idle_histories_.begin());
    drop_history(id);
  }
}

void World::learn_run_time(const Job& job, Duration ran) {
  History& times = histories_[job.history.index()];
  const std::optional<Duration> before = learned_run_time(job.history);
  if (times.recent_ms.size() < 8) {
    times.recent_ms.push_back(ran.ms);
  } else {
    times.recent_ms[times.next] = ran.ms;
    times.next = (times.next + 1) % 8;
  }
  count_quartile(job.history);
  if (before && learned_ms_[job.history.index()] >= before->ms) return;
  // Who is expected to run shorter may now leave in time for a reservation.
  changes.again.insert(changes.again.end(), times.lines.begin(), times.lines.end());
}

void World::count_quartile(HistoryId id) {
  std::vector<std::int64_t> sorted = histories_[id.index()].recent_ms;
  if (sorted.empty()) return;
  std::sort(sorted.begin(), sorted.end());
  learned_ms_[id.index()] = sorted[(sorted.size() * 3 - 1) / 4];
}

}  // namespace muster::sched
