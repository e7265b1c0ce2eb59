// The AppWrappers of the benchmark, v1beta1 unless another version is named, and the writes that a
// plain client makes of them.
#pragma once

#include <string>

#include "kube/requests.h"

namespace muster::app {

/// Of the two pods of its Job, each.
enum class PodSize { Fits, FitsNowhere };

/// It is called as its Job is.
kube::ApiRequest create_wrapper(const std::string& name, PodSize size);
kube::ApiRequest create_wrapper_v1beta2(const std::string& name, PodSize size);
kube::ApiRequest create_wrapped_job(const std::string& name);
/// Its status up to Dispatched in one write, as the server writes it.
kube::ApiRequest patch_dispatched(const std::string& name);
kube::ApiRequest delete_wrapper(const std::string& name);
/// Its pod succeeds, as a kubelet would say it.
kube::ApiRequest patch_succeeded(const std::string& pod);

}  // namespace muster::app
