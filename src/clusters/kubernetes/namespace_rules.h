// What a namespace allows: LimitRanges, which give pods defaults and bounds, and ResourceQuotas,
// which bound all of them together. Looked at before anything is made, so that a gang that would
// stay half-made is never begun. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "manifest/amounts.h"

namespace muster::clusters {

/// Of a LimitRange the parts for containers and pods.
struct LimitRule {
  std::string ns = {};
  std::string range = {};  // name of the LimitRange
  bool is_of_pod = false;  // else of each container
  manifest::Amounts default_limits = {};
  manifest::Amounts default_requests = {};
  manifest::Amounts min = {};
  manifest::Amounts max = {};
  std::map<std::string, std::int64_t> ratio = {};  // of limit to request at most, in thousandths
};
std::vector<LimitRule> limit_rules_of(const boost::json::value& limit_range);

struct QuotaSight {
  std::string ns = {};
  std::string name = {};
  std::map<std::string, std::int64_t> hard = {};  // by the quota's own words: "requests.cpu"
  std::map<std::string, std::int64_t> used = {};
  std::vector<std::string> scopes = {};
  /// Priority classes it is for, when it names any.
  std::vector<std::string> priority_classes = {};
  bool has_unknown_scope = false;  // of a kind that cannot be judged here: the server will
};
QuotaSight quota_sight_of(const boost::json::value& quota);

struct NamespaceRules {
  std::vector<LimitRule> limits = {};
  std::vector<QuotaSight> quotas = {};
};

/// Pods of one template.
struct PodsAsked {
  boost::json::value pod = {};  // a map with spec
  std::int64_t count = 1;
  boost::json::object overhead = {};  // of its RuntimeClass; empty: none, or the pod says it
};

/// What the server would put in: requests and limits of containers that have none.
void put_defaults(boost::json::value& pod, const std::vector<LimitRule>& rules);

/// Fault::Invalid: no pod like this is allowed here, ever. Names the LimitRange and the amounts.
Status check_limits(const boost::json::value& pod, const std::vector<LimitRule>& rules);

/// By a quota's name and its word.
using QuotaAmounts = std::map<std::pair<std::string, std::string>, std::int64_t>;
struct QuotaAsks {
  QuotaAmounts by_pods = {};     // all together
  QuotaAmounts by_objects = {};  // beside them
};
/// What is asked of each quota. `objects` counts what is made beside the pods: "count/jobs.batch".
/// Fault::Invalid: a quota wants every pod to say something that one of these does not say.
Result<QuotaAsks> asks_of(const std::vector<PodsAsked>& pods,
                          const std::map<std::string, std::int64_t>& objects,
                          const std::vector<QuotaSight>& quotas);
/// Fault::Conflict: no room, now or until the quota is raised. Names quota and amounts.
Status check_quotas(const QuotaAsks& asks, const std::vector<QuotaSight>& quotas);

/// All of it, for what is about to be made: what it asks of the quotas. `pods` get their defaults
/// first.
Result<QuotaAsks> check_namespace(const NamespaceRules& rules, std::vector<PodsAsked> pods,
                                  const std::map<std::string, std::int64_t>& objects);
/// What objects count as in a quota: "count/jobs.batch", and "services" and the like.
std::map<std::string, std::int64_t> counted(const std::vector<boost::json::value>& objects);
/// The pods of indexed Jobs, as commands become them.
std::vector<PodsAsked> pods_of_jobs(const std::vector<boost::json::value>& objects);

}  // namespace muster::clusters
