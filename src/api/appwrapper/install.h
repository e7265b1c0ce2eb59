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
/// As it was found, as Muster installs it.
struct CreatorsCheck {
  static constexpr Duration until_in_force = seconds(5);  // API servers read policies now and then
  Time since{0};                                          // in force for sure
  std::string mark = {};  // of what was found: with another one it was changed in between
};
/// `then` is called once, on the client's I/O thread. Fault::Unavailable: nobody can tell; other
/// faults: part of it is missing, or is not what Muster installs, or may not be read.
void check_creators(kube::Client& client, std::function<void(const Result<CreatorsCheck>&)> then);

}  // namespace muster::api
