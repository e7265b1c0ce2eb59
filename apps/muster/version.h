// Which build this is.
#pragma once

#include <string>
#include <string_view>

namespace muster::app {

constexpr std::string_view version = "0.1.0";

/// The version and, of a build in a git repository, the commit: "0.1.0 (e7e5179f2)", with a + if
/// files had changed since.
std::string build_text();

}  // namespace muster::app
