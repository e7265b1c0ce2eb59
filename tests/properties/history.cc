#include "tests/properties/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "base/prng.h"
#include "base/text.h"

namespace muster::properties {
namespace {

using Words = std::vector<std::string_view>;

/// What a history may contain; each is on or off for the whole of it.
struct Features {
  explicit Features(Prng& draw)
      : shares(draw.chance(40)),
        elastic(draw.chance(30)),
        sets(draw.chance(25)),
        labels(draw.chance(40)),
        taints(draw.chance(25)),
        topology(draw.chance(20)),
        foreign(draw.chance(30)),
        pools(draw.chance(20)),
        trees(draw.chance(15)),
        limits(draw.chance(70)),
        strategies(draw.chance(40)),
        priorities(draw.chance(70)),
        times(draw.chance(60)),
        dependencies(draw.chance(20)),
        relations(draw.chance(25)),
        nodes(draw.chance(50)),
        clusters(draw.chance(40)),
        requeues(draw.chance(40)),
        extended(draw.chance(15)),
        cpu_only(draw.chance(20)),
        changes(draw.chance(30)),
        volumes(draw.chance(15)) {}
  bool shares, elastic, sets, labels, taints, topology, foreign, pools, trees, limits, strategies,
      priorities, times, dependencies, relations, nodes, clusters, requeues, extended, cpu_only,
      changes, volumes;
};

class Writer {
 public:
  explicit Writer(std::uint64_t seed)
      : draw_(seed),
        with_(draw_),
        strays_(Prng(seed + 1'000'000'009).chance(25)),
        draw_kinds_(seed + 2'000'000'011),
        draw_trees_(seed + 3'000'000'019) {}

  History write(int lines) {
    set_up();
    while (static_cast<int>(history_.size()) < lines) step();
    add("plan");
    return std::move(history_);
  }

 private:
  void add(std::string line) { history_.push_back(std::move(line)); }
  bool chance(std::uint64_t percent) { return draw_.chance(percent); }
  std::int64_t between(std::int64_t low, std::int64_t high) { return draw_.between(low, high); }
  std::string_view pick(const Words& words) { return words[draw_.below(words.size())]; }
  std::string_view pick_kinds(const Words& words) { return words[draw_kinds_.below(words.size())]; }
  std::string one_of(const std::vector<std::string>& words) {
    return words.empty() ? "none" : words[draw_.below(words.size())];
  }

  // ---- the fleet
  void set_up() {
    std::string policy =
        fmt::format("policy choice={}", chance(60) ? std::string_view("best-fit")
                                                   : pick({"worth", "spread", "fgd", "worth"}));
    if (chance(30)) policy += fmt::format(" depth={}", between(0, 3));
    if (chance(15)) policy += fmt::format(" evictions={}", between(0, 2));
    if (chance(20)) policy += " half-life=1h";
    if (chance(40)) policy += " default-run=1h";
    if (chance(15)) policy += " weight:H100=2";
    if (chance(15)) policy += " manual-start";
    add(policy);
    const std::int64_t clusters = between(1, chance(50) ? 1 : 3);
    for (std::int64_t i = 0; i < clusters; ++i) {
      clusters_.push_back(std::string(1, static_cast<char>('a' + i)));
      add("cluster " + clusters_.back() + (chance(20) ? " grace=1m" : ""));
    }
    const std::int64_t nodes = between(1, 5);
    for (std::int64_t i = 0; i < nodes; ++i) add_node();
    const std::int64_t queues = between(1, 4);
    for (std::int64_t i = 0; i < queues; ++i) add_queue();
    if (with_.trees) {
      add(fmt::format("queue extra tree=other {}:gpu={}", pick({"max", "guaranteed"}),
                      between(0, 8)));
      if (draw_trees_.chance(50)) {
        add(fmt::format("queue below parent=extra max:gpu={}", draw_trees_.between(0, 8)));
        add("queue third tree=third");
        further_ = {"extra", "below", "third", "extra,below", "third,below"};
      }
    }
    if (with_.pools) {
      add(fmt::format("pool p cluster={} {}", one_of(clusters_),
                      with_.labels ? "select:zone=" + std::string(pick({"x", "y"})) : ""));
      add(fmt::format("pool r cluster={} tolerate:dedicated=*", one_of(clusters_)));
      add("fleet-pool f pools=p,r");
    }
  }

  void add_node() {
    const std::string name = fmt::format("{}/n{}", one_of(clusters_), nodes_.size() + 1);
    nodes_.push_back(name);
    add("node " + name + node_options());
  }

  std::string node_options() {
    std::string line;
    if (chance(85)) line += fmt::format(" gpu={}x{}", pick({"1", "2", "4", "4", "8"}), type());
    if (chance(40)) line += fmt::format(" cpu={}", pick({"2", "4", "8", "16"}));
    if (chance(20)) line += fmt::format(" pods={}", between(1, 6));
    if (with_.shares && chance(60)) line += " gpumem=40Gi";
    if (with_.labels || with_.topology) {
      line += fmt::format(" label:zone={}", pick({"x", "y"}));
      line += fmt::format(" label:rack={}", pick({"r1", "r2", "r3"}));
    }
    if (with_.relations && !with_.labels && chance(80))
      line += fmt::format(" label:rack={}", pick({"r1", "r2"}));
    if (with_.volumes && chance(80))
      line += fmt::format(" label:topology.kubernetes.io/zone={}", pick({"x", "y"}));
    if (with_.taints && chance(40)) line += " taint:dedicated=team:NoSchedule";
    if (with_.extended && chance(60)) line += fmt::format(" ext:nic={}", between(1, 4));
    return line;
  }

  std::string_view type() { return pick({"A100", "A100", "H100", "T4"}); }

  void add_queue() {
    const std::string name = queues_.empty() ? "q" : fmt::format("q{}", queues_.size());
    std::string line = "queue " + name;
    if (!queues_.empty() && chance(50)) line += " parent=" + one_of(queues_);
    queues_.push_back(name);
    add(line + queue_options());
  }

  std::string queue_options() {
    std::string line;
    if (with_.strategies && chance(60))
      line += fmt::format(" strategy={}", pick({"fifo", "skip-ahead", "backfill"}));
    if (chance(20)) line += fmt::format(" weight={}", between(0, 3));
    if (chance(10)) line += fmt::format(" cap={}", between(40, 60));
    if (!with_.limits) return line;
    const std::string_view resource = pick({"gpu", "gpu", "gpu", "cpu", "gpu.A100"});
    if (chance(50)) {
      const std::int64_t guaranteed = between(0, 8);
      line += fmt::format(" guaranteed:{}={}", resource, guaranteed);
      if (chance(40)) line += fmt::format(" lend:{}={}", resource, between(0, guaranteed));
      if (chance(30)) line += fmt::format(" borrow:{}={}", resource, between(0, 4));
    } else if (chance(15)) {
      line += fmt::format(" borrow:{}={}", resource, between(0, 6));
    }
    if (chance(30)) line += fmt::format(" max:{}={}", resource, between(0, 10));
    return line;
  }

  // ---- jobs
  void submit() {
    const std::string id = fmt::format("j{}", jobs_.size() + 1);
    std::string line = fmt::format("submit {} queue={}", id,
                                   chance(97) ? one_of(queues_) : std::string("nowhere"));
    const bool lost = !further_.empty() && draw_trees_.chance(5);
    if (lost) line = fmt::format("submit {} queue=below", id);
    if (with_.priorities) line += fmt::format(" prio={}", pick({"10", "50", "50", "70", "90"}));
    if (with_.times && chance(60)) line += fmt::format(" limit={}", pick({"5m", "30m", "2h"}));
    if (with_.times && chance(10)) line += fmt::format(" after={}", pick({"1m", "10m"}));
    if (with_.times && chance(10)) line += fmt::format(" deadline={}", pick({"2m", "20m"}));
    if (with_.times && chance(15)) line += fmt::format(" min-run={}", pick({"2m", "20m"}));
    if (chance(10)) line += " nonpreemptible";
    if (with_.topology && chance(50))
      line +=
          fmt::format(" {}={}", pick({"topology", "topology-preferred"}), pick({"rack", "zone"}));
    if (with_.pools && chance(40)) line += fmt::format(" pool={}", pick({"p", "r", "f"}));
    if (with_.clusters && chance(20))
      line += fmt::format(" {}={}", pick({"pins", "not"}), one_of(clusters_));
    if (with_.clusters && draw_kinds_.chance(20))
      line += fmt::format(" kinds={}", pick_kinds({"k1", "k2", "k1,k2"}));
    if (with_.clusters && chance(30)) line += " on-loss=rerun";
    if (with_.requeues && chance(40)) line += fmt::format(" retries={}", between(1, 2));
    if (with_.dependencies && chance(40) && !jobs_.empty()) line += " needs=" + one_of(jobs_);
    if (with_.trees && chance(50) && !lost) line += fmt::format(" extra={}", further());
    if (chance(20)) line += " name=train";
    if (with_.requeues && chance(10)) line += " held";
    const bool sets = with_.sets && chance(50);
    if (!sets) line += pods();
    add(line);
    if (sets) {
      const std::int64_t count = between(1, 3);
      for (std::int64_t i = 0; i < count; ++i) add(fmt::format("set s{}", i) + pods());
    }
    jobs_.push_back(id);
    // Copies of it stand in one line.
    for (std::int64_t more = chance(25) ? between(1, 3) : 0; more > 0 && !sets; --more) {
      const std::string copy = fmt::format("j{}", jobs_.size() + 1);
      std::string again = line;
      again.replace(7, id.size(), copy);
      add(again);
      jobs_.push_back(copy);
    }
  }

  /// Several of one tree count once.
  std::string_view further() {
    return further_.empty() ? "extra" : further_[draw_trees_.below(further_.size())];
  }

  std::string pods() {
    std::string line;
    if (chance(60)) {
      const std::int64_t count = between(1, 4);
      line += fmt::format(" pods={}", count);
      if (with_.elastic && count > 1 && chance(60))
        line += fmt::format(" min={}", between(1, count));
    }
    if (chance(15)) line += fmt::format(" per-node={}", between(1, 2));
    if (with_.shares && chance(40)) {
      line += " " + std::string(pick({"gpu=0.5", "gpu=0.3", "gpu=0.25", "shares=3", "gpumem=10Gi",
                                      "gpumem=25Gi"}));
    } else if (!(with_.cpu_only && chance(40))) {
      line += fmt::format(" gpu={}", pick({"1", "1", "2", "2", "4", "8"}));
    }
    if (chance(30)) line += fmt::format(" type={}", pick({"A100", "H100", "T4", "H100,A100"}));
    if (chance(40)) line += fmt::format(" cpu={}", pick({"1", "500m", "3", "8"}));
    if (with_.labels && chance(30)) line += fmt::format(" select:zone={}", pick({"x", "y"}));
    if (with_.labels && chance(15)) line += " prefer:10=rack:In:r1";
    if (with_.labels && chance(10)) line += " need:rack=NotIn:r2";
    if (with_.taints && chance(40)) line += " tolerate:dedicated=*";
    if (with_.extended && chance(40)) line += fmt::format(" ext:nic={}", between(1, 3));
    if (with_.labels && chance(5)) line += " prefer:20=metadata.name:In:n1+zone:In:x";
    if (with_.volumes && chance(30)) line += fmt::format(" zones={}", pick({"x", "y", "x,y"}));
    if (with_.relations && chance(70)) line += neighbours();
    return line;
  }

  std::string neighbours() {
    std::string line = fmt::format(" label:app={}", pick({"web", "web", "db"}));
    line += " " + std::string(pick({"away:rack=app:web", "near:rack=app:web", "near:rack=app:db",
                                    "spread:rack=1:app:web", "spread:rack=2:app:db",
                                    "away:kubernetes.io/hostname=app:web",
                                    "near:rack=app:web near:kubernetes.io/hostname=app:web",
                                    "near:rack=app:web near:rack=app:db",
                                    "away:kubernetes.io/hostname=app:db"}));
    if (chance(20)) line += " spread:kubernetes.io/hostname=1:app:web:soft";
    if (chance(30)) line += fmt::format(" ports={}", pick({"80", "80/UDP", "80,81"}));
    return line;
  }

  // ---- what happens
  void step() {
    const std::uint64_t what = draw_.below(100);
    if (what < 30)
      submit();
    else if (what < 55)
      add("plan");
    else if (what < 75)
      outcome();
    else if (what < 85)
      add(fmt::format("advance {}", pick({"30s", "2m", "10m", "1h", "3h"})));
    else if (what < 93)
      sight();
    else
      administer();
  }

  /// Its pods are not where they were planned.
  void bound(const std::string& job) {
    std::string line = "bound " + job;
    for (std::int64_t pods = between(1, 4); pods > 0; --pods) {
      const std::string node = one_of(nodes_);
      line += " " + (chance(95) ? node.substr(node.find('/') + 1) : std::string("unseen"));
    }
    add(line);
  }

  void outcome() {
    const std::string job = one_of(jobs_);
    if (strays_ && chance(30)) return bound(job);
    Words verbs = {"finish", "finish", "finish", "gone", "gone", "gone", "cancel", "started"};
    if (with_.requeues) {
      for (const std::string_view verb : {"fail", "hold", "release", "checkpoint", "start-failed"})
        verbs.push_back(verb);
    }
    const std::string_view verb = pick(verbs);
    std::string line = fmt::format("{} {}", verb, job);
    if (verb == "start-failed" && chance(60)) line += " pause=1m requeues=2";
    if (verb == "hold" && chance(60)) line += " stop";
    add(line);
  }

  void sight() {
    if (with_.foreign && chance(50)) {
      if (chance(30)) {
        add(fmt::format("foreign-gone {} f{}", one_of(clusters_), between(1, 4)));
      } else {
        std::string line = fmt::format("foreign {} f{} gpu={} cpu={}", one_of(nodes_),
                                       between(1, 4), between(0, 4), between(0, 3));
        if (with_.relations && chance(60))
          line += fmt::format(" label:app={}", pick({"web", "db"}));
        if (with_.relations && chance(30)) line += fmt::format(" ports={}", pick({"80", "81"}));
        add(line);
      }
    } else if (with_.nodes && chance(70)) {
      add(fmt::format("{} {}",
                      pick({"cordon", "uncordon", "node-down", "node-up", "node-up", "node-gone"}),
                      one_of(nodes_)));
    } else if (with_.nodes && chance(30)) {
      add("node " + one_of(nodes_) + node_options());  // back, and perhaps another machine
    } else if (with_.clusters && chance(70)) {
      if (chance(15)) {
        add("cluster-left " + one_of(clusters_));
      } else if (draw_kinds_.chance(20)) {
        const std::string cluster =
            clusters_.empty() ? "none" : clusters_[draw_kinds_.below(clusters_.size())];
        add(fmt::format("kinds {} serves={}", cluster, pick_kinds({"k0", "k1", "k1,k2"})));
      } else if (chance(20)) {
        add("cluster " + one_of(clusters_));
      } else {
        add(fmt::format(
            "health {} {}", one_of(clusters_),
            pick({"ready", "ready", "ready", "degraded", "unreachable", "draining", "cordoned"})));
      }
    } else {
      add_node();
    }
  }

  void administer() {
    if (!with_.changes) return;
    switch (draw_.below(5)) {
      case 0:
        add(fmt::format("priority {} {}", one_of(jobs_), between(1, 99)));
        break;
      case 1:
        if (!further_.empty() && draw_trees_.chance(10)) {
          add(fmt::format("move {} below", one_of(jobs_)));
        } else {
          add(fmt::format("move {} {}", one_of(jobs_), one_of(queues_)));
        }
        break;
      case 2: {
        const std::string name = one_of(queues_);
        std::string line = "queue " + name;
        if (chance(40)) line += " parent=" + one_of(queues_);
        add(line + queue_options());
        break;
      }
      case 3:
        add("queue-removed " + one_of(queues_));
        break;
      default:
        add_queue();
    }
  }

  Prng draw_;
  Features with_;
  bool
      strays_;  // pods are bound elsewhere; drawn apart, so that other histories stay what they are
  Prng draw_kinds_;  // apart for the same reason
  Prng draw_trees_;
  History history_;
  std::vector<std::string> clusters_;
  std::vector<std::string> nodes_;
  std::vector<std::string> queues_;
  Words further_;  // what jobs may charge beside their queue, if there are several
  std::vector<std::string> jobs_;
};

/// Deletes pieces of `size` parts; true if anything went.
template <typename Part, typename Fails>
bool delete_pieces(std::vector<Part>& parts, std::size_t size, const Fails& fails) {
  bool any = false;
  for (std::size_t at = 0; at < parts.size();) {
    std::vector<Part> less = parts;
    const std::size_t end = std::min(at + size, less.size());
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(at),
               less.begin() + static_cast<std::ptrdiff_t>(end));
    if (fails(less)) {
      parts = std::move(less);
      any = true;
    } else {
      at += size;
    }
  }
  return any;
}

/// Options of one line: all words after the verb and the name.
bool shrink_line(History& history, std::size_t at,
                 const std::function<bool(const History&)>& fails) {
  std::vector<std::string> words;
  for (const std::string_view word : split_words(history[at])) words.emplace_back(word);
  bool any = false;
  for (std::size_t w = words.size(); w-- > 2;) {
    History less = history;
    std::string line;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (i != w) line += (line.empty() ? "" : " ") + words[i];
    }
    less[at] = line;
    if (!fails(less)) continue;
    history = std::move(less);
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(w));
    any = true;
  }
  return any;
}

bool is_independent_fact(std::string_view verb) {
  return verb == "node" || verb == "cluster" || verb == "foreign" || verb == "pool" ||
         verb == "queue";
}

}  // namespace

History random_history(std::uint64_t seed, int lines) { return Writer(seed).write(lines); }

History shrink(History history, const std::function<bool(const History&)>& fails) {
  for (bool again = true; again;) {
    again = false;
    for (std::size_t size = std::max<std::size_t>(history.size() / 2, 1); size > 0; size /= 2)
      again = delete_pieces(history, size, fails) || again;
    for (std::size_t i = 0; i < history.size(); ++i)
      again = shrink_line(history, i, fails) || again;
  }
  return history;
}

History shuffled(const History& history, std::uint64_t seed) {
  Prng draw(seed);
  History out;
  std::vector<std::string> run;
  std::string verb;
  std::set<std::string, std::less<>> names;  // lines about the same thing keep their order
  const auto flush = [&] {
    draw.shuffle(run);
    out.insert(out.end(), run.begin(), run.end());
    run.clear();
    names.clear();
  };
  for (const std::string& line : history) {
    const auto words = split_words(line);
    // What the line is about: foreign pods are known by their uid, the rest by the first word.
    const std::size_t about = words[0] == "foreign" ? 2 : 1;
    const std::string_view name = words.size() > about ? words[about] : "";
    std::string_view parent;  // a queue is also about the one above it: either may be refused
    for (const std::string_view word : words) {
      if (words[0] == "queue" && word.starts_with("parent=")) parent = word.substr(7);
    }
    const bool joins = is_independent_fact(words[0]) && words[0] == verb && !names.contains(name) &&
                       (parent.empty() || !names.contains(parent));
    if (!joins) flush();
    verb = words[0];
    names.emplace(name);
    if (!parent.empty()) names.emplace(parent);
    run.push_back(line);
    if (!is_independent_fact(verb)) flush();
  }
  flush();
  return out;
}

std::string text_of(const History& history) {
  std::string text;
  for (const std::string& line : history) text += line + "\n";
  return text;
}

}  // namespace muster::properties
