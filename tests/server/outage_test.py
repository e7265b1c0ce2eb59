#!/usr/bin/env python3
"""What the server keeps its books on is away for a while: a full disk, a database that was stopped.
Submits are refused with a reason, what runs goes on, and afterwards everything is as if nothing had
been: what ended meanwhile is recorded, what waited starts, and nothing runs twice, counted from a
file that each process writes a line to.

Usage: outage_test.py MUSTER [unittest arguments]
"""
import collections
import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest

from muster_server import Server
from postgres import Postgres

BINARY = ""
HERE = "clusters:\n- {name: here, type: local, slots: 4, cpu: 64, memory: 64Gi}\n"
QUEUES = "queues:\n- {name: default}\n"
PATIENCE_S = 60


class Work:
    """Jobs that run through an outage of their server, one of which ends in it."""

    def __init__(self, test, server):
        self.test, self.server = test, server
        self.ran = os.path.join(server.folder, "ran")
        self.gates = os.path.join(server.folder, "gates")
        os.mkdir(self.gates)

    def command(self, name, end):
        return (f"echo {name} >> {self.ran}; echo early; "
                f"until [ -e {self.gates}/{name} ]; do sleep 0.05; done; "
                f"echo late; echo {name} ended >> {self.ran}; exit {end}")

    def begin(self):
        self.ends = self.server.submit(self.command("ends", 4))
        self.stays = self.server.submit(self.command("stays", 0))
        self.next = self.server.submit(f"echo next >> {self.ran}", depends_on=[self.stays])
        for job in (self.ends, self.stays):
            self.server.wait_state(job, "Running")
            self.server.wait("output", lambda job=job: self.texts(job))

    def refused(self):
        """The answer to a submit, when it is refused; what was accepted before runs, too."""
        taken = 0

        def ask():
            nonlocal taken
            answer = self.server.api("POST", "/jobs", {"command": f"echo more >> {self.ran}"})
            taken += answer[0] == 201
            return answer if answer[0] == 503 else None
        _, answer, headers = self.server.wait("a 503", ask, PATIENCE_S)
        self.test.assertEqual(answer["error"]["code"], "unavailable")
        self.test.assertGreaterEqual(int(headers["Retry-After"]), 1)
        self.more = taken
        return answer["error"]["message"]

    def end_one(self):
        """A process ends, and nobody can be told."""
        self.open("ends")
        self.server.wait("it ends", lambda: "ends ended" in self.lines())
        self.test.assertEqual(self.server.get("/healthz")[0], 200)

    def check(self):
        """After the outage."""
        def taken():
            status, answer, _ = self.server.api(
                "POST", "/jobs", {"command": f"echo again >> {self.ran}"},
                headers={"Idempotency-Key": "again"})
            return answer["ids"][0] if status in (200, 201) else None
        again = self.server.wait("a submit is taken again", taken, PATIENCE_S)
        ended = self.server.wait_final(self.ends)
        self.test.assertEqual((ended["state"], ended["exit_code"], ended["attempt"]),
                              ("Failed", 4, 1))
        self.test.assertEqual(self.server.job(self.stays)["state"], "Running")
        self.open("stays")
        for job in (self.stays, self.next, again):
            row = self.server.wait_final(job)
            self.test.assertEqual((row["state"], row["attempt"]), ("Succeeded", 1), row)
        self.test.assertEqual(self.texts(self.stays), ["early\n", "late\n"])
        self.test.assertEqual(self.texts(self.ends)[0], "early\n")
        self.test.assertEqual(self.server.get("/readyz")[0], 200)
        self.server.wait("those that were taken run",
                         lambda: self.lines().count("more") >= self.more)
        self.test.assertEqual(collections.Counter(self.lines()), collections.Counter(
            {"ends": 1, "ends ended": 1, "stays": 1, "stays ended": 1, "next": 1, "again": 1,
             "more": self.more}))

    def open(self, gate):
        open(os.path.join(self.gates, gate), "w").close()

    def lines(self):
        with open(self.ran) as file:
            return [line.strip() for line in file]

    def texts(self, job):
        return [line["text"] for line in self.server.api("GET", f"/jobs/{job}/logs")[1]["lines"]]


class FullDisk(unittest.TestCase):
    def test_nothing_is_lost_and_nothing_runs_twice(self):
        server = Server(BINARY, HERE + QUEUES)
        data = os.path.join(server.folder, "data")
        os.mkdir(data)
        self.addCleanup(shutil.rmtree, server.folder, ignore_errors=True)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", data],
                                 capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            self.skipTest(f"NOT TESTED: no small disk can be made here: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", data], check=False)
        self.addCleanup(server.close)
        server.start()
        work = Work(self, server)
        work.begin()
        filler = os.path.join(data, "filler")
        self.fill(filler)
        self.assertIn("full", work.refused())
        work.end_one()
        self.assertEqual(server.job(work.stays)["state"], "Running", "reads go on")
        self.assertGreater(server.metric("muster_store_refusals_total"), 0)
        os.remove(filler)
        work.check()

    @staticmethod
    def fill(path):
        """Until not one byte more is taken."""
        with open(path, "wb", buffering=0) as file:
            size = 1 << 20
            while size > 0:
                try:
                    file.write(b"x" * size)
                except OSError as full:
                    if full.errno != errno.ENOSPC:
                        raise
                    size //= 2

    def test_a_file_that_may_not_grow_stops_acceptance_and_heals(self):
        server = Server(BINARY, HERE + QUEUES,
                        preexec=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
        self.addCleanup(server.close)
        server.start()
        kept = server.submit("true", held=True)
        job = {"command": "true", "held": True}
        size = os.path.getsize(os.path.join(server.folder, "data", "muster.db-wal"))
        big = resource.RLIM_INFINITY
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, big))
        server.wait("a 503", lambda: server.api("POST", "/jobs", job)[0] == 503, 30)
        self.assertEqual(server.job(kept)["state"], "Held", "reads go on")
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (big, big))
        server.wait("it heals", lambda: server.api("POST", "/jobs", job)[0] == 201, 30)


@unittest.skipIf(Postgres.missing(), Postgres.missing())
class LostDatabase(unittest.TestCase):
    def test_nothing_is_lost_and_nothing_runs_twice(self):
        postgres = Postgres()
        self.addCleanup(postgres.close)
        server = Server(BINARY, f'store: {{postgres: "{postgres.url}"}}\n' + HERE + QUEUES)
        self.addCleanup(server.close)
        server.start()
        work = Work(self, server)
        work.begin()
        postgres.stop()
        self.assertIn("PostgreSQL", work.refused())
        work.end_one()
        time.sleep(0.5)  # the cluster has told the loop, which cannot write it down
        postgres.start()
        work.check()


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main(verbosity=2)
