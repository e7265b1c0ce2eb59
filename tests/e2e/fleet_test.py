#!/usr/bin/env python3
"""The real `muster serve` over three real Kubernetes clusters: gangs spread over them, and one of
them killed and revived in the middle of dispatch.

Usage: fleet_test.py MUSTER [--gangs N] [--kubernetes VERSION] [--only PART_OF_A_NAME]

What ran where, and how often, is counted in the audit logs of the three API servers.
"""
import collections
import sys
from datetime import datetime, timezone

from audit import attempts_deleted, creations, events, is_success, keep_audit_log, time_of
from clusters import start_all
from control_plane import ControlPlane
from ledger import is_doubled
from on_clusters import run_on
from with_server import WithServer

BINARY = ""
FLEET = {}  # name -> ControlPlane
GANGS = 24
NAMES = ("east", "north", "west")
NODES = 4
GPUS = 8
GRACE_S = 2


class Fleet(WithServer):
    """Each test has a server of its own, and the same new namespace in each cluster."""
    binary = property(lambda _: BINARY)
    wait_s = 90

    def setUp(self):
        self.make_namespace(*FLEET.values())
        self.seen = collections.defaultdict(list)  # name of a cluster -> (resource, object)
        rows = "".join(f"""
- {{name: {name}, type: kubernetes, kubeconfig: {cluster.file("admin.kubeconfig")},
   namespace: {self.namespace}, image: example.com/tool:1, grace: {GRACE_S}s}}"""
                       for name, cluster in FLEET.items())
        self.begin(f"""clusters:{rows}
pools:
- {{name: east-fast, cluster: east, node_selector: {{speed: fast}}}}
- {{name: west-fast, cluster: west, node_selector: {{speed: fast}}}}
fleet_pools:
- {{name: fast, pools: [east-fast, west-fast]}}
""")
        self.wait("three clusters are ready", lambda: self.ready() == sorted(NAMES))

    def ready(self):
        _, found, _ = self.server.api("GET", "/clusters")
        return sorted(row["name"] for row in found["clusters"]
                      if row["health"] == "ready" and row["nodes_usable"] == NODES)

    def wait_states(self, jobs, *states, wait_s=90):
        for job in jobs:
            self.wait_state(job, *states, wait_s=wait_s)

    def gang(self, command, pods=2, **more):
        return self.server.submit([command], pods=pods, gpus=1, stop_grace="1s", **more)

    def made(self):
        """{job: {(cluster, attempt): {(resource, index): how many}}}"""
        found = collections.defaultdict(lambda: collections.defaultdict(dict))
        for name, cluster in FLEET.items():
            self.look(name)
            counts = creations(cluster, self.namespace, self.seen[name])
            for (what, job, attempt, index), count in counts.items():
                found[job][(name, attempt)][(what, index)] = count
        return found

    def look(self, name):
        """What is there is remembered: a server that was killed has not written all into its log,
        and what has ended is removed after a while."""
        if is_up(FLEET[name]):
            self.seen[name] += [(what, one)
                                for what, where in (("pods", "api/v1"), ("jobs", "apis/batch/v1"))
                                for one in self.objects(name, what, where)]

    def objects(self, cluster, what="pods", where="api/v1"):
        status, found = FLEET[cluster].get(f"/{where}/namespaces/{self.namespace}/{what}")
        self.assertEqual(status, 200, found)
        return found["items"]


def is_up(cluster):
    return cluster.daemons["apiserver"].is_running()


def whole(pods):
    return {("jobs", ""): 1, **{("pods", str(index)): 1 for index in range(pods)}}


class ThreeClusters(Fleet):

    def test_every_gang_is_whole_in_one_cluster_and_keeps_to_pins_and_fleet_pools(self):
        jobs = {}  # job -> pods, clusters it may run in, whether on fast nodes
        for index in range(GANGS):
            pods = 2 + index % 3
            kind = index % 4
            pinned = NAMES[index // 4 % 3]
            more, where = {0: ({"clusters": [pinned]}, {pinned}),
                           1: ({"pool": "fast"}, {"east", "west"}),
                           2: ({"exclude_clusters": ["west"]}, {"east", "north"}),
                           3: ({}, set(NAMES))}[kind]
            jobs[self.gang("true", pods, **more)] = (pods, where, kind == 1)
        self.wait_states(jobs, "Succeeded")
        made = self.made()
        used = collections.Counter()
        for job, (pods, where, _) in jobs.items():
            [(place, objects)] = made[job].items()
            self.assertEqual(objects, whole(pods), job)
            self.assertEqual(place[1], "1", "a second attempt, though nothing was lost")
            self.assertIn(place[0], where, job)
            self.assertEqual(self.server.job(job)["cluster"], place[0])
            used[place[0]] += 1
        self.assertEqual(set(made), set(jobs), "objects of nobody")
        self.assertEqual(sorted(used), sorted(NAMES))
        self.check_pools(jobs)
        print(f"\n{len(jobs)} gangs, each whole in one cluster: {dict(used)}", flush=True)

    def check_pools(self, jobs):
        seen = set()
        for cluster in NAMES:
            for pod in self.objects(cluster):
                job = pod["metadata"]["annotations"]["muster.dev/job-id"]
                if jobs[job][2]:
                    self.assertIn("-fast-", pod["spec"]["nodeName"])
                    seen.add(job)
        self.assertEqual(seen, {job for job, (_, _, is_fast) in jobs.items() if is_fast})


class KilledAndRevived(Fleet):

    def submit_all(self, count):
        """Gangs that run on in the cluster that will be lost, and such to be dispatched there."""
        keep = [self.gang("sleep", clusters=["west"]) for _ in range(2)]
        self.server.api("POST", "/clusters/east/cordon")
        move = [self.gang("sleep", clusters=["east", "west"], on_cluster_loss="rerun")
                for _ in range(3)]
        self.wait_states(keep + move, "Running")
        self.server.api("POST", "/clusters/east/uncordon")
        return keep, move, [self.gang("true", clusters=["west"]) for _ in range(count)]

    def test_a_cluster_killed_in_the_middle_of_dispatch_and_revived_runs_nothing_twice(self):
        self.kill_and_revive(whole=False)

    def test_nor_does_one_whose_scheduler_controllers_and_nodes_die_with_it(self):
        self.kill_and_revive(whole=True)

    def kill_and_revive(self, whole):
        keep, move, dispatched = self.submit_all(GANGS)
        self.wait("some of them are made", lambda: len(self.made().keys() & set(dispatched)) > 1)
        FLEET["west"].kill(whole)
        states = [self.server.job(job)["state"] for job in dispatched]
        late = [self.gang("true", clusters=["west"]) for _ in range(3)]
        self.wait("those who may run in the other cluster", lambda: all(
            (row["state"], row["cluster"]) == ("Running", "east")
            for row in map(self.server.job, move)))
        for job in keep:
            row = self.server.job(job)
            self.assertEqual((row["state"], row["cluster"], row["attempt"]), ("Running", "west", 1))
        revived_at = datetime.now(timezone.utc)
        FLEET["west"].revive()
        self.look("west")
        self.wait_states(dispatched + late, "Succeeded", wait_s=180)
        self.wait("what moved is gone from the west", lambda: {
            pod["metadata"]["annotations"]["muster.dev/job-id"] for pod in self.objects("west")
            if pod["status"].get("phase") == "Running"} == set(keep))
        self.check_counts(keep, move, dispatched + late)
        self.check_order(move, revived_at)
        unfinished = sum(state in ("Waiting", "Starting") for state in states)
        print(f"\nkilled with {unfinished} of {len(states)} gangs not running yet; "
              f"{len(move)} ran again elsewhere, {len(keep)} waited", flush=True)
        self.assertGreater(unfinished, 0, "the kill met no dispatch")

    def check_counts(self, keep, moved, once):
        made = self.made()
        for job in keep + once:
            self.assertEqual({cluster for cluster, _ in made[job]}, {"west"}, job)
            attempts = {number: objects for (_, number), objects in made[job].items()}
            if not is_doubled(self, attempts):
                self.assertEqual(attempts, {"1": whole(2)}, job)
        for job in moved:
            self.assertEqual(set(made[job]), {("west", "1"), ("east", "2")}, job)
            self.assertEqual(made[job][("east", "2")], whole(2))
            if not is_doubled(self, {"1": made[job][("west", "1")]}):
                for what, count in made[job][("west", "1")].items():
                    self.assertEqual(count, 1, what)

    def check_order(self, moved, revived_at):
        """Attempts that are not current any more were deleted before anything new was made."""
        deleted, made = {}, []
        for event in events(FLEET["west"], self.namespace):
            is_of_jobs = is_success(event) and event["objectRef"]["resource"] == "jobs"
            if not is_of_jobs or time_of(event) < revived_at:
                continue
            if event["verb"] == "create":
                made.append(time_of(event))
            else:
                for attempt in attempts_deleted(event):
                    deleted.setdefault(attempt, time_of(event))
        first_deletes = [deleted[(job, "1")] for job in moved]
        self.assertLess(max(first_deletes), min(made))


def start(options):
    global BINARY, GANGS  # pylint: disable=global-statement
    BINARY, GANGS = options.binary, options.gangs
    FLEET.update({name: keep_audit_log(ControlPlane(name, options.kubernetes)) for name in NAMES})
    start_all(list(FLEET.values()))
    for name, cluster in FLEET.items():
        cluster.add_nodes(NODES // 2, prefix=f"{name}-fast", gpus=GPUS, labels={"speed": "fast"})
        cluster.add_nodes(NODES // 2, prefix=f"{name}-slow", gpus=GPUS)
    return list(FLEET.values())


if __name__ == "__main__":
    sys.exit(run_on(start, __doc__, first=[ThreeClusters],
                    numbers=[("gangs", GANGS, "over all clusters")]))
