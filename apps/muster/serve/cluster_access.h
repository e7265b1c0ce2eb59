// How a Kubernetes cluster of the configuration is reached: its kubeconfig read, wherever it is,
// and held against who wrote it.
//
// A kubeconfig can name files, which are then sent to whatever server it names, and programs, which
// are run. In the operator's own files both are fine. One that came by the API or from a Secret may
// name no files, and only programs of `exec_plugins`.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "kube/access.h"

namespace muster::app {

enum class Trust { Operator, Sender };

/// The context of a kubeconfig's text. `origin` stands in messages.
Result<kube::Access> access_of_text(const std::string& text, const std::string& context,
                                    const std::string& origin, Trust trust,
                                    const std::vector<std::string>& exec_plugins);

using SecretReader = std::function<Result<std::string>(const config::SecretRef&)>;

/// Reads again and again what may have changed, and parses only what did. Not thread-safe.
class AccessReader {
 public:
  explicit AccessReader(SecretReader read_secret) : read_secret_(std::move(read_secret)) {}

  /// Errors name the key.
  Result<kube::Access> read(const config::Cluster& cluster, Trust trust,
                            const std::vector<std::string>& exec_plugins);

 private:
  struct Text {
    std::string key;     // of the configuration
    std::string origin;  // of the text, for messages
    std::string text;
  };
  Result<Text> text_of(const config::Cluster& cluster) const;

  struct Kept {
    std::string made_of;
    Result<kube::Access> access;
  };
  SecretReader read_secret_;
  std::map<std::string, Kept> kept_;  // by cluster
};

/// Equal when they reach the same server in the same way. Holds secrets.
std::string fingerprint(const Result<kube::Access>& access);

/// By the names of clusters.
using Accesses = std::map<std::string, Result<kube::Access>>;

}  // namespace muster::app
