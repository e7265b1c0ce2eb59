#include <algorithm>

#include "clusters/local/testing/site.h"
#include "ports/cluster_contract.h"

namespace muster::clusters {
namespace {

struct LocalHarness {
  LocalHarness() {
    for (const char* job : {"a", "b", "c", "d"}) {
      site.payloads.set(
          job, Site::shell(fmt::format("echo $MUSTER_JOB_ID $MUSTER_ATTEMPT >> {}; exec sleep 1000",
                                       site.file("starts"))));
    }
  }
  ports::Cluster& cluster() { return *site.cluster; }
  std::vector<model::Event> heard() {
    EXPECT_TRUE(site.cluster->wait_settled(patience));
    return site.inbox.take(1000);
  }
  /// Started is said when the program runs; its first line comes a moment later.
  int creations(const ports::Attempt& attempt) const {
    const std::string line = fmt::format("{} {}", attempt.job, attempt.number);
    const auto count = [&] {
      const auto lines = lines_of(site.file("starts"));
      return static_cast<int>(std::count(lines.begin(), lines.end(), line));
    };
    const auto state = read_state(site.dir(attempt));
    if (state && state->phase == Phase::Running) {
      EXPECT_TRUE(eventually([&] { return count() > 0; }));
    }
    return count();
  }
  /// The cluster is there as long as its directory is.
  void set_reachable(bool reachable) {
    const std::string here = site.directory();
    const std::string away = site.file("away");
    std::filesystem::rename(reachable ? away : here, reachable ? here : away);
    away_ = !reachable;
    EXPECT_TRUE(eventually([&] { return site.inbox.size() > 0; }));  // it says so by itself
  }
  ~LocalHarness() {
    if (away_) set_reachable(true);
  }

  Site site;
  bool away_ = false;
};

}  // namespace
}  // namespace muster::clusters

namespace muster::ports {
INSTANTIATE_TYPED_TEST_SUITE_P(Local, ClusterContract, clusters::LocalHarness);
}  // namespace muster::ports
