"""What the tests of the real `muster serve` on real Kubernetes have in common: namespaces, a
server, its command line, and waiting."""
import contextlib
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../server"))
from muster_server import Server  # noqa: E402


def delete_namespace(cluster, name):
    """Of a cluster that may not be there any more."""
    with contextlib.suppress(OSError):
        cluster.request("DELETE", f"/api/v1/namespaces/{name}")


class WithServer(unittest.TestCase):
    """`binary` is what is tested."""
    binary = ""
    server = None
    wait_s = 60  # unless a wait says otherwise

    def make_namespace(self, *clusters):
        """A new one, of the same name in all of them, until the test ends."""
        name = ""
        for cluster in clusters:
            meta = {"name": name} if name else {"generateName": "muster-"}
            made = cluster.create("/api/v1/namespaces", {
                "apiVersion": "v1", "kind": "Namespace", "metadata": meta})
            name = made["metadata"]["name"]
            self.addCleanup(delete_namespace, cluster, name)
        self.namespace = name

    def begin(self, config=""):
        self.server = Server(self.binary, config)
        self.addCleanup(self.server.close)
        self.server.start()

    def muster(self, *words, code=0, given="", timeout=120):
        """Its standard output; the rest of what it said is in self.said."""
        environment = {**os.environ, "MUSTER_URL": f"http://127.0.0.1:{self.server.port}"}
        environment.pop("MUSTER_TOKEN", None)
        done = subprocess.run([self.binary, *map(str, words)], env=environment, input=given,
                              capture_output=True, text=True, timeout=timeout, check=False)
        self.said = done.stderr
        self.assertEqual(done.returncode, code,
                         (words, done.stdout, done.stderr, self.server.log()[-3000:]))
        return done.stdout

    def wait(self, what, condition, wait_s=None):
        return self.server.wait(what, condition, wait_s or self.wait_s)

    def wait_state(self, job, *states, wait_s=None):
        return self.server.wait_state(job, *states, wait_s=wait_s or self.wait_s)
