// An Access that needs nothing of the machine it was read on: files copied into it, and written as
// a kubeconfig of its own, as `kubectl config view --flatten --minify` does. What another machine
// sends should be such a one: paths in it would name files of ours.
//
// A credential plugin stays what it is, the name of a program: whoever takes such a kubeconfig from
// others decides which programs may run (check_plugin).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/access.h"

namespace muster::kube {

struct SelfContained {
  Access access = {};
  std::vector<std::string> copied = {};  // files of tokens, which may rotate where they are
};
/// Reads the files that the access names. Errors name field and file.
Result<SelfContained> copy_files(Access access);

/// A kubeconfig with one context, which is the current one. Files that the access names are named,
/// so for others it is only of use after copy_files.
std::string kubeconfig_of(const Access& access);

/// Invalid, naming the field, when it refers to files.
Status check_without_files(const Access& access);
/// Invalid when it runs a program that is not among those allowed: by the name it is called by, or
/// by its path if that is how it is called; or when it gives that program an environment that makes
/// it run other code.
Status check_plugin(const Access& access, std::span<const std::string> allowed);

}  // namespace muster::kube
