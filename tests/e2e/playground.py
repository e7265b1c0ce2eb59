#!/usr/bin/env python3
"""Clusters to play with: two real control planes with kwok nodes, one with a real node where that
is possible, and a Muster server on all of them.

Usage: playground.py start MUSTER [--folder F] [--nodes 10] [--gpus 8] [--kubernetes VERSION]
       playground.py stop [--folder F]

`start` returns when all is ready and prints how to use it; everything goes on in the background
until `stop`. Files, logs included, are in the folder (out/cluster).
"""
import argparse
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

from binaries import CONTROL_PLANE, KUBERNETES, Missing, find_binaries
from clusters import start_all, stop_all, write_kubeconfig
from control_plane import ControlPlane
from images import SHELL_IMAGE
from processes import Daemon, free_port, wait_until
from real_node import RealNodeCluster

ROOT = Path(__file__).resolve().parent.parent.parent
START_WITHIN_S = 300


def server_config(folder, port, clusters, kubeconfig):
    """Every cluster has a namespace for Muster, and an image that the real node has."""
    lines = [f"data_dir: {folder}/data", f"listen: 127.0.0.1:{port}", "clusters:"]
    for cluster in clusters:
        cluster.create("/api/v1/namespaces", {
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "muster"}})
        lines.append(f"- {{name: {cluster.name}, type: kubernetes, kubeconfig: {kubeconfig}, "
                     f"context: {cluster.name}, namespace: muster, image: {SHELL_IMAGE}}}")
    return "\n".join(lines) + "\n"


def usage(options, port, kubeconfig, real):
    lines = [
        "",
        f"export MUSTER_URL=http://127.0.0.1:{port}",
        f"export KUBECONFIG={kubeconfig}",
        "",
        f"{options.muster} clusters",
        f"{options.muster} submit --pods 4 --gpus 2 -- sleep 600     # played by kwok nodes",
        f"{options.muster} list"]
    if real:
        lines += [f"{options.muster} run --cluster node -- sh -c 'echo hello from $(hostname)'"]
    else:
        lines += ["# without a real node here, nothing is run for real: pods only look like it"]
    kubectl = find_kubectl(options.kubernetes)
    if kubectl:
        lines.append(f"{kubectl} --context east get pods -n muster")
    return "\n".join(lines + ["", "make cluster-stop        # ends all of it", ""])


def find_kubectl(version):
    try:
        return find_binaries(version, ["kubectl"], build=False) / "kubectl"
    except Missing:
        return shutil.which("kubectl")


def make_clusters(options, folder):
    clusters = [ControlPlane(name, options.kubernetes, folder / name) for name in ("east", "west")]
    try:
        clusters.append(RealNodeCluster("node", options.kubernetes, folder / "node"))
    except Missing as missing:
        print(f"# no real node: {missing}", flush=True)
    return clusters


def hold(options, folder):
    """In the background: starts everything, says so in a file, and waits to be stopped."""
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    clusters = make_clusters(options, folder)
    server = None
    try:
        start_all(clusters)
        for cluster in clusters[:2]:
            cluster.add_nodes(options.nodes, prefix=cluster.name, gpus=options.gpus)
        kubeconfig = write_kubeconfig(clusters, folder / "kubeconfig")
        port = free_port()
        (folder / "muster.yaml").write_text(server_config(folder, port, clusters, kubeconfig),
                                            encoding="utf-8")
        server = Daemon("muster", [options.muster, "serve", "--config", folder / "muster.yaml"],
                        folder / "muster.log").start()
        wait_until("the server", lambda: is_serving(port), [server])
        (folder / "ready").write_text(usage(options, port, kubeconfig, len(clusters) > 2),
                                      encoding="utf-8")
        ended.wait()
    finally:
        if server:
            server.stop()
        stop_all(clusters)
        (folder / "pid").unlink(missing_ok=True)


def is_serving(port):
    """A server listens while it recovers, and answers that it does."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def running(folder):
    """The process that holds the playground of this folder, if there is one."""
    try:
        pid = int((folder / "pid").read_text(encoding="ascii"))
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return None
    return pid if str(folder).encode() in words and b"hold" in words else None


def start(options, folder):
    if running(folder):
        print((folder / "ready").read_text(encoding="utf-8"))
        return 0
    find_binaries(options.kubernetes, CONTROL_PLANE)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [sys.executable, __file__, "hold", options.muster, "--folder", str(folder),
               "--nodes", str(options.nodes), "--gpus", str(options.gpus),
               "--kubernetes", options.kubernetes]
    with open(folder / "hold.log", "ab") as log:
        holder = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                  start_new_session=True)
    (folder / "pid").write_text(str(holder.pid), encoding="ascii")
    end = time.monotonic() + START_WITHIN_S
    while time.monotonic() < end and holder.poll() is None:
        if (folder / "ready").exists():
            print((folder / "hold.log").read_text(encoding="utf-8"), end="")
            print((folder / "ready").read_text(encoding="utf-8"))
            return 0
        time.sleep(0.2)
    holder.terminate()
    print((folder / "hold.log").read_text(encoding="utf-8"))
    print(f"playground: not ready within {START_WITHIN_S} s; its logs are in {folder}")
    return 1


def stop(folder):
    pid = running(folder)
    if pid is None:
        print(f"playground: nothing runs in {folder}")
        return 0
    os.kill(pid, signal.SIGTERM)
    end = time.monotonic() + 60
    while running(folder) and time.monotonic() < end:
        time.sleep(0.1)
    print("playground: stopped" if not running(folder) else f"playground: pid {pid} does not end")
    return 1 if running(folder) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("verb", choices=("start", "stop", "hold"))
    parser.add_argument("muster", nargs="?", default=str(ROOT / "build/release/muster"))
    parser.add_argument("--folder", default=str(ROOT / "out/cluster"))
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--gpus", type=int, default=8, help="of each node")
    parser.add_argument("--kubernetes", default=KUBERNETES, metavar="VERSION")
    options = parser.parse_args()
    options.muster = os.path.abspath(options.muster)
    folder = Path(options.folder).resolve()
    try:
        if options.verb == "stop":
            return stop(folder)
        return start(options, folder) if options.verb == "start" else hold(options, folder)
    except Missing as missing:
        print(f"playground: {missing}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
