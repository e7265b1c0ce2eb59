#!/usr/bin/env python3
"""Draining a cluster of this machine and leaving it, by the command line, with a job that runs.

Usage: drain_test.py MUSTER [unittest arguments]
"""
import os
import subprocess
import sys
import unittest

from muster_server import Server

BINARY = ""
CONFIG = ("clusters:\n- {name: here, type: local, slots: 2, stop_grace: 5s}\n"
          "queues:\n- {name: default}\n")


class Drain(unittest.TestCase):
    def setUp(self):
        self.server = Server(BINARY, CONFIG)
        self.addCleanup(self.server.close)
        self.server.start()
        self.ran = os.path.join(self.server.folder, "ran")
        open(self.ran, "w").close()

    def muster(self, *words, code=0):
        environment = {**os.environ, "MUSTER_CONFIG": os.path.join(self.server.folder, "contexts"),
                       "MUSTER_URL": f"http://127.0.0.1:{self.server.port}"}
        done = subprocess.run([BINARY, *words], env=environment, capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        return done.stdout + done.stderr

    def submit(self, name, **more):
        """Runs until it is told to end, and writes down that it began and that it was told."""
        return self.server.submit(
            f"echo {name} begins >> {self.ran}; "
            f"trap 'echo {name} told >> {self.ran}; exit 9' TERM; while :; do sleep 0.05; done",
            name=name, gpus=1, **more)

    def lines(self):
        with open(self.ran) as file:
            return [line.strip() for line in file]

    def wait_lines(self, expected):
        self.server.wait(f"{expected}", lambda: self.lines() == expected)

    def test_jobs_move_to_another_cluster_and_come_back_when_it_takes_jobs_again(self):
        moved = self.submit("moved")
        self.server.wait_state(moved, "Running")
        self.wait_lines(["moved begins"])
        self.muster("cluster", "join", "second", "--type", "local", "--slots", "2")
        self.assertIn("draining", self.muster("cluster", "drain", "here"))
        self.server.wait("it runs elsewhere", lambda: (
            lambda row: row["state"] == "Running" and row["cluster"] == "second")(
                self.server.job(moved)))
        self.wait_lines(["moved begins", "moved told", "moved begins"])
        row = self.server.job(moved)
        self.assertEqual((row["attempt"], row["failures"]), (2, 0), "that is no failure of the job")
        pinned = self.server.submit("true", clusters=["here"])
        self.assertIn("drain", self.muster("explain", pinned))
        self.assertEqual(self.server.job(pinned)["state"], "Waiting")
        self.muster("cluster", "uncordon", "here")
        self.assertEqual(self.server.wait_final(pinned)["state"], "Succeeded")
        self.assertEqual(self.server.job(moved)["attempt"], 2, "it stays where it is")

    def test_without_another_cluster_they_wait_and_start_over(self):
        job = self.submit("only")
        self.wait_lines(["only begins"])
        self.muster("cluster", "drain", "here")
        self.server.wait_state(job, "Waiting")
        self.wait_lines(["only begins", "only told"])
        self.muster("cluster", "uncordon", "here")
        self.server.wait_state(job, "Running")
        self.wait_lines(["only begins", "only told", "only begins"])

    def test_one_that_was_joined_leaves_when_its_job_has_gone(self):
        said = self.muster("cluster", "leave", "here", code=1)
        self.assertIn("stands in the configuration file", said)
        self.muster("cluster", "join", "second", "--type", "local", "--slots", "2")
        job = self.submit("guest", clusters=["second"])
        self.wait_lines(["guest begins"])
        self.assertIn("1 still runs there", self.muster("cluster", "leave", "second", "--no-wait"))
        self.assertIn("when its last job has ended", self.muster("cluster", "show", "second"))
        self.assertEqual(self.server.job(job)["state"], "Running")
        self.server.kill()
        self.server.start()
        self.assertEqual(self.server.job(job)["state"], "Running", "also after a restart")
        self.muster("cancel", job)
        self.server.wait("it has left",
                         lambda: self.server.api("GET", "/clusters/second")[0] == 404)
        self.assertEqual(self.lines(), ["guest begins", "guest told"])
        self.assertEqual(self.server.job(job)["state"], "Cancelled")


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
