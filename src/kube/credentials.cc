#include "kube/credentials.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "kube/files.h"
#include "net/base64.h"
#include "net/url.h"

namespace muster::kube {

namespace {

Time wall_clock() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

/// Reads the text or the file; `kept` is what it was before.
Status refresh(const PemSource& source, std::string_view field, std::string& kept) {
  if (!source.data.empty()) kept = source.data;
  if (!source.data.empty() || source.file.empty()) return Ok{};
  auto text = read_small_file(source.file);
  if (text) {
    kept = std::move(*text);
  } else if (kept.empty()) {
    return Error{Fault::Unavailable,
                 fmt::format("{}: {}: {}", field, source.file, text.error().message)};
  }
  return Ok{};  // a file that is being replaced: the old text serves until the next look
}

/// A secret that is written down is preferred to a plugin, as kubectl does.
bool asks_plugin(const UserEntry& user) {
  return user.exec && user.token.empty() && user.token_file.empty() && user.username.empty() &&
         user.cert.empty();
}

}  // namespace

class Credentials::Core {
 public:
  Core(const Access& access, CredentialOptions options)
      : options_(std::move(options)), access_(access), uses_plugin_(asks_plugin(access.user)) {
    if (!options_.now) options_.now = wall_clock;
    options_.exec.is_stopped = [this] { return is_stopping_.load(); };
  }

  void get(const Done& done) {
    std::unique_lock lock(mutex_);
    Result<Credential> answer = look(done);
    lock.unlock();
    if (answer || answer.error().message != waits) done(std::move(answer));
  }

  void renew(const Access& access) {
    const std::lock_guard lock(mutex_);
    access_ = access;
    uses_plugin_ = asks_plugin(access.user);
    ++renewals_;
    ++generation_;  // who was refused with the old one asks again
    for (std::string* text : {&ca_, &cert_, &key_, &token_}) text->clear();
    files_read_at_.reset();
    plugin_.reset();
    failure_.reset();
  }

  bool reject(std::uint64_t generation) {
    const std::lock_guard lock(mutex_);
    if (generation != generation_) return true;  // it was renewed in the meantime
    const bool may_change =
        uses_plugin_ || !access_.user.token_file.empty() || !access_.user.cert.file.empty();
    if (!may_change) return false;
    files_read_at_.reset();
    plugin_.reset();
    return true;
  }

  void stop() {
    is_stopping_ = true;
    std::thread running;
    std::vector<Done> waiting;
    {
      const std::lock_guard lock(mutex_);
      running.swap(thread_);
    }
    if (running.joinable()) running.join();
    {
      const std::lock_guard lock(mutex_);
      waiting.swap(waiting_);
    }
    for (const Done& done : waiting) done(Error{Fault::Unavailable, "cancelled"});
  }

 private:
  static constexpr std::string_view waits = "(waits for the plugin)";

  /// The answer, or the error `waits` after `done` was put on the list. Under the mutex.
  Result<Credential> look(const Done& done) {
    if (is_stopping_) return Error{Fault::Unavailable, "cancelled"};
    const Time now = options_.now();
    if (auto read = read_files_in_time(now); !read) return read.error();
    if (uses_plugin_ && !is_fresh(now)) {
      if (failure_ && now - failed_at_ < options_.failure_pause) return *failure_;
      waiting_.push_back(done);
      if (!is_running_) run_plugin();
      return Error{Fault::Unavailable, std::string(waits)};
    }
    return current();
  }

  bool is_fresh(Time now) const {
    if (!plugin_) return false;
    if (!plugin_->expires) return true;
    // Of a plugin that gives short lives the margin would leave nothing: half of it then.
    const Duration life = *plugin_->expires - plugin_since_;
    const Duration margin{std::min(options_.expiry_margin.ms, life.ms / 2)};
    return now + margin < *plugin_->expires;
  }

  void run_plugin() {
    is_running_ = true;
    if (thread_.joinable()) thread_.join();  // it has ended: is_running_ was false
    thread_ = std::thread([this] { serve_waiting(); });
  }

  /// Of the plugin's thread: runs it and answers, until nobody waits.
  void serve_waiting() {
    std::unique_lock lock(mutex_);
    while (!waiting_.empty() && !is_stopping_) {
      if (uses_plugin_ && !is_fresh(options_.now())) {
        const Access access = access_;
        const std::uint64_t renewals = renewals_;
        lock.unlock();
        auto result = run_exec_plugin(access.user, access.cluster, options_.exec);
        lock.lock();
        if (renewals != renewals_) continue;  // that was another access
        keep(std::move(result));
      }
      const Status read = read_files_in_time(options_.now());
      const Result<Credential> answer = !read      ? Result<Credential>(read.error())
                                        : failure_ ? Result<Credential>(*failure_)
                                                   : Result<Credential>(current());
      std::vector<Done> waiting;
      waiting.swap(waiting_);
      lock.unlock();
      for (const Done& done : waiting) done(answer);
      lock.lock();
    }
    is_running_ = false;
  }

  void keep(Result<ExecCredential> result) {
    failure_.reset();
    if (result) {
      plugin_ = std::move(*result);
      plugin_since_ = options_.now();
    } else {
      failure_ = result.error();
      failed_at_ = options_.now();
    }
  }

  Status read_files_in_time(Time now) {
    if (files_read_at_ && now - *files_read_at_ < options_.file_age_max) return Ok{};
    if (Status read = read_files(); !read) return read;
    files_read_at_ = now;
    return Ok{};
  }

  Status read_files() {
    const std::string user = fmt::format("{}: users[{}]", access_.user.origin, access_.user.name);
    const std::string cluster =
        fmt::format("{}: clusters[{}]", access_.cluster.origin, access_.cluster.name);
    auto done = refresh(access_.cluster.ca, cluster + ".certificate-authority", ca_);
    if (done) done = refresh(access_.user.cert, user + ".client-certificate", cert_);
    if (done) done = refresh(access_.user.key, user + ".client-key", key_);
    if (!done) return done;
    if (access_.user.token_file.empty()) return Ok{};
    auto token = read_small_file(access_.user.token_file);
    const std::string text(token ? trim(*token) : "");
    if (!text.empty()) token_ = text;
    if (token_.empty() && access_.user.token.empty()) {
      return Error{Fault::Unavailable,
                   fmt::format("{}.tokenFile: {}: {}", user, access_.user.token_file,
                               token ? "is empty" : token.error().message)};
    }
    return Ok{};
  }

  Credential current() {
    std::string authorization;
    const UserEntry& user = access_.user;
    net::TlsClientOptions tls{.ca_pem = ca_,
                              .cert_pem = cert_,
                              .key_pem = key_,
                              .server_name = access_.cluster.tls_server_name,
                              .verify = access_.cluster.verify};
    if (uses_plugin_) {
      if (!plugin_->token.empty()) authorization = "Bearer " + plugin_->token;
      tls.cert_pem = plugin_->cert_pem;
      tls.key_pem = plugin_->key_pem;
    } else if (!token_.empty() || !user.token.empty()) {
      authorization = "Bearer " + (token_.empty() ? user.token : token_);
    } else if (!user.username.empty()) {
      authorization = "Basic " + net::base64_encode(user.username + ":" + user.password);
    }
    const bool same_tls = tls_ && tls_->ca_pem == tls.ca_pem && tls_->cert_pem == tls.cert_pem &&
                          tls_->key_pem == tls.key_pem && tls_->server_name == tls.server_name &&
                          tls_->verify == tls.verify;
    if (!same_tls || authorization != authorization_) ++generation_;
    if (!same_tls) tls_ = std::make_shared<const net::TlsClientOptions>(std::move(tls));
    authorization_ = authorization;
    Credential credential{.tls = tls_, .generation = generation_};
    if (!authorization_.empty()) credential.headers.add("Authorization", authorization_);
    add_impersonation(credential.headers);
    return credential;
  }

  void add_impersonation(net::Headers& headers) const {
    const Impersonation& as = access_.user.impersonate;
    if (as.user.empty()) return;
    headers.add("Impersonate-User", as.user);
    if (!as.uid.empty()) headers.add("Impersonate-Uid", as.uid);
    for (const std::string& group : as.groups) headers.add("Impersonate-Group", group);
    for (const auto& [key, values] : as.extra) {
      // Keys are often paths ("example.com/scopes"), which no name of a header may be.
      const std::string name = "Impersonate-Extra-" + net::percent_encode(key);
      for (const std::string& value : values) headers.add(name, value);
    }
  }

  CredentialOptions options_;
  std::atomic<bool> is_stopping_ = false;

  std::mutex mutex_;  // guards all that follows
  Access access_;
  bool uses_plugin_ = false;
  std::uint64_t renewals_ = 0;
  std::string ca_;
  std::string cert_;
  std::string key_;
  std::string token_;
  std::optional<Time> files_read_at_;
  std::optional<ExecCredential> plugin_;
  Time plugin_since_;
  std::optional<Error> failure_;
  Time failed_at_;
  bool is_running_ = false;
  std::thread thread_;
  std::vector<Done> waiting_;
  std::shared_ptr<const net::TlsClientOptions> tls_;
  std::string authorization_;
  std::uint64_t generation_ = 0;
};

Credentials::Credentials(const Access& access, CredentialOptions options)
    : core_(std::make_unique<Core>(access, std::move(options))) {}
Credentials::~Credentials() { stop(); }
void Credentials::get(const Done& done) { core_->get(done); }
void Credentials::renew(const Access& access) { core_->renew(access); }
bool Credentials::reject(std::uint64_t generation) { return core_->reject(generation); }
void Credentials::stop() { core_->stop(); }

}  // namespace muster::kube
