"""Gangs that were submitted to a server, how each is to end, and whether a cluster's own log
agrees: nothing lost, nothing twice."""
import collections
import random

from audit import creations

ENDS = {"true": "Succeeded", "false": "Failed", "sleep": "Running"}


def is_doubled(test, attempts):
    """Whether the Job's own controller, whose API server was killed, made a pod of a gang twice. It
    takes the surplus one away again, and Muster has the gang run once more, whole.
    `attempts`: {attempt: {(resource, index): how many were made}}."""
    if not any(count > 1 for objects in attempts.values()
               for what, count in objects.items() if what[0] == "pods"):
        return False
    test.assertLessEqual(set(attempts), {"1", "2"})
    for objects in attempts.values():
        test.assertEqual(objects[("jobs", "")], 1, "what Muster makes, it makes once")
    return True


class Ledger:
    """Of one test (a muster_test.WithCluster) and its server. Gangs have two pods."""

    def __init__(self, test, cluster, seed=1):
        self.test = test
        self.cluster = cluster
        self.random = random.Random(seed)
        self.expected = {}   # job -> the state it has in the end
        self.open = set()    # jobs of whose cancel nobody knows whether it was heard
        self.sleepers = []   # acknowledged gangs that run on, oldest first

    def submit(self, command, **more):
        job = self.test.gang(command, **more)
        self.expected[job] = ENDS[command]
        if command == "sleep":
            self.sleepers.append(job)
        return job

    def submit_some(self, count):
        for _ in range(count):
            self.submit(self.random.choice(["true", "true", "sleep", "false"]))

    def cancel_oldest(self):
        job = self.sleepers.pop(0)
        self.open.add(job)
        status, body, _ = self.test.server.api("POST", f"/jobs/{job}/cancel")
        self.test.assertEqual(status, 200, body)
        self.open.discard(job)
        self.expected[job] = "Cancelled"

    def state_of(self, job):
        return self.test.server.job(job)["state"]

    def history_of(self, job):
        """What happened to it, for the reader of a failure."""
        return self.test.server.api("GET", f"/jobs/{job}/notes")[1]

    def was_cut_off(self, job, attempts):
        """Whether the API server was killed while objects of the gang were made. It wrote no line
        of what it had made and not answered. The Job's own controller may make a pod of it again
        and take the surplus one away, and Muster has the gang run once more, whole.
        `attempts`: {attempt: {(resource, index): how many were made}}."""
        first = attempts["1"]
        pods = [first.get(("pods", index), 0) for index in ("0", "1")]
        has_hole = self.expected.get(job) != "Cancelled" and job not in self.open and (
            0 in pods or ("jobs", "") not in first)
        was_refused = any(note["attempt"] == 1 and note["reason"] == "FailedCreate"
                          for note in self.history_of(job)["notes"])
        if not (has_hole or was_refused or max(pods) > 1):
            return False
        self.test.assertLessEqual(set(attempts), {"1", "2"})
        for objects in attempts.values():
            self.test.assertLessEqual(objects.get(("jobs", ""), 0), 1,
                                      "what Muster makes, it makes once")
        return True

    def check_ends(self, wait_s=120):
        for job, state in self.expected.items():
            states = (state, "Cancelled") if job in self.open else (state,)
            self.test.wait_state(job, *states, wait_s=wait_s)

    def check_counts(self, api_was_killed=False):
        """Not one object too many; of a gang that ran, not one too few."""
        test = self.test
        there = [("jobs", job) for job in test.jobs()] + [("pods", pod) for pod in test.pods()]
        counts = creations(self.cluster, test.namespace, there)
        gangs = collections.defaultdict(lambda: collections.defaultdict(dict))
        for (kind, job, attempt, index), count in counts.items():
            gangs[job][attempt][(kind, index)] = count
        aside = {job for job, attempts in gangs.items()
                 if api_was_killed and self.was_cut_off(job, attempts)}
        counts = {what: count for what, count in counts.items() if what[1] not in aside}
        twice = {what: count for what, count in counts.items() if count != 1}
        test.assertFalse(twice, "made more than once")
        again = {what for what in counts if what[2] != "1"}
        test.assertFalse(again, "a second attempt, though nothing was lost: " + "; ".join(
            f"{job}: {self.history_of(job)}" for job in sorted({what[1] for what in again})))
        for job, state in self.expected.items():
            if job in aside:
                continue
            made = {what for what in counts if what[1] == job}
            whole = {("jobs", job, "1", ""), ("pods", job, "1", "0"), ("pods", job, "1", "1")}
            if state == "Cancelled" or job in self.open:
                test.assertLessEqual(made, whole)
            else:
                test.assertEqual(made, whole)
        alive = collections.Counter(
            pod["metadata"]["annotations"]["muster.dev/job-id"] for pod in test.pods()
            if pod["status"].get("phase") == "Running"
            and not pod["metadata"].get("deletionTimestamp"))
        for job in self.expected:
            test.assertEqual(alive[job], 2 if self.state_of(job) == "Running" else 0, job)
