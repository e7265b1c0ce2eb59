#include "net/proxy.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"

namespace muster::net {

namespace {

/// 4 or 16 bytes of an IP address; none for a name.
std::vector<unsigned char> address_bytes(std::string_view text) {
  const std::string host(text);
  std::vector<unsigned char> bytes(16);
  if (::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1) return bytes;
  bytes.resize(4);
  if (::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1) return bytes;
  return {};
}

bool is_in_network(std::string_view host, std::string_view network, std::string_view bits_text) {
  const auto address = address_bytes(host);
  const auto base = address_bytes(network);
  if (address.empty() || address.size() != base.size()) return false;
  const auto bits = parse_int(bits_text, "bits", 0, static_cast<std::int64_t>(base.size()) * 8);
  if (!bits) return false;
  for (std::size_t i = 0; i < base.size(); ++i) {
    const std::int64_t left = *bits - static_cast<std::int64_t>(i) * 8;
    const int kept = static_cast<int>(std::clamp<std::int64_t>(left, 0, 8));
    const int mask = 0xff00 >> kept & 0xff;
    if ((address[i] & mask) != (base[i] & mask)) return false;
  }
  return true;
}

bool is_this_machine(std::string_view host) {
  return host == "localhost" || host.ends_with(".localhost") || host == "::1" ||
         is_in_network(host, "127.0.0.0", "8");
}

bool is_exempt(const Url& url, std::string_view rule) {
  if (rule == "*") return true;
  if (const std::size_t slash = rule.find('/'); slash != std::string_view::npos) {
    return is_in_network(url.host, rule.substr(0, slash), rule.substr(slash + 1));
  }
  if (const auto with_port = parse_address(rule, "no_proxy"); with_port && with_port->port != 0) {
    if (with_port->port != url.effective_port()) return false;
    return is_exempt(url, with_port->host);
  }
  if (rule.starts_with('[') && rule.ends_with(']')) rule = rule.substr(1, rule.size() - 2);
  std::string name(rule.starts_with("*.") ? rule.substr(1) : rule);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (name.empty()) return false;
  const auto address = address_bytes(name);
  if (!address.empty()) return address == address_bytes(url.host);
  if (name.starts_with('.')) return url.host.ends_with(name);
  return url.host == name || url.host.ends_with("." + name);
}

}  // namespace

bool is_socks(const Url& proxy) { return proxy.scheme == "socks5" || proxy.scheme == "socks5h"; }
bool is_known_proxy(const Url& proxy) {
  return proxy.scheme == "http" || proxy.scheme == "https" || is_socks(proxy);
}

ProxyOptions proxy_from_environment(const std::function<const char*(const char*)>& variable) {
  const auto first_of = [&](const char* a, const char* b) -> std::string {
    for (const char* name : {a, b}) {
      const char* value = name == nullptr ? nullptr : variable(name);
      if (value != nullptr && *value != '\0') return value;
    }
    return {};
  };
  return {.http = first_of("http_proxy", nullptr),
          .https = first_of("https_proxy", "HTTPS_PROXY"),
          .no_proxy = first_of("no_proxy", "NO_PROXY")};
}

Result<std::optional<Url>> proxy_for(const Url& url, const ProxyOptions& options) {
  const std::string& text = url.is_tls() ? options.https : options.http;
  const std::optional<Url> none;
  if (text.empty()) return none;
  if (is_this_machine(url.host) && !options.even_for_this_machine) return none;
  for (const std::string_view rule : split(options.no_proxy, ',')) {
    if (is_exempt(url, trim(rule))) return none;
  }
  auto proxy = parse_url(text.find("://") == std::string::npos ? "http://" + text : text, "proxy");
  if (!proxy) return proxy.error();
  if (!is_known_proxy(*proxy)) {
    return invalid(fmt::format(
        "proxy: '{}': only proxies at http://, https:// and socks5:// are known", text));
  }
  return std::optional<Url>(std::move(*proxy));
}

}  // namespace muster::net
