#!/usr/bin/env python3
"""Two clusters side by side: each has its own nodes, and nothing is left of them in the end."""
import os
import shutil
import sys
import tempfile
from pathlib import Path

from binaries import Missing
from clusters import start_all, stop_all, write_kubeconfig
from control_plane import ControlPlane


def ready_nodes(cluster):
    _, found = cluster.get("/api/v1/nodes")
    return sorted(node["metadata"]["name"] for node in found["items"]
                  if not node["spec"].get("taints")
                  and any(condition["type"] == "Ready" and condition["status"] == "True"
                          for condition in node["status"].get("conditions", [])))


def main():
    folder = Path(tempfile.mkdtemp(prefix="muster-clusters-"))
    try:
        clusters = [ControlPlane(name, folder=folder / name) for name in ("east", "west")]
    except Missing as missing:
        print(f"NOT TESTED: {missing}")
        return 0
    start_all(clusters)
    try:
        for index, cluster in enumerate(clusters):
            cluster.add_nodes(index + 2, prefix=cluster.name, gpus=8)
        for index, cluster in enumerate(clusters):
            expected = [f"{cluster.name}-{i}" for i in range(index + 2)]
            # pylint: disable-next=cell-var-from-loop
            cluster.wait("nodes without taints", lambda: ready_nodes(cluster) == expected)
        text = write_kubeconfig(clusters, folder / "kubeconfig").read_text(encoding="utf-8")
        assert '"east-user"' in text and '"west-user"' in text
        pids = [daemon.process.pid for cluster in clusters for daemon in cluster.daemons.values()]
    finally:
        stop_all(clusters)
        shutil.rmtree(folder, ignore_errors=True)
    left = [pid for pid in pids if os.path.exists(f"/proc/{pid}")]
    assert not left, f"still running: {left}"
    print("2 clusters, 5 nodes, nothing left")
    return 0


if __name__ == "__main__":
    sys.exit(main())
