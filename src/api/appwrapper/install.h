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

/// The policy by which the API server checks what creators of AppWrappers may create: see
/// work/wrapped/rights.h. Waits; not on the client's I/O thread.
Status install_creators_policy(kube::Client& client);
/// When it was there for sure, and in force. Fault::Invalid: it is not.
Result<Time> creators_checked_since(kube::Client& client);

}  // namespace muster::api
