// A port of a node as one number, so that what was written before there were protocols reads as it
// did: 80 is port 80 of TCP, the ports of other protocols stand above those. `host_ports` of
// PodShape and ForeignPod hold these.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace muster::model {

enum class Protocol { Tcp, Udp, Sctp };
constexpr std::array<std::string_view, 3> protocol_names = {"TCP", "UDP", "SCTP"};

constexpr int ports_of_a_protocol = 65'536;

constexpr int host_port(int number, Protocol protocol) {
  return number + static_cast<int>(protocol) * ports_of_a_protocol;
}
constexpr int port_number(int port) { return port % ports_of_a_protocol; }
constexpr Protocol port_protocol(int port) {
  return static_cast<Protocol>(port / ports_of_a_protocol);
}
constexpr bool is_host_port(int port) {
  return port > 0 && port < host_port(0, Protocol::Sctp) + ports_of_a_protocol &&
         port_number(port) > 0;
}

/// As Kubernetes spells it; empty is TCP there.
constexpr std::optional<Protocol> parse_protocol(std::string_view name) {
  if (name.empty()) return Protocol::Tcp;
  for (std::size_t i = 0; i < protocol_names.size(); ++i) {
    if (protocol_names[i] == name) return static_cast<Protocol>(i);
  }
  return std::nullopt;
}

}  // namespace muster::model
