#include "clusters/job_environment.h"

namespace muster::clusters {

void put_over(model::Environment& under, const model::Environment& over) {
  for (const auto& [name, value] : over) under[name] = value;
}

void add_job(model::Environment& environment, const ports::Attempt& attempt,
             const model::Command& command, const std::string& set) {
  environment["MUSTER_JOB_ID"] = attempt.job;
  environment["MUSTER_JOB_NAME"] = command.name;
  environment["MUSTER_USER"] = command.user;
  environment["MUSTER_ATTEMPT"] = std::to_string(attempt.number);
  environment["MUSTER_POD_SET"] = set;
}

void add_peers(model::Environment& environment, std::int64_t pods, const std::string& first_pod) {
  environment["WORLD_SIZE"] = std::to_string(pods);
  environment["LOCAL_RANK"] = "0";
  environment["LOCAL_WORLD_SIZE"] = "1";
  environment["MASTER_ADDR"] = first_pod;
}

}  // namespace muster::clusters
