#!/usr/bin/env python3
"""What a running server forgets by itself, and what it answers about what it has forgotten.

Usage: retention_test.py MUSTER [unittest arguments]
"""
import sys
import unittest

from muster_server import Server

BINARY = ""
# The house is kept after each snapshot, and every minute.
CONFIG = ("clusters:\n- {name: here, type: local, cpu: 64, memory: 64Gi}\n"
          "queues:\n- {name: default}\nstore: {snapshot_every: 10}\n")
SHORT = "retention: {finished_jobs: 1s, logs: 1s, journal: 1s, audit: 1s}\n"


class Retention(unittest.TestCase):
    def begin(self, config):
        self.server = Server(BINARY, config)
        self.addCleanup(self.server.close)
        self.server.start()

    def removed(self, kind):
        return self.server.metric(f'muster_retention_removed_total{{kind="{kind}"}}')

    def until(self, what, condition):
        """Jobs go by until it is so: each brings the next snapshot nearer."""
        def turn():
            self.server.submit("true")
            return condition()
        self.server.wait(what, turn)

    def error(self, status, method, path):
        got, answer, _ = self.server.api(method, path)
        self.assertEqual(got, status, answer)
        return answer["error"]["message"]

    def test_what_is_past_its_limits_goes_and_the_server_says_so(self):
        self.begin(CONFIG + SHORT)
        runs = self.server.submit("echo up; sleep 600")
        held = self.server.submit("true", held=True)
        old = self.server.submit("echo old")
        self.server.wait_final(old)
        self.assertEqual(len(self.server.api("GET", f"/jobs/{old}/logs")[1]["lines"]), 1)
        self.until("the job is forgotten", lambda: self.server.api("GET", "/jobs/" + old)[0] == 404)
        self.until("and all the rest", lambda: all(
            self.removed(kind) > 0 for kind in ("jobs", "journal", "audit"))
            and self.server.metric("muster_retention_removed_log_bytes_total") > 0)
        for path in ("", "/logs", "/logs?follow=true"):
            self.assertIn(old, self.error(404, "GET", f"/jobs/{old}{path}"))
        for verb in ("cancel", "retry"):
            self.assertIn(old, self.error(404, "POST", f"/jobs/{old}/{verb}"))
        self.assertNotIn(old, [row["id"] for row in
                               self.server.api("GET", "/jobs?limit=1000")[1]["jobs"]])
        self.assertIn("journal", self.error(410, "GET", "/events?from=1&follow=false"))
        self.assertEqual(self.server.job(runs)["state"], "Running", "who is not done is kept")
        self.assertEqual(self.server.job(held)["state"], "Held")
        self.server.kill()
        self.server.start()
        self.assertEqual((self.server.job(runs)["state"], self.server.job(held)["state"]),
                         ("Running", "Held"))
        self.assertEqual(self.server.api("GET", "/jobs/" + old)[0], 404)

    def test_of_too_many_finished_jobs_the_newest_stay(self):
        self.begin(CONFIG + "retention: {finished_jobs_max: 3}\n")
        ids = [self.server.submit("true") for _ in range(6)]
        self.server.wait_final(ids[-1])  # those before it may be gone already
        self.until("the oldest goes", lambda: self.server.api("GET", "/jobs/" + ids[0])[0] == 404)
        newest = self.server.submit("true")
        self.server.wait_final(newest)
        self.assertEqual(self.server.job(newest)["state"], "Succeeded")
        self.assertGreaterEqual(self.removed("jobs"), 1)
        self.assertEqual(self.server.metric("muster_retention_removed_log_bytes_total"), 0)

    def test_limits_are_those_of_the_file_as_it_was_read_last(self):
        self.begin(CONFIG)
        old = self.server.submit("true")
        self.server.wait_final(old)
        self.server.write_config(CONFIG + SHORT)
        status, preview, _ = self.server.api("POST", "/config/reload")
        self.assertEqual((status, preview["restart"]), (200, []), preview)
        self.until("it is forgotten", lambda: self.server.api("GET", "/jobs/" + old)[0] == 404)


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main(verbosity=2)
