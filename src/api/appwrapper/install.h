// The definitions of AppWrapper and its companions, put into a cluster. An installation of MCAD or
// of its successor is taken over in place: its objects stay.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "kube/client.h"

namespace muster::api {

struct InstalledCrd {
  std::string name = {};
  enum class How { Created, Changed, AsBefore } how = How::AsBefore;
};

/// AppWrappers of MCAD's first years are of the group mcad.ibm.com. Where both groups are served
/// `kubectl get appwrapper` means that one, so it is left out unless it is there already.
enum class OldGroup { IfThere, Always };

/// Waits until the API server serves them, or for so long. Not on the client's I/O thread. `told`
/// hears of each definition when it is there.
Status install_crds(kube::Client& client, OldGroup old_group, Duration at_most,
                    const std::function<void(const InstalledCrd&)>& told);

}  // namespace muster::api
