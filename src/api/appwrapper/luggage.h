// What goes along with an AppWrapper's objects to another cluster: its namespace, and the Secrets,
// ConfigMaps and service accounts that its pods name, as far as the configuration and the namespace
// allow it. Volume claims never do: data does not move.
//
// Threads: any; what was given is called once, on the client's I/O thread.
#pragma once

#include <memory>
#include <string_view>

#include "kube/client.h"
#include "ports/departures.h"

namespace muster::api {

/// On a namespace of the hub: its Secrets may go to other clusters.
inline constexpr std::string_view travel_secrets_label = "muster.dev/travel-secrets";

struct TravelOptions {
  bool makes_namespaces = true;
  bool takes_config_maps = true;
  bool takes_secrets = true;            // of namespaces with the label
  bool takes_service_accounts = false;  // their names, without tokens and rights
};

class LuggageDesk {
 public:
  /// The client, which is the hub's, must outlive it.
  LuggageDesk(kube::Client& client, TravelOptions options) : client_(client), options_(options) {}

  void pack(const ports::Departure& departure, ports::Departures::Done done);

 private:
  struct Packing;
  void take_space(const std::shared_ptr<Packing>& packing);
  void take_next(const std::shared_ptr<Packing>& packing);
  void read(const std::shared_ptr<Packing>& packing, const model::NamedObject& what);

  kube::Client& client_;
  const TravelOptions options_;
};

}  // namespace muster::api
