#include "auth/tokens.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "auth/private_file.h"
#include "base/text.h"

namespace muster::auth {
namespace {

constexpr std::string_view prefix = "mst_";
constexpr std::size_t secret_bytes = 32;
constexpr std::size_t secret_text = prefix.size() + 43;  // base64url without padding
constexpr std::string_view first_line = "muster-tokens 1";

using Hash = std::array<unsigned char, 32>;
using Key = std::array<unsigned char, crypto_generichash_KEYBYTES>;

template <std::size_t N>
std::string hex(const std::array<unsigned char, N>& bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

template <std::size_t N>
bool unhex(std::string_view text, std::array<unsigned char, N>& bytes) {
  std::size_t length = 0;
  return text.size() == 2 * N &&
         sodium_hex2bin(bytes.data(), N, text.data(), text.size(), nullptr, &length, nullptr) ==
             0 &&
         length == N;
}

Hash hash_of(std::string_view secret, const Key& key) {
  Hash hash;
  crypto_generichash(hash.data(), hash.size(),
                     reinterpret_cast<const unsigned char*>(secret.data()), secret.size(),
                     key.data(), key.size());
  return hash;
}

/// The hash is keyed, so nobody outside can aim at a place in the table: its first bytes will do.
std::uint64_t place_of(const Hash& hash) {
  std::uint64_t place = 0;
  std::memcpy(&place, hash.data(), sizeof place);
  return place;
}

std::string random_secret() {
  std::array<unsigned char, secret_bytes> bytes;
  randombytes_buf(bytes.data(), bytes.size());
  constexpr int variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
  std::array<char, sodium_base64_ENCODED_LEN(secret_bytes, variant)> text;
  sodium_bin2base64(text.data(), text.size(), bytes.data(), bytes.size(), variant);
  sodium_memzero(bytes.data(), bytes.size());
  return std::string(prefix) + text.data();
}

std::int64_t number(Time t) { return t.is_never() ? -1 : t.ms; }
Time time_of(std::int64_t number) { return number < 0 ? Time::never() : Time{number}; }

struct Token {
  TokenInfo info;  // its last_used is that of `used_ms`
  Hash hash{};
  mutable std::atomic<std::int64_t> used_ms{Time::never().ms};

  TokenInfo now() const {
    TokenInfo current = info;
    current.last_used = Time{used_ms.load(std::memory_order_relaxed)};
    return current;
  }
};
using TokenPtr = std::shared_ptr<Token>;

}  // namespace

Status check_name(std::string_view name, std::string_view field) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const bool good = !name.empty() && name.size() <= 64 && plain(name[0]) &&
                    std::all_of(name.begin(), name.end(), [&](char c) {
                      return plain(c) || c == '.' || c == '_' || c == '@' || c == '-';
                    });
  if (good) return Ok{};
  return invalid(fmt::format(
      "{}: must be 1 to 64 letters, digits and ._@-, beginning with a letter or digit", field));
}

struct Tokens::State {
  std::string path;
  Key key{};
  std::mutex writing;  // taken before `tables`: one change and its file at a time

  mutable std::shared_mutex tables;
  std::unordered_multimap<std::uint64_t, TokenPtr> by_hash;
  std::map<std::string, TokenPtr, std::less<>> by_id;
  mutable std::atomic<bool> uses_changed = false;

  void add(const TokenPtr& token) {
    const std::unique_lock lock(tables);
    by_hash.emplace(place_of(token->hash), token);
    by_id.emplace(token->info.id, token);
  }
  void remove(const TokenPtr& token) {
    const std::unique_lock lock(tables);
    const auto [begin, end] = by_hash.equal_range(place_of(token->hash));
    for (auto it = begin; it != end; ++it) {
      if (it->second == token) {
        by_hash.erase(it);
        break;
      }
    }
    by_id.erase(token->info.id);
  }
  std::vector<TokenPtr> all() const {
    std::vector<TokenPtr> tokens;
    const std::shared_lock lock(tables);
    for (const auto& [id, token] : by_id) tokens.push_back(token);
    return tokens;
  }
  Status save() const {
    std::string text = fmt::format("{}\nkey {}\n", first_line, hex(key));
    for (const TokenPtr& token : all()) {
      const TokenInfo info = token->now();
      text +=
          fmt::format("token {} {} {} {} {} {} {}\n", info.id, hex(token->hash), info.created.ms,
                      number(info.expires), number(info.last_used), info.user, info.name);
    }
    return write_private_file(path, text);
  }
  Status load(std::string_view text);
  Status load_token(const std::vector<std::string_view>& words);
};

Status Tokens::State::load_token(const std::vector<std::string_view>& words) {
  if (words.size() != 8 || words[0] != "token")
    return invalid("expected: token ID HASH CREATED EXPIRES USED USER NAME");
  const auto token = std::make_shared<Token>();
  std::array<unsigned char, 4> id{};
  if (!unhex(words[1], id)) return invalid("ID: not eight hexadecimal digits");
  if (!unhex(words[2], token->hash)) return invalid("HASH: not 64 hexadecimal digits");
  const auto created = parse_int(words[3], "CREATED", 0, Time::never().ms);
  if (!created) return created.error();
  const auto expires = parse_int(words[4], "EXPIRES", -1, Time::never().ms);
  if (!expires) return expires.error();
  const auto used = parse_int(words[5], "USED", -1, Time::never().ms);
  if (!used) return used.error();
  if (Status good = check_name(words[6], "USER"); !good) return good;
  if (Status good = check_name(words[7], "NAME"); !good) return good;
  token->info = {.id = std::string(words[1]),
                 .name = std::string(words[7]),
                 .user = std::string(words[6]),
                 .created = Time{*created},
                 .expires = time_of(*expires),
                 .last_used = Time::never()};
  token->used_ms = time_of(*used).ms;
  if (by_id.contains(token->info.id)) return invalid("ID: stands here twice");
  add(token);
  return Ok{};
}

Status Tokens::State::load(std::string_view text) {
  const std::vector<std::string_view> lines = split(text, '\n');
  const auto bad = [&](std::size_t line, std::string_view what) {
    return invalid(fmt::format("{}:{}: {}", path, line, what));
  };
  if (lines[0] != first_line) return bad(1, fmt::format("expected: {}", first_line));
  const auto words = lines.size() > 1 ? split_words(lines[1]) : std::vector<std::string_view>{};
  if (words.size() != 2 || words[0] != "key" || !unhex(words[1], key))
    return bad(2, "expected: key and 64 hexadecimal digits");
  for (std::size_t i = 2; i < lines.size(); ++i) {
    if (lines[i].empty() && i + 1 == lines.size()) break;
    const Status loaded = load_token(split_words(lines[i]));
    if (!loaded) return bad(i + 1, loaded.error().message);
  }
  return Ok{};
}

Tokens::Tokens(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tokens::~Tokens() = default;

Result<std::unique_ptr<Tokens>> Tokens::open(std::string path) {
  if (sodium_init() < 0)
    return Error{Fault::Unavailable, "tokens: the system gives no random numbers"};
  auto state = std::make_unique<State>();
  state->path = std::move(path);
  const Result<std::string> text = read_private_file(state->path);
  if (text) {
    if (Status loaded = state->load(*text); !loaded) return loaded.error();
  } else if (text.error().fault == Fault::NotFound) {
    randombytes_buf(state->key.data(), state->key.size());
    if (Status saved = state->save(); !saved) return saved.error();
  } else {
    return text.error();
  }
  return std::unique_ptr<Tokens>(new Tokens(std::move(state)));
}

Result<NewToken> Tokens::create(const std::string& user, const std::string& name, Time now,
                                Time expires) {
  if (Status good = check_name(user, "user"); !good) return good.error();
  if (Status good = check_name(name, "name"); !good) return good.error();
  if (expires <= now) return invalid("expires: is in the past");
  const std::lock_guard lock(state_->writing);
  const std::vector<TokenPtr> all = state_->all();
  if (all.size() >= tokens_max)
    return Error{Fault::Conflict,
                 fmt::format("tokens: there are {} already; revoke some", all.size())};
  for (const TokenPtr& other : all) {
    if (other->info.user == user && other->info.name == name)
      return Error{Fault::Conflict,
                   fmt::format("name: {} has a token {} already; revoke it or choose another name",
                               user, name)};
  }
  NewToken made;
  made.secret = random_secret();
  const auto token = std::make_shared<Token>();
  do {
    std::array<unsigned char, 4> id;
    randombytes_buf(id.data(), id.size());
    made.info = {.id = hex(id),
                 .name = name,
                 .user = user,
                 .created = now,
                 .expires = expires,
                 .last_used = Time::never()};
  } while (std::any_of(all.begin(), all.end(),
                       [&](const TokenPtr& other) { return other->info.id == made.info.id; }));
  token->info = made.info;
  token->hash = hash_of(made.secret, state_->key);
  state_->add(token);
  if (Status saved = state_->save(); !saved) {
    state_->remove(token);
    return saved.error();
  }
  return made;
}

Result<TokenInfo> Tokens::revoke(std::string_view id_or_name) {
  const std::lock_guard lock(state_->writing);
  std::vector<TokenPtr> meant;
  for (const TokenPtr& token : state_->all()) {
    if (token->info.id == id_or_name) {
      meant = {token};
      break;
    }
    if (token->info.name == id_or_name) meant.push_back(token);
  }
  if (meant.empty())
    return Error{Fault::NotFound, fmt::format("token: there is no token {}", id_or_name)};
  if (meant.size() > 1)
    return Error{Fault::Conflict, fmt::format("token: {} users have a token {}; give its id",
                                              meant.size(), id_or_name)};
  state_->remove(meant[0]);
  if (Status saved = state_->save(); !saved)
    return Error{Fault::Unavailable,
                 fmt::format("token: refused from now on, but not for good: {}; revoke it again "
                             "after a restart",
                             saved.error().message)};
  return meant[0]->now();
}

std::vector<TokenInfo> Tokens::list() const {
  std::vector<TokenInfo> list;
  for (const TokenPtr& token : state_->all()) list.push_back(token->now());
  std::sort(list.begin(), list.end(), [](const TokenInfo& a, const TokenInfo& b) {
    return std::tie(a.user, a.name, a.id) < std::tie(b.user, b.name, b.id);
  });
  return list;
}

std::size_t Tokens::size() const {
  const std::shared_lock lock(state_->tables);
  return state_->by_id.size();
}

std::optional<std::string> Tokens::user_of(std::string_view secret, Time now) const {
  if (secret.size() != secret_text || !secret.starts_with(prefix)) return std::nullopt;
  const Hash hash = hash_of(secret, state_->key);
  const std::shared_lock lock(state_->tables);
  const auto [begin, end] = state_->by_hash.equal_range(place_of(hash));
  for (auto it = begin; it != end; ++it) {
    const Token& token = *it->second;
    if (sodium_memcmp(token.hash.data(), hash.data(), hash.size()) != 0) continue;
    if (token.info.expires <= now) return std::nullopt;
    token.used_ms.store(now.ms, std::memory_order_relaxed);
    state_->uses_changed.store(true, std::memory_order_relaxed);
    return token.info.user;
  }
  return std::nullopt;
}

Status Tokens::save_uses() {
  const std::lock_guard lock(state_->writing);
  if (!state_->uses_changed.exchange(false)) return Ok{};
  Status saved = state_->save();
  if (!saved) state_->uses_changed = true;
  return saved;
}

Result<bool> make_first_token(Tokens& tokens, const std::string& path, const std::string& user,
                              Time now) {
  if (tokens.size() > 0) return false;
  const Result<NewToken> made = tokens.create(user, "first", now);
  if (!made) return made.error();
  if (Status written = write_private_file(path, made->secret + "\n"); !written) {
    // A token that nobody has seen must not count as the first one.
    if (const auto gone = tokens.revoke(made->info.id); !gone) return gone.error();
    return written.error();
  }
  return true;
}

}  // namespace muster::auth
