#!/usr/bin/env python3
"""Starts Kubernetes clusters on this machine and keeps them until it is interrupted.

Usage: clusters.py [--count 2] [--nodes 10] [--gpus 4] [--kubernetes VERSION] [--folder F]

Each is a real control plane with nodes played by kwok. One kubeconfig with a context for each is
written; its path is printed when all are ready.
"""
import argparse
import json
import signal
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from binaries import KUBERNETES, Missing
from control_plane import ControlPlane


def start_all(clusters):
    """All at once; when one fails, none is left."""
    try:
        with ThreadPoolExecutor(len(clusters)) as pool:
            list(pool.map(ControlPlane.start, clusters))
    except BaseException:
        stop_all(clusters)
        raise


def stop_all(clusters):
    with ThreadPoolExecutor(len(clusters)) as pool:
        list(pool.map(ControlPlane.stop, clusters))


def write_kubeconfig(clusters, path):
    """The contexts of all clusters in one file."""
    merged = {"apiVersion": "v1", "kind": "Config", "current-context": clusters[0].name,
              "clusters": [], "users": [], "contexts": []}
    for cluster in clusters:
        one = json.loads(Path(cluster.file("admin.kubeconfig")).read_text(encoding="utf-8"))
        for part in ("clusters", "users", "contexts"):
            merged[part] += one[part]
    Path(path).write_text(json.dumps(merged, indent=1), encoding="utf-8")
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=2)
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--gpus", type=int, default=4, help="of each node")
    parser.add_argument("--kubernetes", default=KUBERNETES, metavar="VERSION")
    parser.add_argument("--folder", help="where their files are; a temporary one unless given")
    options = parser.parse_args()
    folder = Path(options.folder or tempfile.mkdtemp(prefix="muster-clusters-"))
    names = [f"kube-{index + 1}" for index in range(options.count)]
    try:
        clusters = [ControlPlane(name, options.kubernetes, folder / name) for name in names]
    except Missing as missing:
        sys.exit(f"clusters: {missing}")
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    start_all(clusters)
    try:
        for cluster in clusters:
            cluster.add_nodes(options.nodes, gpus=options.gpus)
        print(f"export KUBECONFIG={write_kubeconfig(clusters, folder / 'kubeconfig')}")
        print(f"# contexts: {' '.join(names)}; Ctrl-C ends them", flush=True)
        ended.wait()
    finally:
        stop_all(clusters)


if __name__ == "__main__":
    main()
