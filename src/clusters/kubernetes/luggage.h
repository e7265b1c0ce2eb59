// Brings what the pods of a list name from its hub into the cluster where the list is made. Such an
// object belongs to no one attempt, because several may name the same: each root that needs it is
// among its owners, and it goes with the last of them. What somebody else put there under the name
// is left as it is, and used.
//
// Threads: as ObjectWriter.
#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <string>
#include <vector>

#include "kube/client.h"
#include "ports/departures.h"

namespace muster::clusters {

/// What people should know of a piece.
struct LuggageNote {
  std::string object = {};  // "Secret registry"
  std::string message = {};
};

/// The object as it is made here: only what it holds, of nobody's hub.
boost::json::value luggage_object(const ports::Luggage::Piece& piece,
                                  const boost::json::value& made_root);

/// One after the other. The client must outlive it. A piece that pods need and that is neither in
/// the hub nor here is an error that names it.
using OnCarried = std::function<void(const kube::Reply<std::vector<LuggageNote>>&)>;
void carry(kube::Client& client, std::vector<ports::Luggage::Piece> pieces,
           const boost::json::value& made_root, OnCarried done);

}  // namespace muster::clusters
