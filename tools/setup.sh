#!/usr/bin/env bash
# Installs what building and testing Muster needs from Debian 12 (bookworm): only what is missing.
# Safe to run again: with everything there it only asks dpkg and changes nothing.
set -euo pipefail

# Names carry the version where Debian has several (clang, Boost); the release pins the rest.
packages=(
  clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev llvm-19
  cmake ninja-build mold ccache make python3 git
  libfmt-dev libcli11-dev libyaml-cpp-dev libboost1.81-dev libboost-json1.81-dev
  libboost-url1.81-dev libssl-dev openssl libsqlite3-dev libpq-dev postgresql-15
  libsodium-dev prometheus-cpp-dev libspdlog-dev libmimalloc-dev pkg-config
  libgtest-dev libgmock-dev libbenchmark-dev
  zsh fish  # completion is tried in them, tests/cli
  containerd runc containernetworking-plugins busybox-static iproute2 wget  # a real node, tests/e2e
)

installed() { dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed; }

missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done

if [ ${#missing[@]} -eq 0 ]; then
  echo "setup: all ${#packages[@]} packages are installed"
  exit 0
fi

# shellcheck disable=SC1091
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-unknown}")
if [ "$release" != bookworm ]; then
  echo "setup: this is '$release'; Muster is tested on Debian 12 (bookworm). Trying anyway." >&2
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: neither root nor sudo; missing: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "setup: installing ${#missing[@]} missing packages: ${missing[*]}"
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -q -y --no-install-recommends "${missing[@]}"
echo "setup: done"
