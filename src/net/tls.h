// TLS for server and client: which files to read, and the OpenSSL context made of them. TLS 1.2 is
// the oldest version spoken. Contexts are immutable once made and shared by threads; a reload makes
// a new one for the connections to come.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

struct ssl_ctx_st;

namespace muster::net {

struct TlsServerOptions {
  std::string cert_file = {};       // PEM, the server's certificate first, then the chain
  std::string key_file = {};        // PEM
  std::string client_ca_file = {};  // set: clients may show a certificate of this authority
};

struct TlsClientOptions {
  // Of each pair the PEM text wins over the file; with neither, the system's authorities are used.
  std::string ca_file = {};
  std::string ca_pem = {};
  std::string cert_file = {};  // a client certificate, where the server wants one
  std::string cert_pem = {};
  std::string key_file = {};
  std::string key_pem = {};
  std::string server_name = {};  // instead of the URL's host, for SNI and for the check of the name
  bool verify = true;            // false accepts anybody: for experiments
};

using TlsContext = std::shared_ptr<ssl_ctx_st>;

Result<TlsContext> make_tls_context(const TlsServerOptions& options);
Result<TlsContext> make_tls_context(const TlsClientOptions& options);

}  // namespace muster::net
