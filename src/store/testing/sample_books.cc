#include "store/testing/sample_books.h"

namespace muster::store {
namespace {

using namespace model;

Gang sample_gang() {
  Gang gang;
  PodSet set;
  set.name = "workers";
  set.count = 4;
  set.min_count = 2;
  set.pods_per_node = 1;
  set.pod.requests.cpu = {8000};
  set.pod.requests.memory = {std::int64_t{64} << 30};
  set.pod.requests.extended = {{"rdma/hca", 1}};
  set.pod.gpu = {8, {1000}, {std::int64_t{40} << 30}};
  set.pod.gpu_types = {"A100", "H100"};
  set.pod.node_selector = {{"disk", "ssd"}};
  set.pod.required_affinity = {{{{"zone", Operator::In, {"a", "b"}}}, {}}};
  set.pod.preferred_affinity = {{5, {{}, {{"metadata.name", Operator::NotIn, {"n9"}}}}}};
  set.pod.tolerations = {{"gpu", true, "", "NoSchedule"}};
  set.pod.labels = {{"app", "train"}};
  set.pod.pod_affinity = {{{{{"app", "train"}}, {}}, "rack"}};
  set.pod.pod_anti_affinity = {{{{}, {{"app", Operator::Exists, {}}}}, "host"}};
  set.pod.spread = {{2, "zone", {{{"app", "train"}}, {}}, false}};
  set.pod.host_ports = {8080};
  set.pod.volume_zones = {"a"};
  gang.sets = {set};
  gang.topology = TopologyDomain{"rack", false};
  gang.pool = "fast";
  gang.clusters = {"east"};
  gang.excluded_clusters = {"west"};
  gang.data_label = "images";
  gang.preemptible = false;
  gang.min_runtime = minutes(3);
  gang.on_cluster_loss = OnClusterLoss::Rerun;
  gang.max_retries = 2;
  return gang;
}

BookActive sample_active() {
  BookActive active;
  active.cluster = 1;
  active.place = 2;
  active.pods = {{0, 1, 0xff, 1000}, {0, 0, 1, 250}};
  active.charges = {{0, 8000}, {3, 16'000}};
  active.expected_end = Time{1'700'000'500'000};
  active.placed_at = Time{1'700'000'100'000};
  active.started_at = Time{1'700'000'200'000};
  active.checkpoint_at = Time{1'700'000'300'000};
  active.stopping = true;
  active.stop = StopWhy::Reclaim;
  active.cancelled = true;
  active.beneficiary = 7;
  return active;
}

BookHeader sample_header() {
  BookHeader header;
  header.hash = 0x0123456789abcdef;
  header.last = Time{1'700'000'000'000};
  header.events = 12'345;
  header.newest_submit = 99;
  header.jobs = 2;
  header.job_slots = 4;
  header.reservation_slots = 1;
  header.gpu_types = {"", "A100"};
  header.extended = {"rdma/hca"};
  header.label_keys = {"zone", "disk"};
  header.resources = {"cpu", "memory", "gpu", "gpu.A100"};
  header.scored = 10;
  header.inside_band = 7;
  header.early = 2;
  header.late = 1;
  header.error_sum_ms = -4;
  header.ratio = std::vector<std::uint32_t>(16, 3);
  return header;
}

BookQueue sample_queue() {
  BookQueue queue;
  queue.name = "vision";
  queue.tree = "teams";
  queue.parent = 3;
  queue.place = 1;
  queue.alive = true;
  queue.weight = 5;
  queue.strategy = Strategy::Fifo;
  queue.priority_cap = 70;
  queue.limits = {{2, 4000, 8000, 1000, 0}, {3, -1, 16'000, -1, -1}};
  queue.remembered = {1, 0, 123'456};
  queue.remembered_at = Time{1'699'999'999'999};
  return queue;
}

BookJob sample_job() {
  BookJob job;
  job.slot = 3;
  job.id = "k3v9c0wq2d7f";
  job.seq = 42;
  job.line = 1;
  job.history = 6;
  job.state = JobState::Stopping;
  job.attempt = 2;
  job.failures = 1;
  job.ran = true;
  job.not_yet = true;
  job.doomed = true;
  job.submitted = Time{1'699'000'000'000};
  job.eligible_at = Time{1'699'000'001'000};
  job.deadline = Time{1'800'000'000'000};
  job.finished = Time{1'700'000'000'001};
  job.depends_on = {"other", "another"};
  job.first_low = seconds(1);
  job.first_expected = seconds(2);
  job.first_high = Duration{-5};
  job.active = sample_active();
  return job;
}

}  // namespace

std::vector<BookRecord> sample_books() {
  ClusterSpec cluster{"east", {{"data", "images"}}, {{"A100", 2500}}, minutes(7)};
  cluster.admission = Admission::Draining;
  PoolSpec pool{"fast", "east", {{"disk", "ssd"}}, {{"gpu", false, "yes", "NoExecute"}}};
  BookJob waiting;
  waiting.id = "w";
  return {sample_header(),
          BookCluster{cluster, false, Health::Unreachable, Time{77}},
          BookNode{1, "node-7"},
          BookPool{pool, false},
          BookFleetPool{{"all", {"fast", "slow"}}},
          sample_queue(),
          BookShape{sample_gang(), {12}},
          BookLine{2, {4, 5}, 1, -3, hours(2), false},
          BookHistory{"ada", "train", {1000, 2000}, 1, Time{88}},
          sample_job(),
          waiting,
          BookReservation{0, 3, 1, Time{99}, true, {0, 1}, {{2, 8000}}},
          BookOrphan{3, 1, sample_active()},
          BookEnd{{2, 0}}};
}

std::vector<BookRecord> sample_books_v2() {
  BookJob job = sample_job();
  job.active->cancelled = false;
  job.active->held = true;
  return {job, BookOrphan{3, 1, sample_active()}};
}

std::vector<BookRecord> sample_books_v3() {
  BookJob job = sample_job();
  job.requeues = 5;
  return {job};
}

std::vector<BookRecord> sample_books_v4() {
  BookShape shape{sample_gang(), {12}};
  shape.gang.kinds = {"jobset.x-k8s.io/v1alpha2/JobSet", "ray.io/v1/RayCluster"};
  return {shape};
}

std::vector<BookRecord> sample_books_v5() {
  BookJob job = sample_job();
  job.active->demise = {Ailment::FailedPods, true, 3, 2, "pod p: exit code 3"};
  return {job};
}

std::vector<BookRecord> sample_books_v6() {
  BookJob job = sample_job();
  job.failed_in = {2, 0};
  return {job};
}

std::vector<BookRecord> sample_books_v7() {
  BookJob job = sample_job();
  job.spare_labels = {{0, "job-name", "a"}, {1, "", ""}};
  BookHeader header = sample_header();
  header.asked_labels = {{"app", "web"}, {"zone", std::nullopt}};
  return {header, job};
}

}  // namespace muster::store
