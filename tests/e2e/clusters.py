#!/usr/bin/env python3
"""Starts Kubernetes clusters on this machine and keeps them until it is interrupted.

Usage: clusters.py [--count 2] [--nodes 10] [--gpus 4] [--kubernetes VERSION] [--folder F]
                   [--bare] [--audit] [--until-eof] [--api-flag=--FLAG...]

Each is a real control plane with nodes played by kwok. One kubeconfig with a context for each is
written; its path is printed when all are ready.
"""
import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from audit import WRITES, keep_audit_log
from binaries import KUBERNETES, Missing
from control_plane import ControlPlane


def start_all(clusters):
    """All at once; when one fails, none is left."""
    try:
        with ThreadPoolExecutor(len(clusters)) as pool:
            list(pool.map(lambda cluster: cluster.start(), clusters))
    except BaseException:
        stop_all(clusters)
        raise


def stop_all(clusters):
    with ThreadPoolExecutor(len(clusters)) as pool:
        list(pool.map(lambda cluster: cluster.stop(), clusters))


def write_kubeconfig(clusters, path, with_tokens=False):
    """The contexts of all clusters in one file; those with tokens are another user."""
    merged = {"apiVersion": "v1", "kind": "Config", "current-context": clusters[0].name,
              "clusters": [], "users": [], "contexts": []}
    files = [cluster.file("admin.kubeconfig") for cluster in clusters]
    if with_tokens:
        files += [cluster.write_kubeconfig("token.kubeconfig", user={"token": "token-of-admin"},
                                           context=f"{cluster.name}-token")
                  for cluster in clusters]
    for file in files:
        one = json.loads(Path(file).read_text(encoding="utf-8"))
        for part in ("clusters", "users", "contexts"):
            merged[part] += one[part]
    Path(path).write_text(json.dumps(merged, indent=1), encoding="utf-8")
    return path


def add_nodes(cluster, options):
    if cluster.is_bare:
        return
    cluster.add_nodes(options.nodes, gpus=options.gpus)
    cluster.wait_nodes_ready()


def end_with_input(ended):
    """Whoever started us need not live to end us: its end of the pipe closes with it."""
    def read():
        while os.read(sys.stdin.fileno(), 4096):
            pass
        ended.set()
    threading.Thread(target=read, daemon=True).start()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=2)
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--gpus", type=int, default=4, help="of each node")
    parser.add_argument("--kubernetes", default=KUBERNETES, metavar="VERSION")
    parser.add_argument("--folder", help="where their files are; a temporary one unless given")
    parser.add_argument("--bare", action="store_true",
                        help="only etcd and the API server: no controllers, no nodes")
    parser.add_argument("--audit", action="store_true",
                        help="keep F/NAME/audit.log of writes; contexts NAME-token are the user"
                             " whose every write is in it")
    parser.add_argument("--until-eof", action="store_true",
                        help="end when the standard input does")
    parser.add_argument("--api-flag", action="append", default=[], metavar="FLAG",
                        help="given to the API servers as it is")
    options = parser.parse_args()
    folder = Path(options.folder or tempfile.mkdtemp(prefix="muster-clusters-"))
    names = [f"kube-{index + 1}" for index in range(options.count)]
    try:
        clusters = [ControlPlane(name, options.kubernetes, folder / name, options.bare,
                                 options.api_flag) for name in names]
    except Missing as missing:
        sys.exit(f"clusters: {missing}")
    for cluster in clusters if options.audit else ():
        keep_audit_log(cluster, WRITES)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    if options.until_eof:
        end_with_input(ended)
    start_all(clusters)
    try:
        with ThreadPoolExecutor(len(clusters)) as pool:
            list(pool.map(lambda cluster: add_nodes(cluster, options), clusters))
        path = write_kubeconfig(clusters, folder / "kubeconfig", options.audit)
        print(f"# contexts: {' '.join(names)}; Ctrl-C ends them\nexport KUBECONFIG={path}",
              flush=True)
        ended.wait()
    finally:
        stop_all(clusters)
        if not options.folder and not os.environ.get("MUSTER_E2E_KEEP"):
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
