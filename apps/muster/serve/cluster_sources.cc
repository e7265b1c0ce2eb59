#include "apps/muster/serve/cluster_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "kube/cluster_profile.h"
#include "kube/files.h"
#include "kube/json.h"
#include "kube/kubeconfig.h"
#include "kube/requests.h"
#include "kube/self_contained.h"
#include "kube/yaml.h"
#include "net/base64.h"

namespace muster::app {

namespace {

namespace json = boost::json;

constexpr Duration hub_pause = seconds(3);
constexpr Duration hub_pause_max = seconds(60);
constexpr Duration hub_timeout = seconds(3);

config::Cluster described(const config::ClusterSource& source, const kube::Access& access) {
  config::Cluster cluster;
  cluster.name = kube::plain_name(access.context);
  cluster.type = config::ClusterType::Kubernetes;
  cluster.labels = source.labels;
  cluster.grace = source.grace;
  cluster.kubeconfig_inline = kube::kubeconfig_of(access);
  cluster.kube_namespace = source.kube_namespace;
  cluster.namespaces = source.namespaces;
  cluster.image = source.image;
  cluster.node_binding = source.node_binding;
  cluster.ready_within = source.ready_within;
  cluster.pod = source.pod;
  return cluster;
}

bool is_in(const std::vector<config::Cluster>& clusters, const std::string& name) {
  return std::any_of(clusters.begin(), clusters.end(),
                     [&](const config::Cluster& cluster) { return cluster.name == name; });
}

std::string key_of(const config::SecretRef& ref) {
  return fmt::format("{}/{}/{}/{}", ref.cluster, ref.kube_namespace, ref.name, ref.key);
}

Result<std::string> data_of(const json::value& secret, const std::string& key) {
  const std::string_view encoded = kube::text_at(secret, {"data", key});
  if (encoded.empty())
    return invalid(fmt::format("Secret {}: has no key {}", kube::key_of(secret), key));
  auto decoded = net::base64_decode(encoded);
  if (!decoded) return invalid(fmt::format("Secret {}: is not base64", kube::key_of(secret)));
  return decoded;
}

std::string title_of(const config::ClusterSource& source) {
  if (source.directory) return *source.directory;
  if (source.secrets)
    return fmt::format("Secrets {} in {}/{}", source.secrets->selector, source.secrets->cluster,
                       source.secrets->kube_namespace);
  return fmt::format("ClusterProfiles in {}/{}", source.profiles->cluster,
                     source.profiles->kube_namespace);
}

}  // namespace

Sighting ClusterSources::look(const config::Config& config, const Accesses& accesses, Time now) {
  read_secrets(config, accesses, now);
  Sighting all;
  std::set<Place> unread;  // those of a source of which nothing is known: {source, ""}
  for (const config::ClusterSource& source : config.cluster_sources) {
    const std::string title = title_of(source);
    const Sight seen = source.directory ? look_at_directory(source)
                                        : look_at_hub_if_due(config, source, accesses, now);
    if (!seen.is_read) unread.emplace(title, "");
    for (const std::string& place : seen.unread) unread.emplace(title, place);
    all.problems.insert(all.problems.end(), seen.problems.begin(), seen.problems.end());
    for (const auto& [place, cluster] : seen.found) {
      if (is_in(all.clusters, cluster.name)) {
        all.problems.push_back(
            fmt::format("{}: there is a cluster {} already; give the context another name", place,
                        cluster.name));
        continue;
      }
      places_.insert_or_assign(cluster.name, Place{title, place});
      all.clusters.push_back(cluster);
    }
  }
  all.is_whole = unread.empty();
  for (const auto& [name, place] : places_) {
    const bool may_be_there = unread.contains(place) || unread.contains(Place{place.first, ""});
    if (!may_be_there && !is_in(all.clusters, name)) all.gone.insert(name);
  }
  return all;
}

// ----------------------------------------------------------------------------------------------
// one kubeconfig

/// Of the context it names as current, or of all of them.
ClusterSources::Contexts ClusterSources::contexts_of(const std::string& text,
                                                     const std::string& place, Trust trust,
                                                     const std::vector<std::string>& exec_plugins) {
  const auto config = kube::parse_kubeconfig(text, place);
  if (!config) return {{}, {config.error().message}};
  std::vector<std::string> names = {config->current_context};
  if (config->current_context.empty()) {
    names.clear();
    for (const kube::ContextEntry& context : config->contexts) names.push_back(context.name);
  }
  if (names.empty()) return {{}, {place + ": has no context"}};
  Contexts contexts;
  for (const std::string& name : names) {
    auto access = access_of_text(text, name, place, trust, exec_plugins);
    if (access)
      contexts.accesses.push_back(std::move(*access));
    else
      contexts.problems.push_back(access.error().message);
  }
  return contexts;
}

/// With the files that they name now.
ClusterSources::Contexts ClusterSources::with_files(const std::string& place, Contexts contexts) {
  Contexts whole{{}, std::move(contexts.problems)};
  for (kube::Access& access : contexts.accesses) {
    auto copied = kube::copy_files(std::move(access));
    if (copied)
      whole.accesses.push_back(std::move(copied->access));
    else
      whole.problems.push_back(place + ": " + copied.error().message);
  }
  return whole;
}

void ClusterSources::add(const config::ClusterSource& source, const std::string& place,
                         const Contexts& contexts, Sight& seen) {
  if (!contexts.problems.empty()) seen.unread.insert(place);
  seen.problems.insert(seen.problems.end(), contexts.problems.begin(), contexts.problems.end());
  for (const kube::Access& access : contexts.accesses) {
    config::Cluster cluster = described(source, access);
    if (cluster.name.empty())
      seen.problems.push_back(fmt::format("{}: context '{}' gives no name", place, access.context));
    else
      seen.found.emplace_back(place, std::move(cluster));
  }
}

// ----------------------------------------------------------------------------------------------
// one source

ClusterSources::Sight ClusterSources::look_at_directory(const config::ClusterSource& source) {
  Sight seen;
  std::error_code wrong;
  std::set<std::string> files;
  for (std::filesystem::directory_iterator it(*source.directory, wrong), end; !wrong && it != end;
       it.increment(wrong)) {
    std::error_code unknown;
    const bool is_hidden = it->path().filename().string().starts_with(".");
    if (!is_hidden && it->is_regular_file(unknown)) files.insert(it->path().string());
  }
  if (wrong) {
    seen.problems.push_back(fmt::format("{}: {}", *source.directory, wrong.message()));
    seen.is_read = false;
    return seen;
  }
  for (const std::string& file : files) {
    const auto text = kube::read_small_file(file);
    if (!text) {
      seen.problems.push_back(fmt::format("{}: {}", file, text.error().message));
      seen.unread.insert(file);
      continue;
    }
    const auto known = files_.find(file);
    if (known == files_.end() || known->second.text != *text)
      files_.insert_or_assign(file, Parsed{*text, contexts_of(*text, file, Trust::Operator, {})});
    add(source, file, with_files(file, files_.at(file).contexts), seen);
  }
  return seen;
}

const ClusterSources::Sight& ClusterSources::look_at_hub_if_due(const config::Config& config,
                                                                const config::ClusterSource& source,
                                                                const Accesses& accesses,
                                                                Time now) {
  Remembered& kept = remembered_[title_of(source)];
  if (now < kept.turn.again) return kept.seen;
  kept.seen = look_at_hub(config, source, accesses);
  kept.turn.next(now, kept.seen.is_read);
  return kept.seen;
}

void ClusterSources::Turn::next(Time now, bool has_answered) {
  pause = has_answered ? hub_pause : std::clamp(Duration{pause.ms * 2}, hub_pause, hub_pause_max);
  again = now + pause;
}

ClusterSources::Sight ClusterSources::look_at_hub(const config::Config& config,
                                                  const config::ClusterSource& source,
                                                  const Accesses& accesses) {
  Sight seen;
  const auto look = source.secrets ? secrets_of(*source.secrets, accesses)
                                   : profiles_of(*source.profiles, accesses);
  if (!look) {
    seen.problems.push_back(fmt::format("{}: {}", title_of(source), look.error().message));
    seen.is_read = false;
    return seen;
  }
  // The programs of profiles are those of the operator's own file.
  const Trust trust = source.secrets ? Trust::Sender : Trust::Operator;
  for (const auto& [place, text] : *look)
    add(source, place,
        text ? contexts_of(*text, place, trust, config.exec_plugins)
             : Contexts{{}, {text.error().message}},
        seen);
  return seen;
}

Result<ClusterSources::Look> ClusterSources::secrets_of(const config::HubSecrets& from,
                                                        const Accesses& accesses) {
  const auto client = client_of(from.cluster, accesses);
  if (!client) return client.error();
  const auto list = (*client)->send(kube::list_request(
      kube::resources::secrets(), from.kube_namespace, {.label_selector = from.selector}));
  if (!list) return list.error().to_error();
  Look found;
  for (const json::value& secret : kube::items_at(*list, {"items"})) {
    found.emplace_back(fmt::format("Secret {}", kube::key_of(secret)), data_of(secret, from.key));
  }
  return found;
}

Result<ClusterSources::Look> ClusterSources::profiles_of(const config::HubProfiles& from,
                                                         const Accesses& accesses) {
  const auto file = kube::read_small_file(from.providers);
  if (!file)
    return Error{file.error().fault,
                 fmt::format("providers: {}: {}", from.providers, file.error().message)};
  const auto providers = kube::parse_yaml(*file);
  if (!providers || providers->size() != 1)
    return invalid(fmt::format("providers: {}: {}", from.providers,
                               providers ? "is not one document" : providers.error().message));
  const auto client = client_of(from.cluster, accesses);
  if (!client) return client.error();
  const auto list =
      (*client)->send(kube::list_request(kube::cluster_profiles(), from.kube_namespace));
  if (!list) return list.error().to_error();
  Look found;
  for (const json::value& profile : kube::items_at(*list, {"items"})) {
    auto text = kube::kubeconfig_of_profile(profile, providers->front());
    if (!text && text.error().fault == Fault::NotFound) continue;  // not for us
    found.emplace_back(fmt::format("ClusterProfile {}", kube::key_of(profile)), std::move(text));
  }
  return found;
}

void ClusterSources::read_secrets(const config::Config& config, const Accesses& accesses,
                                  Time now) {
  std::map<std::string, std::vector<const config::SecretRef*>> wanted;  // by hub
  for (const config::Cluster& cluster : config.clusters) {
    if (cluster.kubeconfig_secret)
      wanted[cluster.kubeconfig_secret->cluster].push_back(&*cluster.kubeconfig_secret);
  }
  for (const auto& [hub, refs] : wanted) {
    Turn& turn = turns_[hub];
    if (now < turn.again) continue;
    bool has_answered = true;
    Texts read = secrets_from(hub, refs, accesses, has_answered);
    turn.next(now, has_answered);
    const std::lock_guard lock(mutex_);
    for (auto& [key, text] : read) {
      const auto known = secrets_.find(key);
      // A hub that cannot be asked takes nobody's credentials away.
      const bool keeps = !text && text.error().fault == Fault::Unavailable &&
                         known != secrets_.end() && known->second.ok();
      if (!keeps) secrets_.insert_or_assign(key, std::move(text));
    }
  }
}

/// A hub that does not answer is not asked for the others: all other clusters wait meanwhile.
ClusterSources::Texts ClusterSources::secrets_from(
    const std::string& hub, const std::vector<const config::SecretRef*>& wanted,
    const Accesses& accesses, bool& has_answered) {
  Texts read;
  const auto client = client_of(hub, accesses);
  std::optional<Error> silence;
  if (!client) silence = client.error();
  for (const config::SecretRef* ref : wanted) {
    if (silence) {
      read.insert_or_assign(key_of(*ref), *silence);
      continue;
    }
    const auto secret = (*client)->send(
        kube::get_request(kube::resources::secrets(), ref->kube_namespace, ref->name));
    Result<std::string> text =
        secret ? data_of(*secret, ref->key) : Result<std::string>(secret.error().to_error());
    if (!secret && secret.error().code == 0) {  // another Secret may still be readable
      silence = text.error();
      has_answered = false;
    }
    read.insert_or_assign(key_of(*ref), std::move(text));
  }
  return read;
}

Result<std::string> ClusterSources::secret(const config::SecretRef& ref) const {
  const std::lock_guard lock(mutex_);
  const auto found = secrets_.find(key_of(ref));
  if (found != secrets_.end()) return found->second;
  return Error{Fault::Unavailable, fmt::format("Secret {}/{} of cluster {} was not read yet",
                                               ref.kube_namespace, ref.name, ref.cluster)};
}

Result<kube::Client*> ClusterSources::client_of(const std::string& cluster,
                                                const Accesses& accesses) {
  const auto access = accesses.find(cluster);
  if (access == accesses.end())
    return Error{Fault::NotFound,
                 fmt::format("cluster {} is no Kubernetes that is joined", cluster)};
  if (!access->second) return access->second.error();
  const std::string way = fingerprint(access->second);
  Hub& hub = hubs_[cluster];
  if (hub.client == nullptr || hub.reached_by != way) {
    kube::ClientOptions options;
    options.connect_timeout = hub_timeout;
    options.timeout = hub_timeout;
    options.attempts_max = 1;
    options.read_attempts_max = 1;
    options.credentials.exec.time = hub_timeout;  // of a plugin that hangs
    auto client = kube::Client::make(*access->second, options);
    if (!client) return client.error();
    hub = {way, std::move(*client)};
  }
  return hub.client.get();
}

}  // namespace muster::app
