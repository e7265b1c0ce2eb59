#!/usr/bin/env python3
"""Clusters that are found in folders, while some of what is there cannot be read.

Usage: sources_test.py MUSTER [unittest arguments]

Nobody answers at the addresses in the kubeconfigs: that a cluster is there, and leaves, does not
need it. tests/e2e/join_test.py has sources that are Kubernetes clusters. And clusters that hang:
they keep nobody else waiting.
"""
import json
import os
import socket
import sys
import tempfile
import threading
import unittest
from pathlib import Path

from muster_server import Server
from ports import free_port

BINARY = ""


def kubeconfig(*contexts, users=None, current=""):
    """Contexts of one cluster each; users by the name of the context, an empty one if not given."""
    users = users or {}
    return json.dumps({
        "current-context": current,
        "clusters": [{"name": one, "cluster": {"server": f"http://127.0.0.1:{free_port()}"}}
                     for one in contexts],
        "users": [{"name": one, "user": users.get(one, {})} for one in contexts],
        "contexts": [{"name": one, "context": {"cluster": one, "user": one}} for one in contexts]})


class Folders(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="muster-sources-")
        self.addCleanup(scratch.cleanup)
        self.one, self.two = Path(scratch.name, "one"), Path(scratch.name, "two")
        for folder in (self.one, self.two):
            folder.mkdir()
        self.server = Server(BINARY, "cluster_sources:\n" + "".join(
            f"- {{directory: {folder}, namespace: n}}\n" for folder in (self.one, self.two)))
        self.addCleanup(self.server.close)

    def names(self):
        status, found, _ = self.server.api("GET", "/clusters")
        self.assertEqual(status, 200, found)
        return sorted(one["name"] for one in found["clusters"])

    def wait_names(self, *names):
        self.server.wait(f"the clusters are {names}, not {self.names()}",
                         lambda: self.names() == sorted(names))

    def put(self, folder, name, text):
        """At once, as whoever must not be seen half way."""
        scratch = folder / ("." + name)
        scratch.write_text(text)
        os.rename(scratch, folder / name)

    def test_a_file_that_cannot_be_read_keeps_nobody_else_from_leaving(self):
        for folder, name in ((self.one, "a"), (self.one, "b"), (self.two, "c")):
            self.put(folder, name, kubeconfig(name))
        self.server.start()
        self.wait_names("a", "b", "c")
        self.put(self.one, "b", "half a file: [")
        (self.one / "a").unlink()
        (self.two / "c").unlink()
        self.wait_names("b")
        self.put(self.one, "b", kubeconfig("other"))
        self.wait_names("other")

    def test_a_context_that_cannot_be_used_keeps_no_other_from_joining(self):
        self.put(self.one, "all", kubeconfig(
            "good", "bad", users={"bad": {"auth-provider": {"name": "gcp"}}}))
        self.put(self.one, "empty", "{}")
        self.put(self.two, "more", kubeconfig("more", current="more"))
        self.server.start()
        self.wait_names("good", "more")
        for words in ("users[bad].auth-provider: was removed", "empty: has no context"):
            self.server.wait(f"the log has {words}", lambda w=words: w in self.server.log())

    def test_a_folder_that_is_not_there_keeps_what_was_in_it(self):
        self.put(self.one, "a", kubeconfig("a"))
        self.put(self.two, "c", kubeconfig("c"))
        self.server.start()
        self.wait_names("a", "c")
        os.rename(self.one, str(self.one) + "-away")
        (self.two / "c").unlink()
        self.wait_names("a")
        self.server.kill()
        self.server.start()
        self.assertEqual(self.names(), ["a"], "also after a restart")


class SickCluster(unittest.TestCase):
    def test_joins_that_hang_keep_no_other_question_waiting(self):
        sick = socket.create_server(("127.0.0.1", 0))  # takes connections and never says a word
        self.addCleanup(sick.close)
        sick.settimeout(30)
        access = json.loads(kubeconfig("sick", current="sick"))
        access["clusters"][0]["cluster"]["server"] = f"http://127.0.0.1:{sick.getsockname()[1]}"
        server = Server(BINARY, "clusters: [{name: sim, type: simulated, nodes: [{count: 1}]}]\n")
        self.addCleanup(server.close)
        server.start()
        job = server.submit(["true"])
        body = {"name": "sick", "type": "kubernetes", "kubeconfig_inline": json.dumps(access)}
        askers = [threading.Thread(target=lambda: server.api("POST", "/clusters/check", body))
                  for _ in range(8)]
        for asker in askers:
            asker.start()
        held = [sick.accept()[0] for _ in range(4)]
        status, _, _ = server.request("GET", f"/api/muster/v1/jobs/{job}", timeout=5)
        self.assertEqual(status, 200)
        for connection in held:
            connection.close()
        sick.close()
        for asker in askers:
            asker.join()


class SickHub(unittest.TestCase):
    def test_a_hub_that_hangs_keeps_nobody_else_from_joining(self):
        hub = socket.create_server(("127.0.0.1", 0))  # takes connections and never says a word
        self.addCleanup(hub.close)
        scratch = tempfile.TemporaryDirectory(prefix="muster-sources-")
        self.addCleanup(scratch.cleanup)
        folder = Path(scratch.name, "found")
        folder.mkdir()
        access = json.loads(kubeconfig("hub", current="hub"))
        access["clusters"][0]["cluster"]["server"] = f"http://127.0.0.1:{hub.getsockname()[1]}"
        file = Path(scratch.name, "hub.json")
        file.write_text(json.dumps(access))
        server = Server(BINARY, f"cluster_sources: [{{directory: {folder}, namespace: n}}]\n"
                        f"clusters:\n- {{name: hub, type: kubernetes, kubeconfig: {file}}}\n" +
                        "".join(f"- {{name: far-{i}, type: kubernetes, kubeconfig_secret: "
                                f"{{cluster: hub, namespace: n, name: far-{i}}}}}\n"
                                for i in range(20)))
        self.addCleanup(server.close)
        server.start()
        (folder / "near").write_text(kubeconfig("near"))

        def names():
            return [one["name"] for one in server.api("GET", "/clusters")[1]["clusters"]]
        server.wait("what the folder has joins", lambda: "near" in names(), 20)
        (folder / "near").unlink()
        server.wait("and leaves", lambda: "near" not in names(), 20)


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main()
