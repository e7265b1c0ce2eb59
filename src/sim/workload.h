// What a simulation runs: a fleet, queues, and jobs with their true run times. Made by a generator
// or read from a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/prng.h"
#include "base/result.h"
#include "base/time.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/node.h"
#include "model/queue.h"
#include "sched/policy.h"

namespace muster::sim {

struct SimJob {
  model::JobSpec spec;
  Time submit;
  Duration run_time;
  int failures = 0;  // so many attempts end badly before one ends well
  Time cancel = Time::never();
  Time hold = Time::never();  // and stopped, if it runs
  Time release = Time::never();
  Duration checkpoint{0};  // it saves its work this often; 0: never
};

struct Machine {
  std::string cluster;
  model::NodeSpec node;
};

/// Failure: a node fails, or the whole cluster is cut off. Cordon: takes no more jobs. Drain (of a
/// cluster): nor keeps those it has.
enum class Trouble { Failure, Cordon, Drain };

/// Something that happens to the fleet at a known time. An empty node means the whole cluster.
struct Incident {
  Time at;
  Duration lasts;
  std::string cluster;
  std::string node;
  Trouble kind = Trouble::Failure;
};

/// How quick the simulated clusters are.
struct Timing {
  Duration request = milliseconds(20);  // a call to the API server
  Duration watch = milliseconds(20);    // an event on its way back
  Duration start = seconds(3);          // from create to running
  Duration grace = seconds(5);          // from delete to gone
};

struct Workload {
  std::string name;
  std::vector<model::ClusterSpec> clusters;
  std::vector<model::PoolSpec> pools;
  std::vector<model::FleetPoolSpec> fleet_pools;
  std::vector<model::QueueSpec> queues;
  std::vector<Machine> machines;
  std::vector<SimJob> jobs;  // by (submit, id)
  std::vector<Incident> incidents;
  sched::Policy policy;
  Timing timing;
};

struct GenerateOptions {
  std::uint64_t seed = 1;
  int jobs = 0;      // 0: as many as the generator likes
  Duration span{0};  // over which jobs arrive; 0: as the generator likes
};

/// Two clusters, three queues, 200 jobs with an urgent gang among them, a node that fails.
Workload demo_workload(const GenerateOptions& options);
/// Everything a job can ask for, at random; every job can run on the healthy fleet.
Workload random_workload(const GenerateOptions& options);
/// Kueue's published baseline: 5 cohorts of 6 queues of 500 workloads.
Workload kueue_workload();

struct ReadOptions {
  std::string nodes_file;      // of an openb pod list; empty: the node list that stands beside it
  int gpus = 0;                // of the fleet made for a .trace file; 0: chosen from its demand
  std::size_t first_jobs = 0;  // so many of the file will run; 0: all
};

/// How much a file may ask for: a few bytes of it can mean any number of jobs.
struct ReadLimits {
  std::size_t jobs = 1'000'000;
  std::size_t machines = 100'000;
  std::size_t queues = 10'000;
};

/// Reads a file by its kind: .yaml is a Kueue generator, .csv an openb pod list, .trace a
/// philly-gavel trace. Errors name the file and the line.
Result<Workload> read_workload(const std::string& path, const ReadOptions& options);

}  // namespace muster::sim
