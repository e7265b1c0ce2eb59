#include "api/metrics.h"

#include <gtest/gtest.h>

#include <set>

#include "api/timed_store.h"
#include "ports/memory_store.h"

namespace muster::api {
namespace {

struct MetricsTest : ::testing::Test {
  Metrics metrics{"1.2"};
  sched::World world;
  sched::Policy policy;
  control::StepReport report;

  void tell(model::EventBody body) { sched::apply(world, {Time{0}, std::move(body)}, policy); }
  void queue(const std::string& name) {
    model::QueueSpec spec;
    spec.name = name;
    tell(model::QueueSet{spec});
  }
  void submit(const std::string& id, const std::string& queue) {
    model::JobSpec job;
    job.id = id;
    job.queue = queue;
    job.gang.sets.emplace_back();
    job.gang.sets[0].pod.requests.cpu = {1000};
    tell(model::JobSubmitted{job, world.job_count() + 1});
  }
  void expect(const std::string& line) const {
    EXPECT_NE(("\n" + metrics.text()).find("\n" + line + "\n"), std::string::npos)
        << line << "\nis not in\n"
        << metrics.text();
  }
  void expect_none(const std::string& part) const {
    EXPECT_EQ(metrics.text().find(part), std::string::npos) << part;
  }
};

TEST_F(MetricsTest, AStepIsCounted) {
  tell(model::ClusterSet{{"a", {}, {}, minutes(5)}});
  queue("q");
  submit("j", "q");
  submit("k", "q");
  report.now = Time{20'000};
  report.tried = 3;
  report.events = {{Time{0}, model::Started{"x", 1}},
                   {Time{0}, model::Finished{"x", 1, false}},
                   {Time{0}, model::Ticked{}}};
  report.decisions = {model::Placed{"j", 1, "a", "", {}}, model::GivenUp{"x", {}}};
  report.actions = {{ports::Verb::Create, {"j", 1}, "a", {}}};
  report.decision_seconds = 0.004;
  metrics.step(report, world, 0.002);
  expect("muster_decision_seconds_bucket{le=\"0.001\"} 0");
  expect("muster_decision_seconds_bucket{le=\"0.005\"} 2");
  expect("muster_queue_waiting_jobs{queue=\"q\"} 2");
  expect("muster_cluster_takes_jobs{cluster=\"a\"} 1");
  expect("muster_decisions_total{kind=\"placed\"} 1");
  expect("muster_decisions_total{kind=\"given_up\"} 1");
  expect("muster_dispatches_total{verb=\"create\"} 1");
  expect("muster_outcomes_total{outcome=\"started\"} 1");
  expect("muster_outcomes_total{outcome=\"failed\"} 1");
  expect("muster_lines_tried_total 3");
  expect("muster_events_total 3");
  expect("muster_step_seconds_bucket{le=\"0.005\"} 1");
  expect("muster_step_seconds_bucket{le=\"0.001\"} 0");
  expect("muster_job_wait_seconds_bucket{le=\"15\"} 0");
  expect("muster_job_wait_seconds_bucket{le=\"60\"} 1");
  expect("muster_store_refusals_total 0");
  expect("muster_build_info{version=\"1.2\"} 1");
}

TEST_F(MetricsTest, QueuesAreLookedAtEveryFiveSeconds) {
  queue("q");
  metrics.step(report, world, 0);
  expect("muster_queue_waiting_jobs{queue=\"q\"} 0");
  submit("j", "q");
  report.now = Time{4'999};
  metrics.step(report, world, 0);
  expect("muster_queue_waiting_jobs{queue=\"q\"} 0");
  report.now = Time{5'000};
  metrics.step(report, world, 0);
  expect("muster_queue_waiting_jobs{queue=\"q\"} 1");
}

TEST_F(MetricsTest, ARemovedQueueGoesAwayAndManyShareOneSeries) {
  queue("gone");
  metrics.step(report, world, 0);
  expect("muster_queue_waiting_jobs{queue=\"gone\"} 0");
  tell(model::QueueRemoved{"gone"});
  for (int i = 0; i < 300; ++i) {
    queue(fmt::format("q{:03}", i));
    submit(fmt::format("j{}", i), fmt::format("q{:03}", i));
  }
  report.now = Time{10'000};
  metrics.step(report, world, 0);
  expect_none("queue=\"gone\"");
  expect("muster_queue_waiting_jobs{queue=\"q000\"} 1");
  expect("muster_queue_waiting_jobs{queue=\"(others)\"} 100");
  expect_none("queue=\"q250\"");
}

TEST_F(MetricsTest, AppWrappersAreCountedByStateAndStatesOfNobodyGoAway) {
  metrics.appwrappers({{"Pending", 3}, {"Running", 1}});
  expect("muster_appwrappers{state=\"Pending\"} 3");
  metrics.appwrappers({{"Running", 2}});
  expect("muster_appwrappers{state=\"Running\"} 2");
  expect_none("state=\"Pending\"");
}

TEST_F(MetricsTest, RequestsAreCountedByRouteAndNotByWhatClientsWrite) {
  net::Access access;
  access.method = "GET";
  access.target = "/api/muster/v1/jobs/secret";
  access.route = "/api/muster/v1/jobs/{job}";
  access.status = 200;
  access.seconds = 0.003;
  metrics.http(access);
  access.method = "EVIL\nLINE";
  access.route = "";
  access.status = 404;
  access.stream_end = net::StreamEnd::TooSlow;
  metrics.http(access);
  const std::string text = metrics.text();
  EXPECT_NE(text.find("muster_http_requests_total{method=\"GET\","
                      "route=\"/api/muster/v1/jobs/{job}\",status=\"200\"} 1"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("method=\"(other)\",route=\"(none)\",status=\"404\"} 1"), std::string::npos);
  EXPECT_EQ(text.find("secret"), std::string::npos);
  EXPECT_EQ(text.find("EVIL"), std::string::npos);
  EXPECT_EQ(text.find("seconds_count{route=\"(none)\""), std::string::npos) << "streams left out";
}

TEST_F(MetricsTest, OthersNumbersAreAskedAtEachScrape) {
  double size = 3;
  metrics.watch(Metrics::Kind::Gauge, "muster_inbox_events", "Events that wait for the loop",
                [&size] { return size; });
  expect("muster_inbox_events 3");
  size = 4;
  expect("muster_inbox_events 4");
  expect("# HELP muster_inbox_events Events that wait for the loop");
}

TEST_F(MetricsTest, EveryFamilyHasAHelpText) {
  metrics.step(report, world, 0);
  metrics.error("log");
  metrics.retained({.jobs = 2, .audit = 0, .keys = 0, .payloads = 1, .journal = 9});
  metrics.logs_removed(10);
  expect("muster_retention_removed_total{kind=\"journal\"} 9");
  expect("muster_errors_total{where=\"log\"} 1");
  const std::string text = metrics.text();
  std::set<std::string> helped;
  std::size_t families = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("# HELP ")) {
      const std::size_t blank = line.find(' ', 7);
      ASSERT_NE(blank, std::string::npos) << line;
      EXPECT_GT(line.size(), blank + 10) << line;
      helped.insert(line.substr(7, blank - 7));
    } else if (line.starts_with("# TYPE ")) {
      ++families;
      EXPECT_TRUE(helped.contains(line.substr(7, line.find(' ', 7) - 7))) << line;
    }
  }
  EXPECT_EQ(families, helped.size());
  EXPECT_GE(families, 10u);
}

TEST_F(MetricsTest, CommitsAreTimed) {
  ports::MemoryStore inside;
  TimedStore store(inside, [this](double seconds, bool ok) { metrics.store_commit(seconds, ok); });
  const std::vector<model::Event> events = {{Time{0}, model::Ticked{}}};
  ASSERT_TRUE(store.commit({events}));
  ASSERT_TRUE(store.commit({}));
  expect("muster_store_commit_seconds_count 1");
  EXPECT_EQ(store.last(), inside.last());
}

}  // namespace
}  // namespace muster::api
