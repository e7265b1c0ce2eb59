// Inside of net: from a connection to a proxy to one with the server behind it.
#pragma once

#include "base/result.h"
#include "net/transport.h"
#include "net/url.h"

namespace muster::net {

/// Asks the proxy at the other end (CONNECT of HTTP, or SOCKS 5) to pass bytes on to the URL's
/// server, whose name is looked up there.
asio::awaitable<Status> open_tunnel(Transport& link, Url to, const Url& proxy);

}  // namespace muster::net
