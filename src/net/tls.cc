#include "net/tls.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <string_view>

namespace muster::net {

namespace {

using BioPtr = std::unique_ptr<BIO, decltype([](BIO* bio) { BIO_free(bio); })>;
using CertPtr = std::unique_ptr<X509, decltype([](X509* cert) { X509_free(cert); })>;
using KeyPtr = std::unique_ptr<EVP_PKEY, decltype([](EVP_PKEY* key) { EVP_PKEY_free(key); })>;

/// What OpenSSL says about the last failure, in its words; clears its queue.
std::string last_words() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "not valid" : reason;
}

Error failed(std::string_view field, std::string_view place) {
  return invalid(fmt::format("{}: {}: {}", field, place, last_words()));
}

BioPtr open_pem(const std::string& pem, const std::string& file) {
  ERR_clear_error();
  return BioPtr(pem.empty() ? BIO_new_file(file.c_str(), "r")
                            : BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

std::string_view place_of(const std::string& pem, const std::string& file) {
  return pem.empty() ? std::string_view(file) : "the text given";
}

Result<TlsContext> new_context(const SSL_METHOD* method) {
  TlsContext context(SSL_CTX_new(method), [](SSL_CTX* c) { SSL_CTX_free(c); });
  if (!context) return Error{Fault::Unavailable, "TLS: " + last_words()};
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  // Ten thousand quiet streams must not hold two 16 KB buffers each.
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  return context;
}

Status use_certificate(SSL_CTX* context, const std::string& pem, const std::string& file) {
  const BioPtr bio = open_pem(pem, file);
  if (!bio) return failed("certificate", place_of(pem, file));
  CertPtr leaf(PEM_read_bio_X509_AUX(bio.get(), nullptr, nullptr, nullptr));
  if (!leaf || SSL_CTX_use_certificate(context, leaf.get()) != 1) {
    return failed("certificate", place_of(pem, file));
  }
  while (X509* link = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    if (SSL_CTX_add0_chain_cert(context, link) != 1) {
      X509_free(link);
      return failed("certificate", place_of(pem, file));
    }
  }
  ERR_clear_error();  // the end of the file is reported as a failure
  return Ok{};
}

Status use_key(SSL_CTX* context, const std::string& pem, const std::string& file) {
  const BioPtr bio = open_pem(pem, file);
  if (!bio) return failed("key", place_of(pem, file));
  const KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  if (!key || SSL_CTX_use_PrivateKey(context, key.get()) != 1 ||
      SSL_CTX_check_private_key(context) != 1) {
    return failed("key", place_of(pem, file));
  }
  return Ok{};
}

Status trust(SSL_CTX* context, const std::string& pem, const std::string& file) {
  const BioPtr bio = open_pem(pem, file);
  if (!bio) return failed("certificate authority", place_of(pem, file));
  int count = 0;
  while (CertPtr cert{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), cert.get()) != 1) {
      return failed("certificate authority", place_of(pem, file));
    }
    ++count;
  }
  if (count == 0) return failed("certificate authority", place_of(pem, file));
  ERR_clear_error();
  return Ok{};
}

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size,
                    const unsigned char* in, unsigned in_size, void*) {
  static constexpr unsigned char ours[] = "\x08http/1.1";
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(&chosen, out_size, ours, sizeof ours - 1, in, in_size);
  if (found != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_NOACK;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

Result<TlsContext> make_tls_context(const TlsServerOptions& options) {
  auto context = new_context(TLS_server_method());
  if (!context) return context;
  SSL_CTX* raw = context->get();
  if (auto used = use_certificate(raw, "", options.cert_file); !used) return used.error();
  if (auto used = use_key(raw, "", options.key_file); !used) return used.error();
  SSL_CTX_set_alpn_select_cb(raw, choose_protocol, nullptr);
  if (!options.client_ca_file.empty()) {
    if (auto trusted = trust(raw, "", options.client_ca_file); !trusted) return trusted.error();
    SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
    // Sessions are resumed only within the context that made them.
    static constexpr unsigned char name[] = "muster";
    SSL_CTX_set_session_id_context(raw, name, sizeof name - 1);
  }
  return context;
}

Result<TlsContext> make_tls_context(const TlsClientOptions& options) {
  auto context = new_context(TLS_client_method());
  if (!context) return context;
  SSL_CTX* raw = context->get();
  if (!options.ca_pem.empty() || !options.ca_file.empty()) {
    if (auto trusted = trust(raw, options.ca_pem, options.ca_file); !trusted) {
      return trusted.error();
    }
  } else if (SSL_CTX_set_default_verify_paths(raw) != 1) {
    return failed("certificate authority", "the system's");
  }
  if (!options.cert_pem.empty() || !options.cert_file.empty()) {
    auto used = use_certificate(raw, options.cert_pem, options.cert_file);
    if (!used) return used.error();
    used = use_key(raw, options.key_pem, options.key_file);
    if (!used) return used.error();
  }
  SSL_CTX_set_verify(raw, options.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  return context;
}

}  // namespace muster::net
