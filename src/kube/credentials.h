// Who we are, at this moment: headers and TLS material for the next request. Tokens and
// certificates in files are read again while they change, plugins are run again before what they
// gave expires and after the server refused it.
//
// Thread-safe. get() answers at once when it can, on the caller's thread; while a plugin runs, all
// who ask wait for that one run and are answered on its thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "kube/access.h"
#include "kube/exec_credential.h"
#include "net/http.h"
#include "net/tls.h"

namespace muster::kube {

struct Credential {
  net::Headers headers = {};  // Authorization and those of impersonation
  std::shared_ptr<const net::TlsClientOptions> tls = {};  // the same pointer as long as it is equal
  std::uint64_t generation = 0;                           // another one when the secret changed
};

struct CredentialOptions {
  ExecLimits exec = {};
  Duration file_age_max = seconds(10);   // then files are read again
  Duration expiry_margin = seconds(20);  // renewed that long before it expires
  Duration failure_pause = seconds(1);   // a plugin that failed is not run again before
  std::function<Time()> now = {};        // the wall clock unless given
};

class Credentials {
 public:
  explicit Credentials(const Access& access, CredentialOptions options = CredentialOptions());
  ~Credentials();

  using Done = std::function<void(Result<Credential>)>;
  void get(const Done& done);
  /// Another access to the same server: whoever asks from now on is answered by it.
  void renew(const Access& access);
  /// The server answered 401 to this one. True when asking again may give another.
  bool reject(std::uint64_t generation);
  /// Ends a running plugin; whoever waits or asks from now on gets "cancelled". Waits for the end.
  void stop();

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace muster::kube
