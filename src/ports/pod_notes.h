// Where clusters say what happens to pods (model/pod_note.h).
//
// Thread contract: called from the clusters' own threads, several at once; may block shortly.
#pragma once

#include "model/pod_note.h"

namespace muster::ports {

class PodNotes {
 public:
  virtual ~PodNotes() = default;
  /// One whose key the attempt has already is nothing new.
  virtual void note(const model::PodNote& note) = 0;
};

}  // namespace muster::ports
