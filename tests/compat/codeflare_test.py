#!/usr/bin/env python3
"""codeflare-sdk as it is on PyPI, with Muster where its users had MCAD or its successor.

Usage: codeflare_test.py MUSTER SDK [--kubernetes VERSION] [unittest arguments]

SDK is 0.14.1, which speaks v1beta1, or 0.30.0, which speaks v1beta2.

It runs in an environment of its own (venvs.py). Kubernetes and KubeRay's operator are
real, pods are played by kwok. `NOT TESTED` on its own line: something of it cannot be had here.
"""
import argparse
import os
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "e2e"), str(HERE.parent / "server")]
import kuberay  # noqa: E402
import muster_test  # noqa: E402
from binaries import KUBERNETES, Missing  # noqa: E402
from muster_server import Server  # noqa: E402
from venvs import find_venv  # noqa: E402

CLUSTER = None
PYTHON = None  # that has the SDK
SDK = ""
# What its users had in the cluster.
API = {"0.14.1": "v1beta1", "0.30.0": "v1beta2"}
PROFILE = {"0.14.1": "mcad", "0.30.0": "default"}


class Sdk(muster_test.WithCluster):
    """A user's session, in a namespace of its own."""

    def setUp(self):
        super().setUp()
        self.server = Server(muster_test.BINARY, f"""clusters:
- {{name: real, type: kubernetes, kubeconfig: {CLUSTER.file("admin.kubeconfig")}, context: real,
   namespace: {self.namespace}}}
appwrappers: {{cluster: real, namespace: {self.namespace}, profile: {PROFILE[SDK]}}}
""")
        self.addCleanup(self.server.close)
        self.server.start()

    def test_clusters_come_up_wait_in_the_queue_and_go(self):
        home = Path(self.server.folder) / "home"
        (home / ".kube").mkdir(parents=True)
        (home / ".kube/config").symlink_to(CLUSTER.file("admin.kubeconfig"))
        environment = {**os.environ, "HOME": str(home), "RAY_USAGE_STATS_ENABLED": "0"}
        environment.pop("KUBECONFIG", None)
        done = subprocess.run(
            [PYTHON, HERE / "codeflare_session.py", API[SDK], self.namespace], cwd=home,
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=300, check=False)
        if done.returncode:
            seen = kuberay.Kubectl(CLUSTER, self.namespace)(
                "get", "appwrappers,rayclusters,ingresses", "-o", "yaml")
            log = [line for line in self.server.log().split("\n") if " info request " not in line]
            self.fail("\n".join([done.stdout[-6000:], seen[-9000:], *log[-30:]]))
        self.assertIn("the session is done", done.stdout)
        self.wait("nothing is left", lambda: not self.pods())


def main():
    global CLUSTER, PYTHON, SDK  # pylint: disable=global-statement
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("binary")
    parser.add_argument("sdk", choices=API)
    parser.add_argument("--kubernetes", default=KUBERNETES, metavar="VERSION")
    options, more = parser.parse_known_args()
    muster_test.BINARY = os.path.abspath(options.binary)
    try:
        SDK = options.sdk
        PYTHON = find_venv(f"codeflare-sdk-{SDK}", build=False)
        CLUSTER = muster_test.CLUSTER = kuberay.start_cluster(options.kubernetes)
    except Missing as missing:
        print(f"NOT TESTED: {missing}")
        return 0
    try:
        kuberay.install_appwrappers(muster_test.BINARY, CLUSTER)
        CLUSTER.add_node("only", {"cpu": "8", "memory": "32Gi", "pods": "110"})
        CLUSTER.wait_nodes_ready()
        program = unittest.main(argv=[sys.argv[0], *more], exit=False, verbosity=2)
        return not program.result.wasSuccessful()
    finally:
        CLUSTER.stop()


if __name__ == "__main__":
    sys.exit(main())
