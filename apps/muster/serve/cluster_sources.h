// Where clusters are found besides the configuration and the API: folders of kubeconfigs, labelled
// Secrets and ClusterProfiles of a cluster that is joined, the hub. Each source gives descriptions
// of clusters with their kubeconfigs in them; who joins and leaves because of it is decided
// elsewhere, the same way for all.
//
// Thread contract: look() from one thread, which it may keep waiting for a hub; secret() from any.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps/muster/serve/cluster_access.h"
#include "base/time.h"
#include "config/config.h"
#include "kube/client.h"

namespace muster::app {

struct Sighting {
  std::vector<config::Cluster> clusters;  // names are unique
  std::vector<std::string> problems;      // for the log
  /// Everything could be read: what is not here is gone.
  bool is_whole = true;
  /// Names of those that a look before this one saw where now they are no more, whatever else could
  /// be read.
  std::set<std::string> gone = {};
};

class ClusterSources {
 public:
  /// What the sources of the configuration have. Folders are read each time, hubs every few
  /// seconds. `accesses` are those of the clusters that are joined.
  Sighting look(const config::Config& config, const Accesses& accesses, Time now);

  /// The text that look() found last; an error says why there is none.
  Result<std::string> secret(const config::SecretRef& ref) const;

 private:
  struct Hub {
    std::string reached_by;
    std::unique_ptr<kube::Client> client;
  };
  /// What one source has, in places: files, Secrets or profiles.
  struct Sight {
    std::vector<std::pair<std::string, config::Cluster>> found;  // with their places
    std::vector<std::string> problems;
    std::set<std::string> unread;  // places that may have more than was found there
    bool is_read = true;           // it is known which places there are
  };
  /// When a hub is asked again.
  struct Turn {
    Time again;         // not before
    Duration pause{0};  // grows while it fails
    void next(Time now, bool has_answered);
  };
  struct Remembered {
    Sight seen;
    Turn turn;
  };
  /// Of a kubeconfig: the contexts that can be used, and what the others lack.
  struct Contexts {
    std::vector<kube::Access> accesses;
    std::vector<std::string> problems;
  };
  using Place = std::pair<std::string, std::string>;                      // source, place in it
  using Look = std::vector<std::pair<std::string, Result<std::string>>>;  // place, kubeconfig

  static Contexts contexts_of(const std::string& text, const std::string& place, Trust trust,
                              const std::vector<std::string>& exec_plugins);
  static Contexts with_files(const std::string& place, Contexts contexts);
  static void add(const config::ClusterSource& source, const std::string& place,
                  const Contexts& contexts, Sight& seen);
  Sight look_at_directory(const config::ClusterSource& source);
  const Sight& look_at_hub_if_due(const config::Config& config, const config::ClusterSource& source,
                                  const Accesses& accesses, Time now);
  Sight look_at_hub(const config::Config& config, const config::ClusterSource& source,
                    const Accesses& accesses);
  Result<Look> secrets_of(const config::HubSecrets& from, const Accesses& accesses);
  Result<Look> profiles_of(const config::HubProfiles& from, const Accesses& accesses);
  void read_secrets(const config::Config& config, const Accesses& accesses, Time now);
  using Texts = std::map<std::string, Result<std::string>>;  // by key_of the reference
  Texts secrets_from(const std::string& hub, const std::vector<const config::SecretRef*>& wanted,
                     const Accesses& accesses, bool& has_answered);
  Result<kube::Client*> client_of(const std::string& cluster, const Accesses& accesses);

  struct Parsed {
    std::string text;
    Contexts contexts;
  };
  std::map<std::string, Parsed> files_;
  std::map<std::string, Hub> hubs_;
  std::map<std::string, Remembered> remembered_;  // by what the source says
  std::map<std::string, Place> places_;           // where each cluster was seen last, by name
  std::map<std::string, Turn> turns_;             // by hub: of Secrets that clusters name
  mutable std::mutex mutex_;
  Texts secrets_;  // guarded by mutex_
};

}  // namespace muster::app
