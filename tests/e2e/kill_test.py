#!/usr/bin/env python3
"""kill -9 of the real server at random points of dispatch to a real Kubernetes.

Usage: kill_test.py MUSTER [--kills N] [--seed N] [--kubernetes VERSION] [unittest arguments]

Between two kills gangs are submitted and cancelled; each kill comes at a random moment after the
first of these requests was sent, so that it meets every stage from the submit to the last pod. In
the end every job that the server acknowledged has the state its command leads to, and the API
server's own audit log has each Job and each pod once (a Job whose create was cut off by the kill
has no answer there: the pods name it as their owner).
"""
import argparse
import collections
import http.client
import os
import random
import sys
import threading
import time
import unittest

import muster_test
from binaries import KUBERNETES, Missing
from muster_test import WithCluster, creations, start_cluster

KILLS = 20
SEED = 1
ENDS = {"true": "Succeeded", "false": "Failed", "sleep": "Running"}
SLEEPERS_MAX = 8  # gangs that run on; more are cancelled, so that there is room for all
# Nobody may think that a dispatch was hit when it was not.
HITS_LEAST = 0.4


class Kills(WithCluster):
    """One server, killed again and again."""

    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        self.expected = {}   # job -> the state it has in the end
        self.open = set()    # jobs of whose cancel nobody knows whether it was heard
        self.sleepers = []   # acknowledged gangs that run on, oldest first
        self.start_server(muster_test.CLUSTER.file("admin.kubeconfig"))

    def submit(self, command):
        job = self.gang(command)
        self.expected[job] = ENDS[command]
        if command == "sleep":
            self.sleepers.append(job)

    def cancel(self):
        job = self.sleepers.pop(0)
        self.open.add(job)
        status, body, _ = self.server.api("POST", f"/jobs/{job}/cancel")
        self.assertEqual(status, 200, body)
        self.open.discard(job)
        self.expected[job] = "Cancelled"

    def work(self):
        """Requests until the server is gone; what was not answered may or may not be done."""
        try:
            for _ in range(self.random.randint(1, 4)):
                self.submit(self.random.choice(["true", "true", "sleep", "false"]))
            while len(self.sleepers) > SLEEPERS_MAX:
                self.cancel()
        except (OSError, http.client.HTTPException):
            pass

    def length_of_dispatch(self):
        """From a submit until the gang runs, on this machine, now."""
        start = time.monotonic()
        job = self.gang("sleep")
        self.wait_state(job, "Running")
        self.expected[job] = "Running"
        self.sleepers.append(job)
        return time.monotonic() - start

    def state_of(self, job):
        return self.server.job(job)["state"]

    def test_killed_at_random_points_of_dispatch_it_loses_nothing_and_makes_nothing_twice(self):
        dispatch_s = self.length_of_dispatch()
        hits = 0
        for _ in range(KILLS):
            known = set(self.expected)
            killer = threading.Timer(self.random.uniform(0, dispatch_s), self.server.process.kill)
            killer.start()
            self.work()
            killer.join()
            self.server.process.wait()
            self.server.start()
            states = [self.state_of(job) for job in set(self.expected) - known]
            hits += any(state in ("Waiting", "Starting") for state in states)
        self.check_ends()
        self.check_counts()
        print(f"\n{KILLS} kills within {dispatch_s:.2f} s of a submit, seed {SEED}: {hits} before "
              f"a gang ran; {len(self.expected)} jobs acknowledged", flush=True)
        self.assertGreaterEqual(hits, HITS_LEAST * KILLS, "the kills met nothing")

    def check_ends(self):
        for job, state in self.expected.items():
            self.wait_state(job, *((state, "Cancelled") if job in self.open else (state,)))

    def check_counts(self):
        """Not one object too many; of a gang that ran, not one too few."""
        counts = creations(self.namespace)
        twice = {what: count for what, count in counts.items() if count != 1}
        self.assertFalse(twice, "made more than once")
        again = {what for what in counts if what[2] != "1"}
        self.assertFalse(again, "a second attempt, though nothing was lost")
        for job, state in self.expected.items():
            made = {what for what in counts if what[1] == job}
            whole = {("jobs", job, "1", ""), ("pods", job, "1", "0"), ("pods", job, "1", "1")}
            if state == "Cancelled" or job in self.open:
                self.assertLessEqual(made, whole)
            else:
                self.assertEqual(made, whole)
        alive = collections.Counter(
            pod["metadata"]["annotations"]["muster.dev/job-id"] for pod in self.pods()
            if pod["status"].get("phase") == "Running"
            and not pod["metadata"].get("deletionTimestamp"))
        for job in self.expected:
            self.assertEqual(alive[job], 2 if self.state_of(job) == "Running" else 0, job)


def main():
    global KILLS, SEED  # pylint: disable=global-statement
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("binary")
    parser.add_argument("--kubernetes", default=KUBERNETES, metavar="VERSION")
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--seed", type=int, default=SEED)
    options, more = parser.parse_known_args()
    muster_test.BINARY = os.path.abspath(options.binary)
    KILLS, SEED = options.kills, options.seed
    try:
        muster_test.CLUSTER = start_cluster(options.kubernetes)
    except Missing as missing:
        print(f"NOT TESTED: {missing}")
        return 0
    try:
        return not unittest.main(argv=[sys.argv[0], *more], exit=False).result.wasSuccessful()
    finally:
        muster_test.CLUSTER.stop()


if __name__ == "__main__":
    sys.exit(main())
