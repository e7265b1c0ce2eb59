// What the hub has to do with a job of its own that is to be made in another cluster, before
// anything is made there: the object that the job stands for is kept from going unnoticed, and what
// the job's pods name is handed over.
//
// Thread contract: depart() is called from the clusters' own threads and returns at once; `done` is
// called once, on a thread of the hub's, or never when the hub stops before.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/command.h"
#include "model/named_object.h"
#include "ports/cluster.h"

namespace muster::ports {

struct Departure {
  Attempt attempt = {};
  std::string cluster = {};  // where it is made
  model::HubObject hub = {};
  std::vector<model::NamedObject> named = {};  // by its pods, each once
};

/// What goes along.
struct Luggage {
  struct Piece {
    model::NamedObject what = {};
    std::string object = {};  // JSON, as the hub has it; "": the hub has none of that name
    std::string stays = {};   // why it is not sent, though pods need it: it has to be there
  };
  std::string space = {};  // JSON of the namespace, to be made where it is missing; "": it is not
  std::vector<Piece> pieces = {};
  /// What stays behind, and why: for the job's timeline.
  std::vector<std::pair<model::NamedObject, std::string>> left = {};
};

class Departures {
 public:
  virtual ~Departures() = default;
  /// Fault::Unavailable: to be asked again. Any other fault: not now, for this reason.
  using Done = std::function<void(const Result<Luggage>&)>;
  virtual void depart(Departure departure, Done done) = 0;
};

}  // namespace muster::ports
