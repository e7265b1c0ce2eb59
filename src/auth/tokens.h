// Bearer tokens. A token is 32 random bytes that belong to a user and have a name; it is shown
// once, when it is made. Kept is only its keyed hash (BLAKE2b with a key of this installation): the
// bytes are random, so a slow hash would protect nothing more and would cost every request.
//
// A look-up hashes what was sent, finds the hash and compares it in constant time: no time depends
// on how much of a wrong token was right. Revoking removes the token from memory and from the file;
// the next request with it is refused.
//
// The file holds lines of words: "muster-tokens 1", "key HEX", "token ID HASH CREATED EXPIRES
// USED USER NAME" (-1: never). When a token was last used is kept in memory and written by
// save_uses().
//
// Thread contract: any thread. Look-ups do not wait for a file to be written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace muster::auth {

struct TokenInfo {
  std::string id;    // public: eight hexadecimal digits
  std::string name;  // unique among a user's tokens
  std::string user;
  Time created;
  Time expires = Time::never();
  Time last_used = Time::never();  // never: not yet
  friend bool operator==(const TokenInfo&, const TokenInfo&) = default;
};

struct NewToken {
  TokenInfo info;
  std::string secret;  // "mst_...": the only time it is seen
};

/// Names of users and tokens: 1 to 64 letters, digits and "._@-", beginning with a letter or digit.
Status check_name(std::string_view name, std::string_view field);

class Tokens {
 public:
  static constexpr std::size_t tokens_max = 100'000;

  /// Reads the file, or begins a new one if there is none. A damaged file is an error that names
  /// the line: nobody's access is lost or granted by a slip of an editor.
  static Result<std::unique_ptr<Tokens>> open(std::string path);
  ~Tokens();

  /// Durable when it returns. Conflict: the user has a token of that name.
  Result<NewToken> create(const std::string& user, const std::string& name, Time now,
                          Time expires = Time::never());
  /// By id, or by name where only one token has it. In force and durable when it returns; if the
  /// file could not be written it is in force until a restart, and the error says so.
  Result<TokenInfo> revoke(std::string_view id_or_name);
  /// By user, then name.
  std::vector<TokenInfo> list() const;
  std::size_t size() const;

  /// Whose token this is; none if it is nobody's, or expired.
  std::optional<std::string> user_of(std::string_view secret, Time now) const;
  /// Writes when tokens were last used, if that changed since the file was written.
  Status save_uses();

 private:
  struct State;
  explicit Tokens(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// At the first start, when there are no tokens: one for `user` into `path`, mode 0600, ending in a
/// line break. False if there were tokens already.
Result<bool> make_first_token(Tokens& tokens, const std::string& path, const std::string& user,
                              Time now);

}  // namespace muster::auth
