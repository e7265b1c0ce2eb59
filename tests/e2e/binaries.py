#!/usr/bin/env python3
"""Finds or builds the programs a Kubernetes control plane is made of.

Usage: binaries.py [--kubernetes VERSION] [--with NAME...]     prints the folder they are in

They come from the Go module proxy in pinned versions and are built once, into a cache outside of
the tree whose folder carries the version: ${XDG_CACHE_HOME:-~/.cache}/muster/kube-<version>.
MUSTER_KUBE_BIN names a folder of ready ones instead, MUSTER_KUBERNETES another version (1.31.4,
or oldest, or newest, as NAMED below).
Go's own settings (GOPROXY, GOFLAGS) count.
"""
import argparse
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

KUBERNETES = os.environ.get("MUSTER_KUBERNETES") or "1.34.4"
NAMED = {"oldest": "1.31.4", "newest": "1.36.3"}  # versions of Kubernetes: `make e2e-versions`
ETCD = "3.6.7"
KWOK = "0.7.0"
KUBERAY = "1.4.2"
HELM = "3.19.0"
MCAD = "1.40.0"

KUBERAY_MODULE = "github.com/ray-project/kuberay/ray-operator"
MCAD_MODULE = "github.com/project-codeflare/multi-cluster-app-dispatcher"
BARE = ("etcd", "kube-apiserver")
CONTROL_PLANE = (*BARE, "kube-controller-manager", "kube-scheduler", "kwok")
FROM_KUBERNETES = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet",
                   "kubectl")
PLAIN = {  # name -> module, package, version
    "etcd": ("go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3", ETCD),
    "kwok": ("sigs.k8s.io/kwok", "sigs.k8s.io/kwok/cmd/kwok", KWOK),
    "kuberay-operator": (KUBERAY_MODULE, KUBERAY_MODULE, KUBERAY),
    "helm": ("helm.sh/helm/v3", "helm.sh/helm/v3/cmd/helm", HELM),
}
OF_ITS_OWN_MODULE = {  # the same; the replacements of its own go.mod count
    "mcad-controller": (MCAD_MODULE, "./cmd/kar-controllers", MCAD),
}
DOWNLOAD_TRIES = 6


class Missing(Exception):
    """What cannot be had here, in a sentence for people."""


def cache_folder(name):
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "muster" / name


def has_all(folder, names):
    return all(os.access(folder / name, os.X_OK) for name in names)


def go(folder, *arguments, tries=1):
    """Runs go; a proxy that is asked too fast answers 429, so downloads are tried again."""
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
    for attempt in range(tries):
        done = subprocess.run(["go", *arguments], cwd=folder, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode == 0:
            return done.stdout
        if attempt + 1 < tries:
            time.sleep(5 * (attempt + 1))
    tail = "\n".join(done.stderr.strip().splitlines()[-15:])
    raise Missing(f"go {' '.join(arguments)} failed:\n{tail}")


def module_folder(module, version):
    """The files of a module, in Go's own cache: downloaded once, read there, never copied."""
    if not shutil.which("go"):
        raise Missing(f"no go to download {module}")
    with tempfile.TemporaryDirectory(prefix="muster-kube-module-") as scratch:
        (Path(scratch) / "go.mod").write_text("module muster.invalid/files\n\ngo 1.24.0\n")
        found = json.loads(go(scratch, "mod", "download", "-json", f"{module}@v{version}",
                              tries=DOWNLOAD_TRIES))
    return Path(found["Dir"])


def kuberay_crds():
    """The files of KubeRay's kinds."""
    return sorted((module_folder(KUBERAY_MODULE, KUBERAY) / "config/crd/bases").glob("*.yaml"))


def mcad_crds():
    """The files of MCAD's kinds."""
    return sorted((module_folder(MCAD_MODULE, MCAD) / "config/crd/bases").glob("*.yaml"))


def staging_modules(folder, version):
    """The modules that live inside of Kubernetes and have no version of their own there."""
    found = json.loads(go(folder, "mod", "download", "-json", f"k8s.io/kubernetes@v{version}",
                          tries=DOWNLOAD_TRIES))
    text = Path(found["GoMod"]).read_text()
    names = re.findall(r"^\s*(?:replace\s+)?(\S+) => \./staging/src/\S+", text, re.M)
    if not names:  # since 1.30 a workspace says it instead of replace lines
        names = re.findall(r"^\s*(k8s\.io/\S+) v0\.0\.0$", text, re.M)
    return sorted(set(names)), re.search(r"^go (\S+)", text, re.M).group(1)


def write_module(folder, version, names):
    (folder / "go.mod").write_text("module muster.invalid/kube\n\ngo 1.24.0\n")
    staging, go_version = staging_modules(folder, version)
    minor = version.split(".", 1)[1]
    lines = ["module muster.invalid/kube", "", f"go {go_version}", "",
             f"require k8s.io/kubernetes v{version}", "", "replace ("]
    lines += [f"\t{name} => {name} v0.{minor}" for name in staging]
    (folder / "go.mod").write_text("\n".join(lines + [")", ""]))
    imports = "\n".join(f'\t_ "k8s.io/kubernetes/cmd/{name}"' for name in names)
    (folder / "tools.go").write_text(
        f"//go:build tools\n\npackage tools\n\nimport (\n{imports}\n)\n")


def version_flags(version):
    """Without these the server says v0.0.0-master, and clients complain."""
    major, minor, _ = version.split(".")
    package = "k8s.io/component-base/version"
    return (f"-s -w -X {package}.gitVersion=v{version} -X {package}.gitMajor={major}"
            f" -X {package}.gitMinor={minor}")


def build_kubernetes(target, version, names):
    with tempfile.TemporaryDirectory(prefix="muster-kube-build-") as scratch:
        folder = Path(scratch)
        write_module(folder, version, names)
        go(folder, "mod", "tidy", "-e", tries=DOWNLOAD_TRIES)
        for name in names:
            print(f"building {name} {version} (minutes)", file=sys.stderr, flush=True)
            go(folder, "build", "-ldflags", version_flags(version), "-o", str(folder / name),
               f"k8s.io/kubernetes/cmd/{name}", tries=2)
            shutil.move(folder / name, target / name)


def build_plain(target, name):
    module, package, version = PLAIN[name]
    print(f"building {name} {version}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="muster-kube-build-") as scratch:
        folder = Path(scratch)
        (folder / "go.mod").write_text("module muster.invalid/tool\n\ngo 1.24.0\n")
        go(folder, "get", f"{module}@v{version}", tries=DOWNLOAD_TRIES)
        (folder / "tools.go").write_text(
            f'//go:build tools\n\npackage tools\n\nimport _ "{package}"\n')
        go(folder, "mod", "tidy", "-e", tries=DOWNLOAD_TRIES)
        go(folder, "build", "-ldflags", "-s -w", "-o", str(folder / name), package, tries=2)
        shutil.move(folder / name, target / name)


def build_of_its_own_module(target, name):
    module, package, version = OF_ITS_OWN_MODULE[name]
    print(f"building {name} {version}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="muster-kube-build-") as scratch:
        folder = Path(scratch) / "module"
        shutil.copytree(module_folder(module, version), folder, copy_function=shutil.copyfile)
        folder.chmod(0o755)  # Go's own cache may not be written to
        go(folder, "mod", "download", tries=DOWNLOAD_TRIES)
        go(folder, "build", "-ldflags", "-s -w", "-o", str(Path(scratch) / name), package, tries=2)
        shutil.move(Path(scratch) / name, target / name)


def number_of(version):
    """1.31.4 of "oldest"; others are numbers."""
    return NAMED.get(version, version)


def find_binaries(version=KUBERNETES, names=CONTROL_PLANE, build=True):
    """The folder with all of them. Missing says what is not there and why."""
    version = number_of(version)
    ready = os.environ.get("MUSTER_KUBE_BIN")
    if ready:
        if not has_all(Path(ready), names):
            raise Missing(f"MUSTER_KUBE_BIN={ready}: needs {', '.join(names)}")
        return Path(ready)
    folder = cache_folder(f"kube-{version}")
    if has_all(folder, names):
        return folder
    if not build:
        raise Missing(f"{folder} has not all of {', '.join(names)}; `make e2e` builds them")
    if not shutil.which("go"):
        raise Missing("no Kubernetes binaries and no go to build them; set MUSTER_KUBE_BIN")
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two that start together build once
        for name in (n for n in names if n in PLAIN and not has_all(folder, [n])):
            build_plain(folder, name)
        for name in (n for n in names if n in OF_ITS_OWN_MODULE and not has_all(folder, [n])):
            build_of_its_own_module(folder, name)
        missing = [n for n in names if n in FROM_KUBERNETES and not has_all(folder, [n])]
        if missing:
            build_kubernetes(folder, version, missing)
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--kubernetes", default=KUBERNETES, metavar="VERSION")
    parser.add_argument("--with", dest="more", nargs="*", default=[], metavar="NAME")
    options = parser.parse_args()
    try:
        print(find_binaries(options.kubernetes, (*CONTROL_PLANE, *options.more)))
    except Missing as missing:
        sys.exit(f"binaries: {missing}")


if __name__ == "__main__":
    main()
