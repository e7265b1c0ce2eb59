#include "store/sha256.h"

#include <openssl/evp.h>

#include <array>

#include "base/check.h"

namespace muster::store {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  const int done =
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  MUSTER_CHECK(done == 1, "OpenSSL has no SHA-256");
  std::string hex;
  for (unsigned i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace muster::store
