// Which server a command speaks to. Contexts stand in ~/.config/muster/config.yaml
// (MUSTER_CONFIG, or below XDG_CONFIG_HOME):
//
//   current-context: lab
//   contexts:
//   - {name: lab, url: https://muster.lab:8443, token: ..., ca: /etc/lab/ca.pem}
//
// What wins: --url and --token, then --context, then MUSTER_URL and MUSTER_TOKEN, then the current
// context, then this machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/host.h"

namespace muster::cli {

constexpr std::string_view default_url = "http://127.0.0.1:8080";

struct Context {
  std::string name;
  std::string url;
  std::string token;
  std::string ca;  // file of the authority that signed the server's certificate
  friend bool operator==(const Context&, const Context&) = default;
};

struct Contexts {
  std::string current;
  std::vector<Context> all;
  Context* find(std::string_view name);
  friend bool operator==(const Contexts&, const Contexts&) = default;
};

Result<Contexts> read_contexts(std::string_view yaml);
std::string to_yaml(const Contexts& contexts);

/// "" when there is no home to keep it in.
std::string contexts_path(const Host& host);
/// None yet when there is no file.
Result<Contexts> load_contexts(const Host& host);
/// Readable by its owner only; replaced whole.
Status save_contexts(const Host& host, const Contexts& contexts);

struct Wishes {  // of the command line
  std::string url = {};
  std::string token = {};
  std::string context = {};
};
/// The name of the result is empty if no context was used.
Result<Context> choose_server(const Wishes& wishes, const Host& host);

}  // namespace muster::cli
