#include "sim/scenario_specs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "model/host_port.h"

namespace muster::sim {
namespace {

using model::Scale;

std::vector<std::string> words_between(std::string_view text, char separator) {
  std::vector<std::string> words;
  for (const auto part : split(text, separator)) words.emplace_back(part);
  return words;
}

/// "Op" or "Op:V|W".
model::Requirement requirement(Args& args, const std::string& key, std::string_view text) {
  model::Requirement r;
  r.key = key;
  const std::size_t colon = text.find(':');
  const auto op = model::parse_operator(text.substr(0, colon), key);
  if (!op)
    args.fail(op.error().message);
  else
    r.op = *op;
  if (colon != std::string_view::npos) r.values = words_between(text.substr(colon + 1), '|');
  return r;
}

model::Toleration toleration(Args& args, const std::string& key, std::string_view text) {
  model::Toleration t;
  t.key = key == "*" ? "" : key;
  const auto parts = split(text, ':');
  if (parts.size() > 2)
    args.fail("tolerate: write tolerate:KEY=VALUE or tolerate:KEY=VALUE:EFFECT");
  t.exists = parts[0] == "*";
  if (!t.exists) t.value = parts[0];
  if (parts.size() > 1) t.effect = parts[1];
  return t;
}

model::LabelSelector selector(std::string_view key, std::string_view value) {
  return {{{std::string(key), std::string(value)}}, {}};
}

/// "80" or "53/UDP".
std::vector<int> read_ports(Args& args) {
  std::vector<int> ports;
  for (const auto& text : args.list("ports")) {
    const std::size_t slash = text.find('/');
    const auto number = parse_int(text.substr(0, slash), "ports", 1, 65535);
    const auto protocol =
        model::parse_protocol(slash == std::string::npos ? "" : text.substr(slash + 1));
    if (!number)
      args.fail(number.error().message);
    else if (!protocol)
      args.fail("ports: write 80, 53/UDP or 53/SCTP");
    else
      ports.push_back(model::host_port(static_cast<int>(*number), *protocol));
  }
  return ports;
}

void read_relations(Args& args, model::PodShape& pod) {
  for (const auto& [key, value] : args.named("near")) {
    const auto parts = split(value, ':');
    if (parts.size() != 2)
      args.fail("near: write near:KEY=LABEL:VALUE");
    else
      pod.pod_affinity.push_back({selector(parts[0], parts[1]), key});
  }
  for (const auto& [key, value] : args.named("away")) {
    const auto parts = split(value, ':');
    if (parts.size() != 2)
      args.fail("away: write away:KEY=LABEL:VALUE");
    else
      pod.pod_anti_affinity.push_back({selector(parts[0], parts[1]), key});
  }
  for (const auto& [key, value] : args.named("spread")) {
    const auto parts = split(value, ':');
    const bool is_soft = parts.size() == 4 && parts[3] == "soft";
    if (parts.size() != 3 && !is_soft) {
      args.fail("spread: write spread:KEY=SKEW:LABEL:VALUE, and :soft behind it if it is a wish");
      continue;
    }
    model::Spread spread;
    const auto skew = parse_int(parts[0], "spread", 1, 1'000'000);
    if (!skew)
      args.fail(skew.error().message);
    else
      spread.max_skew = static_cast<int>(*skew);
    spread.topology_key = key;
    spread.selector = selector(parts[1], parts[2]);
    spread.required = !is_soft;
    pod.spread.push_back(spread);
  }
  pod.host_ports = read_ports(args);
}

void read_gpu(Args& args, model::GpuAsk& gpu) {
  const std::int64_t milli = args.milli("gpu", 0);
  gpu.count = static_cast<int>(std::min<std::int64_t>((milli + 999) / 1000, 1'000'000));
  if (milli % 1000 != 0 && milli > 1000)
    args.fail("gpu: a share is of one device: write 0.5, or whole devices");
  gpu.each.v = milli > 0 && milli < 1000 ? milli : 1000;
  const std::int64_t memory = args.quantity("gpumem", 0, Scale::Whole);
  const std::int64_t shares = args.number("shares", 0, 0, 1000);
  if ((memory > 0 && shares > 0) || ((memory > 0 || shares > 0) && milli != 0 && milli != 1000))
    args.fail("gpu: gpumem and shares are of one device: write one of gpu, gpumem and shares");
  if (memory > 0) {
    gpu.count = 1;
    gpu.memory_each.v = memory;
  }
  if (shares > 0) {
    gpu.count = 1;
    gpu.each.v = 1000 / shares;
  }
}

void read_pod(Args& args, model::PodShape& pod) {
  pod.requests.cpu.v = args.quantity("cpu", 0, Scale::Milli);
  pod.requests.memory.v = args.quantity("mem", 0, Scale::Whole);
  for (const auto& [name, value] : args.named("ext")) {
    const auto amount = model::parse_quantity(value, name, Scale::Whole);
    if (!amount)
      args.fail(amount.error().message);
    else
      pod.requests.extended[name] = *amount;
  }
  read_gpu(args, pod.gpu);
  pod.gpu_types = args.list("type");
  for (const auto& [key, value] : args.named("select")) pod.node_selector[key] = value;
  model::NodeTerm term;
  for (const auto& [key, value] : args.named("need"))
    term.expressions.push_back(requirement(args, key, value));
  if (const auto fields = args.text("fields"))
    term.fields.push_back(requirement(args, "metadata.name", *fields));
  if (!term.expressions.empty() || !term.fields.empty()) pod.required_affinity.push_back(term);
  for (const auto& [weight, value] : args.named("prefer")) {
    const auto parsed = parse_int(weight, "prefer", 1, 100);
    model::PreferredTerm preferred;
    for (const std::string_view part : split(value, '+')) {
      const std::size_t colon = part.find(':');
      if (!parsed || colon == std::string_view::npos) {
        args.fail("prefer: write prefer:WEIGHT=KEY:Op:VALUE, with more of them after a +");
        break;
      }
      const std::string key(part.substr(0, colon));
      auto& into = key == "metadata.name" ? preferred.term.fields : preferred.term.expressions;
      into.push_back(requirement(args, key, part.substr(colon + 1)));
    }
    if (parsed) preferred.weight = static_cast<int>(*parsed);
    pod.preferred_affinity.push_back(std::move(preferred));
  }
  for (const auto& [key, value] : args.named("tolerate"))
    pod.tolerations.push_back(toleration(args, key, value));
  for (const auto& [key, value] : args.named("label")) pod.labels[key] = value;
  read_relations(args, pod);
  pod.volume_zones = args.list("zones");
}

}  // namespace

Scale scale_of(std::string_view resource) {
  const bool milli = resource == "cpu" || resource == "gpu" || resource.starts_with("gpu.");
  return milli ? Scale::Milli : Scale::Whole;
}

model::PodSet read_set(Args& args) {
  model::PodSet set;
  set.count = static_cast<int>(args.number("pods", 1, -1'000'000, 10'000'000));
  set.min_count = static_cast<int>(args.number("min", 0, -1'000'000, 10'000'000));
  set.pods_per_node = static_cast<int>(args.number("per-node", 0, 0, 10'000));
  read_pod(args, set.pod);
  return set;
}

model::JobSpec read_job(Args& args, Time now) {
  model::JobSpec job;
  job.id = args.word();
  job.queue = args.text("queue").value_or("");
  job.user = args.text("user").value_or("someone");
  job.name = args.text("name").value_or(job.id);
  job.extra_queues = args.list("extra");
  job.priority = static_cast<int>(args.number("prio", 50, -2'000'000'000, 2'000'000'000));
  job.run_limit = args.duration("limit", Duration{0});
  if (const Duration after = args.duration("after", Duration{0}); after.ms > 0)
    job.start_after = now + after;
  if (const Duration d = args.duration("deadline", Duration{0}); d.ms > 0) job.deadline = now + d;
  job.depends_on = args.list("needs");
  job.held = args.flag("held");
  model::Gang& gang = job.gang;
  if (const auto key = args.text("topology")) gang.topology = model::TopologyDomain{*key, true};
  if (const auto key = args.text("topology-preferred"))
    gang.topology = model::TopologyDomain{*key, false};
  gang.pool = args.text("pool").value_or("");
  gang.clusters = args.list("pins");
  gang.excluded_clusters = args.list("not");
  gang.kinds = args.list("kinds");
  gang.data_label = args.text("data").value_or("");
  gang.preemptible = !args.flag("nonpreemptible");
  gang.min_runtime = args.duration("min-run", Duration{0});
  if (const auto choice = args.text("on-loss")) {
    if (*choice == "rerun")
      gang.on_cluster_loss = model::OnClusterLoss::Rerun;
    else if (*choice != "wait")
      args.fail("on-loss: write wait or rerun");
  }
  gang.max_retries = static_cast<int>(args.number("retries", 0, 0, 1000));
  gang.sets.push_back(read_set(args));
  return job;
}

model::NodeSpec read_node(Args& args) {
  model::NodeSpec node;
  node.allocatable.cpu.v = args.quantity("cpu", 64'000, Scale::Milli);
  node.allocatable.memory.v = args.quantity("mem", std::int64_t{512} << 30, Scale::Whole);
  node.pods_max = static_cast<int>(args.number("pods", 110, 0, 100'000));
  if (const auto gpu = args.text("gpu")) {  // 8xA100, or 8
    const std::size_t x = gpu->find('x');
    const auto count = parse_int(gpu->substr(0, x), "gpu", 0, 16);
    if (!count)
      args.fail(count.error().message);
    else
      node.gpu_count = static_cast<int>(*count);
    node.gpu_type = x == std::string::npos ? "GPU" : gpu->substr(x + 1);
  }
  node.gpu_memory.v = args.quantity("gpumem", 0, Scale::Whole);
  for (const auto& [key, value] : args.named("label")) node.labels[key] = value;
  for (const auto& [key, value] : args.named("taint")) {
    const auto parts = split(value, ':');
    if (parts.size() > 2) args.fail("taint: write taint:KEY=VALUE or taint:KEY=VALUE:EFFECT");
    const auto effect = model::parse_effect(parts.size() > 1 ? parts[1] : "NoSchedule", "taint");
    if (!effect)
      args.fail(effect.error().message);
    else
      node.taints.push_back({key, std::string(parts[0]), *effect});
  }
  for (const auto& [name, value] : args.named("ext")) {
    const auto amount = model::parse_quantity(value, name, Scale::Whole);
    if (!amount)
      args.fail(amount.error().message);
    else
      node.allocatable.extended[name] = *amount;
  }
  node.ready = !args.flag("notready");
  node.cordoned = args.flag("cordoned");
  return node;
}

model::ForeignPod read_foreign(Args& args) {
  model::ForeignPod pod;
  pod.requests.cpu.v = args.quantity("cpu", 0, Scale::Milli);
  pod.requests.memory.v = args.quantity("mem", 0, Scale::Whole);
  pod.gpus = static_cast<int>(args.number("gpu", 0, 0, 16));
  for (const auto& [key, value] : args.named("label")) pod.labels[key] = value;
  pod.host_ports = read_ports(args);
  return pod;
}

model::QueueSpec read_queue(Args& args) {
  model::QueueSpec queue;
  queue.name = args.word();
  queue.parent = args.text("parent").value_or("");
  queue.tree = args.text("tree").value_or("");
  queue.weight = static_cast<std::uint32_t>(args.number("weight", 1, 0, 65535));
  queue.priority_cap =
      static_cast<int>(args.number("cap", 1'000'000'000, -1'000'000, 1'000'000'000));
  if (const auto strategy = args.text("strategy")) {
    if (*strategy == "fifo")
      queue.strategy = model::Strategy::Fifo;
    else if (*strategy == "skip-ahead")
      queue.strategy = model::Strategy::SkipAhead;
    else if (*strategy != "backfill")
      args.fail("strategy: write backfill, skip-ahead or fifo");
  }
  const auto amounts = [&](std::string_view kind,
                           std::optional<std::int64_t> model::Limit::* field) {
    for (const auto& [resource, value] : args.named(kind)) {
      const auto amount = model::parse_quantity(value, resource, scale_of(resource));
      if (!amount)
        args.fail(amount.error().message);
      else
        queue.limits[resource].*field = *amount;
    }
  };
  amounts("guaranteed", &model::Limit::guaranteed);
  amounts("max", &model::Limit::maximum);
  amounts("borrow", &model::Limit::borrow);
  amounts("lend", &model::Limit::lend);
  return queue;
}

model::ClusterSpec read_cluster(Args& args) {
  model::ClusterSpec cluster;
  cluster.name = args.word();
  for (const auto& [key, value] : args.named("label")) cluster.labels[key] = value;
  for (const auto& [type, value] : args.named("price")) {
    const auto price = model::parse_quantity(value, "price", Scale::Milli);
    if (!price)
      args.fail(price.error().message);
    else
      cluster.gpu_price_milli[type] = *price;
  }
  cluster.grace = args.duration("grace", minutes(5));
  return cluster;
}

model::PoolSpec read_pool(Args& args) {
  model::PoolSpec pool;
  pool.name = args.word();
  pool.cluster = args.text("cluster").value_or("");
  for (const auto& [key, value] : args.named("select")) pool.node_selector[key] = value;
  for (const auto& [key, value] : args.named("tolerate"))
    pool.tolerations.push_back(toleration(args, key, value));
  return pool;
}

}  // namespace muster::sim
