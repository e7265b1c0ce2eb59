// The nouns of the scenario language: how a line becomes a job, a node, a queue, a cluster.
//
//   submit ID queue=Q [prio=60] [limit=1h after=5m deadline=2h needs=A,B held]
//     [pods=N min=N cpu=4 mem=8Gi gpu=8 | gpu=0.5 | gpumem=10Gi | shares=4] [type=A100,T4]
//     [select:KEY=V need:KEY=Op:V|W prefer:WEIGHT=KEY:Op:V+KEY:Op:V fields=Op:NAME]
//     [tolerate:KEY=V:EFFECT] [per-node=1] [ext:NAME=2]
//     [label:K=V near:KEY=K:V away:KEY=K:V spread:KEY=SKEW:K:V[:soft] ports=80,81 zones=a,b]
//     [topology=KEY | topology-preferred=KEY] [pool=P pins=a,b not=c]
//     [data=LABEL kinds=g/v1/Kind]
//     [nonpreemptible min-run=10m on-loss=rerun] [retries=1 user=U name=N extra=Q2 seq=7]
//
//   set NAME ...
//     one more pod set of the job above, with the options of a pod
#pragma once

#include "base/result.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/node.h"
#include "model/queue.h"
#include "sim/scenario_args.h"

namespace muster::sim {

/// Everything of a submit line; `now` is what relative times count from.
model::JobSpec read_job(Args& args, Time now);
model::PodSet read_set(Args& args);
model::NodeSpec read_node(Args& args);
model::ForeignPod read_foreign(Args& args);
model::QueueSpec read_queue(Args& args);
model::ClusterSpec read_cluster(Args& args);
model::PoolSpec read_pool(Args& args);

/// The scale in which a quota resource is written: devices and cores in thousandths, the rest
/// whole.
model::Scale scale_of(std::string_view resource);

}  // namespace muster::sim
