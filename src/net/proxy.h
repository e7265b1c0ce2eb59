// Which requests go through a proxy. Pure: the environment is an argument.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/url.h"

namespace muster::net {

/// As the variables http_proxy, https_proxy and no_proxy mean it. A proxy is spoken to in
/// HTTP, with TLS if its URL says so; to reach an https URL it makes a tunnel (CONNECT). Or it
/// speaks SOCKS 5, and tunnels all.
struct ProxyOptions {
  std::string http = {};      // "http://proxy:3128", "proxy:3128", "socks5://u:p@proxy:1080" or ""
  std::string https = {};     // for https URLs
  std::string no_proxy = {};  // "*", or hosts, domains (with their hosts), addresses and networks,
                              // each with or without a port: "a.b, .c, 10.0.0.0/8, [::1]:80"
  /// As it was said for one server and not for all: this machine, seen from the proxy, is another.
  bool even_for_this_machine = false;
};

/// What is known: http, https, socks5 and socks5h; the last two are the same: names are looked up
/// by the proxy.
bool is_known_proxy(const Url& proxy);
bool is_socks(const Url& proxy);

/// Lower-case names win; HTTP_PROXY in capitals is not read, as CGI lets strangers set it.
ProxyOptions proxy_from_environment(const std::function<const char*(const char*)>& variable);

/// The proxy for that URL, or none. This machine itself is never reached through one.
Result<std::optional<Url>> proxy_for(const Url& url, const ProxyOptions& options);

}  // namespace muster::net
