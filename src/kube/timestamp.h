// Times as Kubernetes writes them: RFC 3339, "2026-01-31T12:00:00Z", with or without a fraction.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace muster::kube {

Result<Time> parse_timestamp(std::string_view text, std::string_view field);
/// Whole seconds, as metav1.Time.
std::string to_timestamp(Time time);
/// With six digits of a fraction, as metav1.MicroTime.
std::string to_micro_timestamp(Time time);

}  // namespace muster::kube
