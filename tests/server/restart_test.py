#!/usr/bin/env python3
"""Restarts of the real server with snapshots: the books are the same, however they were read.

Usage: restart_test.py MUSTER [unittest arguments]
"""
import os
import sqlite3
import sys
import time
import unittest

from muster_server import Server

BINARY = ""
CLUSTER = "clusters:\n- {name: here, type: local, slots: 2, cpu: 8, memory: 8Gi}\n"
QUEUES = "queues:\n- {name: default}\n- {name: other, weight: 3, maximum: {gpu: 1}}\n"
OFTEN = "store: {snapshot_every: 40}\n"


class Cgroups(unittest.TestCase):
    """A server makes a cgroup for those of its pods. Killed for good, it leaves none."""

    def setUp(self):
        self.server = Server(BINARY, CLUSTER)
        self.addCleanup(self.server.close)
        self.server.start()
        with open(os.path.join(self.server.folder, "data/clusters/here/cgroups")) as note:
            self.groups = note.read().split()
        if not self.groups:
            self.skipTest("this machine lets us make no cgroups")
        self.assertEqual(self.left(), self.groups)

    def left(self):
        return [group for group in self.groups if os.path.exists(group)]

    def test_of_a_killed_server_without_pods_go_at_once(self):
        self.server.kill()
        self.server.wait("no cgroup is left", lambda: not self.left())
        self.server.start()
        self.assertEqual(self.left(), self.groups)

    def test_of_a_killed_server_go_with_its_last_pod(self):
        go = os.path.join(self.server.folder, "go")
        jobs = [self.server.submit(f"until [ -e {go} ]; do sleep 0.05; done", memory="100Mi")
                for _ in range(2)]
        for job in jobs:
            self.server.wait_state(job, "Running")
        self.server.kill()
        self.assertTrue(self.left(), "pods are in them")
        open(go, "w").close()
        self.server.wait("no cgroup is left", lambda: not self.left())
        self.server.start()
        for job in jobs:
            self.assertEqual(self.server.wait_final(job)["state"], "Succeeded")
        again = self.server.submit("true", memory="100Mi")
        self.assertEqual(self.server.wait_final(again)["state"], "Succeeded")

    def test_that_somebody_removed_are_made_again(self):
        for group in self.groups:
            os.rmdir(group)
        job = self.server.submit("true", memory="100Mi", cpu=1)
        self.assertEqual(self.server.wait_final(job)["state"], "Succeeded")


class Restart(unittest.TestCase):
    def server(self, config):
        return self.server_of(CLUSTER + QUEUES + config)

    def server_of(self, config):
        server = Server(BINARY, config)
        self.addCleanup(server.close)
        return server.start()

    def fill(self, server, jobs=60):
        """Jobs in many states; none of them changes by itself when this is done."""
        ids = []
        for first in range(0, jobs, 20):
            status, body, _ = server.api("POST", "/jobs", {"jobs": [
                {"name": f"wait-{i % 7}", "command": "true", "gpus": 16, "priority": i % 5,
                 "queue": "other" if i % 3 else "default"} for i in range(first, first + 20)]})
            self.assertEqual(status, 201, body)
            ids += body["ids"]
        done = server.submit("true")
        self.assertEqual(server.wait_final(done)["state"], "Succeeded")
        running = server.submit("sleep 600", gpus=1)
        while server.job(running)["state"] != "Running":
            time.sleep(0.05)
        server.submit("true", depends_on=[running])
        server.submit("true", gpus=1, start_after="2100-01-01T00:00:00Z")
        for job, verb in ((ids[0], "hold"), (ids[1], "cancel"), (ids[2], "hold")):
            self.assertEqual(server.api("POST", f"/jobs/{job}/{verb}")[0], 200)
        self.assertEqual(server.api("POST", f"/jobs/{ids[2]}/release")[0], 200)
        self.assertEqual(server.api("PATCH", f"/jobs/{ids[3]}", {"priority": 99})[0], 200)
        return ids

    def wait_for(self, what, look):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if look():
                return
            time.sleep(0.05)
        self.fail(f"{what} did not come")

    def wait_snapshot(self, server, least=1):
        self.wait_for("a snapshot",
                      lambda: server.metric("muster_snapshot_sequence") >= least)

    def killed_and_started(self, server):
        before = server.world()
        server.kill()
        server.start()
        self.assertEqual(server.world(), before)

    def test_the_world_is_the_same_from_a_snapshot_and_from_the_whole_journal(self):
        for config in (OFTEN, "store: {snapshot_every: 1000000}\n"):
            with self.subTest(config=config):
                server = self.server(config)
                self.fill(server)
                if config == OFTEN:
                    self.wait_snapshot(server)
                self.killed_and_started(server)
                self.fill(server)
                self.killed_and_started(server)

    def test_queues_use_what_they_used(self):
        """Shares by memory are a part of a device that no journal has seen."""
        nodes = "[{count: 1, cpu: 8, memory: 8Gi, gpu: {A100: 1}, gpu_memory: 80Gi}]"
        sim = "- {name: sim, type: simulated, run_time: 1h, nodes: %s}\n" % nodes
        for config in (OFTEN, "store: {snapshot_every: 1000000}\n"):
            with self.subTest(config=config):
                server = self.server_of(CLUSTER + sim + QUEUES + config)
                job = server.submit("true", queue="other", pods=4, gpu_memory="20Gi",
                                    clusters=["sim"])
                server.wait_state(job, "Running")
                self.fill(server)
                if config == OFTEN:
                    self.wait_snapshot(server)
                before = server.api("GET", "/queues/other")[1]["use"]
                self.assertEqual(before, {"gpu": "1", "gpu.A100": "1"})
                self.killed_and_started(server)
                self.assertEqual(server.api("GET", "/queues/other")[1]["use"], before)

    def test_a_trimmed_journal_is_not_needed(self):
        server = self.server(OFTEN + "retention: {journal: 1s}\n")
        self.fill(server)
        time.sleep(1.2)
        self.fill(server, 100)  # what came before is older than a second now
        self.wait_for("a trimmed journal", lambda: "were trimmed" in server.log())
        self.killed_and_started(server)
        status, body, _ = server.api("GET", "/events?from=1&follow=false")
        self.assertEqual(status, 410, body)

    def spoil(self, server):
        """One bit of every snapshot: the newest may be one that the kill left unfinished."""
        with sqlite3.connect(os.path.join(server.folder, "data/muster-blobs.db")) as db:
            for snapshot, number, data in db.execute(
                    "select snapshot, min(number), bytes from snapshot_chunks group by snapshot"
            ).fetchall():
                middle = len(data) // 2
                data = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1:]
                db.execute("update snapshot_chunks set bytes = ? where snapshot = ? and number = ?",
                           (data, snapshot, number))

    def test_a_damaged_snapshot_is_said_and_the_journal_read_instead(self):
        server = self.server(OFTEN)
        self.fill(server)
        self.wait_snapshot(server)
        before = server.world()
        server.kill()
        self.spoil(server)
        server.start()
        self.assertEqual(server.world(), before)
        self.assertIn("THE NEWEST SNAPSHOT CANNOT BE USED", server.log())

    def test_a_damaged_snapshot_of_a_trimmed_journal_is_refused(self):
        server = self.server(OFTEN + "retention: {journal: 1s}\n")
        self.fill(server)
        time.sleep(1.2)
        self.fill(server, 100)
        self.wait_for("a trimmed journal", lambda: "were trimmed" in server.log())
        server.kill()
        self.spoil(server)
        with self.assertRaises(AssertionError) as refused:
            server.start()
        self.assertIn("restore the database from a backup", str(refused.exception))

    def test_it_answers_while_it_recovers(self):
        server = self.server("store: {snapshot_every: 1000000}\n")
        for _ in range(10):
            status, _, _ = server.api("POST", "/jobs", {"jobs": [
                {"command": "true", "gpus": 16} for _ in range(1000)]})
            self.assertEqual(status, 201)
        before = server.world()
        server.kill()
        seen = []
        original = server.get

        def get(path, **kw):  # what is said between the first answer and being ready
            status, body, headers = original(path, **kw)
            if path == "/readyz" and status == 503:
                seen.append((body, headers, original("/healthz"),
                             server.api("GET", "/jobs")))
            return status, body, headers

        server.get = get
        server.start()
        server.get = original
        self.assertEqual(server.world(), before)
        for body, headers, health, jobs in seen:
            self.assertRegex(body["text"], r"^recovering: [\d,]+ of [\d,]+ entries$")
            self.assertEqual(headers["Retry-After"], "1")
            self.assertEqual(health[0], 200)
            self.assertIn(jobs[0], (200, 503))
            if jobs[0] == 503:
                self.assertEqual(jobs[2]["Retry-After"], "1")
        self.assertRegex(server.log(), r"recovering: 10,\d\d\d of 10,\d\d\d entries")


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main()
