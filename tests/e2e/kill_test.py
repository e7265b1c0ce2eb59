#!/usr/bin/env python3
"""kill -9 of the real server at random points of dispatch to a real Kubernetes.

Usage: kill_test.py MUSTER [--kills N] [--seed N] [--kubernetes VERSION] [--only PART_OF_A_NAME]

Between two kills gangs are submitted and cancelled; each kill comes at a random moment after the
first of these requests was sent, so that it meets every stage from the submit to the last pod. In
the end every job that the server acknowledged has the state its command leads to, and the API
server's own audit log has each Job and each pod once (a Job whose create was cut off by the kill
has no answer there: the pods name it as their owner).
"""
import http.client
import sys
import threading
import time

import muster_test
from ledger import Ledger
from muster_test import WithCluster, start_cluster
from on_clusters import run_on

KILLS = 20
SEED = 1
SLEEPERS_MAX = 8  # gangs that run on; more are cancelled, so that there is room for all
# Nobody may think that a dispatch was hit when it was not.
HITS_LEAST = 0.4


class Kills(WithCluster):
    """One server, killed again and again."""

    def setUp(self):
        super().setUp()
        self.ledger = Ledger(self, muster_test.CLUSTER, SEED)
        self.start_server(muster_test.CLUSTER.file("admin.kubeconfig"))

    def work(self):
        """Requests until the server is gone; what was not answered may or may not be done."""
        try:
            self.ledger.submit_some(self.ledger.random.randint(1, 4))
            while len(self.ledger.sleepers) > SLEEPERS_MAX:
                self.ledger.cancel_oldest()
        except (OSError, http.client.HTTPException):
            pass

    def length_of_dispatch(self):
        """From a submit until the gang runs, on this machine, now."""
        start = time.monotonic()
        self.wait_state(self.ledger.submit("sleep"), "Running")
        return time.monotonic() - start

    def test_killed_at_random_points_of_dispatch_it_loses_nothing_and_makes_nothing_twice(self):
        dispatch_s = self.length_of_dispatch()
        hits = 0
        for _ in range(KILLS):
            known = set(self.ledger.expected)
            killer = threading.Timer(self.ledger.random.uniform(0, dispatch_s),
                                     self.server.process.kill)
            killer.start()
            self.work()
            killer.join()
            self.server.process.wait()
            self.server.start()
            states = [self.ledger.state_of(job) for job in set(self.ledger.expected) - known]
            hits += any(state in ("Waiting", "Starting") for state in states)
        self.ledger.check_ends()
        self.ledger.check_counts()
        print(f"\n{KILLS} kills within {dispatch_s:.2f} s of a submit, seed {SEED}: {hits} before "
              f"a gang ran; {len(self.ledger.expected)} jobs acknowledged", flush=True)
        self.assertGreaterEqual(hits, HITS_LEAST * KILLS, "the kills met nothing")


def start(options):
    global KILLS, SEED  # pylint: disable=global-statement
    muster_test.BINARY = options.binary
    KILLS, SEED = options.kills, options.seed
    muster_test.CLUSTER = start_cluster(options.kubernetes)
    return [muster_test.CLUSTER]


if __name__ == "__main__":
    sys.exit(run_on(start, __doc__, numbers=[("kills", KILLS, "of the server"),
                                       ("seed", SEED, "of their times")]))
