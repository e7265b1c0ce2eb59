// Kubeconfigs of anybody: whatever is read can be asked for, and nothing else comes out of it than
// entries with names.
#include <string>

#include "base/check.h"
#include "kube/exec_credential.h"
#include "kube/kubeconfig.h"
#include "kube/proto_objects.h"
#include "kube/watch.h"
#include "tests/fuzz/input.h"

namespace kube = muster::kube;

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto config = kube::parse_kubeconfig(text, "/folder/config")) {
    for (const auto& context : config->contexts) {
      MUSTER_CHECK(!context.name.empty(), "a context without a name");
      const auto access = kube::access_of(*config, context.name);
      if (!access) continue;
      MUSTER_CHECK(!access->cluster.server.empty() && !access->ns.empty(), "'{}'", context.name);
      MUSTER_CHECK(access->user.cert.empty() == access->user.key.empty(), "half a pair");
      if (access->user.exec) {
        MUSTER_CHECK(!access->user.exec->command.empty(), "a plugin without a command");
        const std::string info = kube::exec_info(*access->user.exec, {});
        MUSTER_CHECK(info.starts_with("{"), "{}", info);
      }
    }
    const auto merged = kube::merge_kubeconfigs({*config, *config});
    MUSTER_CHECK(merged.contexts.size() == config->contexts.size(), "merged with itself it grew");
  } else {
    MUSTER_CHECK(config.error().message.starts_with("/folder/config"), "{}",
                 config.error().message);
  }
  const auto credential = kube::parse_exec_credential(text, "client.authentication.k8s.io/v1");
  MUSTER_CHECK(!credential || !credential->token.empty() || !credential->cert_pem.empty(), "empty");
  kube::WatchDecoder decoder([](const kube::WatchEvent& event) { return event.object != nullptr; });
  decoder.feed(text);
  kube::WatchDecoder frames([](const kube::WatchEvent& event) { return event.object != nullptr; },
                            &kube::proto_pod);
  frames.feed(text);
  const auto pod = kube::read_proto(text, kube::proto_pod);
  MUSTER_CHECK(!pod || pod->is_object(), "a message is a map");
  return 0;
}
