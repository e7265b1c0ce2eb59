#!/usr/bin/env python3
"""The real `muster serve` with a real Kubernetes that fails, and where others interfere.

Usage: faults_test.py MUSTER [--gangs N] [--kubernetes VERSION] [--only PART_OF_A_NAME]

The faults come from a proxy in front of the real API server (http_faults.py) and from that server
itself: stopped, killed, its revisions compacted away. Whatever happens, every job ends as its
command does, and the server's own audit log has each Job and each pod once.
"""
import itertools
import random
import signal
import sys
import threading
import time

import muster_test
from audit import attempts_deleted, creations, events, is_success, time_of
from http_faults import Answer, GoneEvent, HttpFaults, Late, LostReply
from ledger import Ledger
from muster_test import WithCluster, start_cluster
from on_clusters import run_on
from side_by_side import alone

GANGS = 6
READY_WITHIN_S = 8
AT_ONCE = 4


def every(fault, of):
    """A fault for each request `of` a kind."""
    return lambda asked: fault if of(asked) else None


def some(share, fault, of):
    """A fault for a share of the requests `of` a kind, the first among them."""
    dice = random.Random(1)
    first = iter([fault])
    return lambda asked: (next(first, None) or (fault if dice.random() < share else None)
                          if of(asked) else None)


def is_write(asked):
    return asked.method in ("POST", "DELETE")


class Proxied(WithCluster):
    """A server that reaches the cluster through the proxy. Tests run at once: each has nodes."""
    of_cluster = ""
    gpus = 8

    def setUp(self):
        super().setUp()
        self.cluster = muster_test.CLUSTER
        self.add_nodes(self.nodes())
        self.proxy = HttpFaults(self.cluster)
        self.addCleanup(self.proxy.close)
        self.ledger = Ledger(self, self.cluster)
        self.start_server(self.proxy.write_kubeconfig(), self.of_cluster,
                          "scheduling: {start_retry_pause: 1s}\n")

    def nodes(self):
        return max(2, GANGS * self.gpus // 32)  # room for all that never end

    def add_nodes(self, count=2):
        self.cluster.add_nodes(count, prefix=self.namespace, gpus=self.gpus,
                               labels={"room": self.namespace})
        for index in range(count):
            self.addCleanup(self.cluster.request, "DELETE",
                            f"/api/v1/nodes/{self.namespace}-{index}")

    def gang(self, command, pods=2, **more):
        return super().gang(command, pods, **{"node_selector": {"room": self.namespace},
                                              "stop_grace": "1s", **more})

    def work(self):
        """Gangs of every kind of end, and a cancel."""
        for command in ("sleep", "true", "false"):
            self.ledger.submit(command)
        self.ledger.submit_some(GANGS - 3)
        self.ledger.cancel_oldest()

    def attempts_of(self, job):
        """{attempt: how many of its objects were created}"""
        made = {}
        for (_, of, attempt, _), count in creations(self.cluster, self.namespace).items():
            if of == job:
                made[attempt] = made.get(attempt, 0) + count
        return made

    def wait_reason(self, job, words, state="Waiting"):
        def said():
            row = self.server.job(job)
            return row["state"] == state and words in row.get("reason", "")
        self.wait(f"job {job} is {state} and says '{words}'", said, 30)


class FailingAnswers(Proxied):
    """The API server is there and does not do what it should."""

    def work_under(self, fault, at_least):
        self.proxy.fault = fault
        self.work()
        self.ledger.check_ends()
        self.proxy.fault = lambda asked: None
        self.ledger.check_counts()
        self.assertGreaterEqual(sum(self.proxy.counts.values()), at_least, self.proxy.counts)

    def test_slow_answers_delay_gangs_and_no_more(self):
        self.work_under(every(Late(0.3), lambda asked: not asked.is_watch), 3 * GANGS)

    def test_429_with_retry_after_is_waited_for(self):
        busy = Answer(429, "TooManyRequests", {"Retry-After": "1"})
        self.work_under(some(0.3, busy, is_write), 2)

    def test_500_now_and_then_loses_nothing_and_makes_nothing_twice(self):
        self.work_under(some(0.2, Answer(500, "InternalError"),
                             lambda asked: not asked.is_watch), 2)

    def test_a_conflict_is_asked_again(self):
        self.work_under(some(0.3, Answer(409, "Conflict"),
                             lambda asked: asked.is_create("jobs")), 2)

    def test_a_create_that_keeps_failing_is_told_and_done_when_it_can_be(self):
        self.proxy.fault = every(Answer(500, "InternalError"),
                                 lambda asked: asked.is_create("jobs"))
        job = self.gang("sleep")
        for command in ("show", "explain", "events"):
            self.wait(f"{command} says it",
                      lambda command=command: "NotMade" in self.muster(command, job))
        self.assertIn("the fault proxy says InternalError", self.muster("events", job))
        self.proxy.fault = lambda asked: None
        self.wait_state(job, "Running")

    def meet_stray(self, refused):
        """Beside a Job of its own, whose metadata is given; deletes of such a path are refused."""
        self.wait_state(self.gang("sleep"), "Running")
        self.server.kill()
        meta = self.jobs()[0]["metadata"]
        self.add_stray(meta)
        self.proxy.fault = every(Answer(409, "Conflict"), lambda asked: (
            asked.method == "DELETE" and refused in asked.path))
        self.server.start()
        return meta

    def test_deletes_that_are_not_taken_hold_up_what_is_new_and_are_told(self):
        self.meet_stray("/jobs")
        job = self.gang("sleep")

        def told():
            return "nothing new is made" in self.muster("cluster", "show", "real")
        self.wait("it is told", told, 90)
        self.assertEqual(self.server.job(job)["state"], "Starting")
        self.proxy.fault = lambda asked: None
        self.wait_state(job, "Running")
        self.wait("it is over", lambda: not told())
        self.assertNotIn("stray", [job["metadata"]["name"] for job in self.jobs()])

    def test_where_roots_cannot_be_deleted_what_has_none_goes_and_holds_up_nothing(self):
        meta = self.meet_stray("/configmaps")
        self.wait("its Job goes all the same",
                  lambda: [job["metadata"]["uid"] for job in self.jobs()] == [meta["uid"]])
        self.wait_state(self.gang("sleep"), "Running")
        self.assertGreaterEqual(sum(self.proxy.counts.values()), 1, self.proxy.counts)
        self.proxy.fault = lambda asked: None

    def test_files_of_a_gang_go_also_when_their_delete_failed_once_all_else_was_gone(self):
        job = self.gang("sleep", files=[{"path": "data.txt", "content": "data"}])
        self.wait_state(job, "Running")
        self.assertEqual(len(self.secrets()), 1)
        self.proxy.fault = every(Answer(500, "InternalError"), lambda asked: (
            asked.method == "DELETE" and "/secrets" in asked.path))
        self.muster("cancel", job)
        self.wait("all else is gone", lambda: not self.pods() and not self.jobs())
        met = self.proxy.counts["Answer"]
        self.wait("another delete of its files is refused",
                  lambda: self.proxy.counts["Answer"] > met)
        self.assertEqual(self.server.job(job)["state"], "Stopping")
        self.proxy.fault = lambda asked: None
        self.assertEqual(self.server.wait_final(job)["state"], "Cancelled")
        self.assertEqual(self.secrets(), [])

    def secrets(self):
        return [one["metadata"]["name"] for one in self.objects("/api/v1/{ns}/secrets")
                if "muster.dev/job" in one["metadata"].get("labels", {})]

    def test_lost_replies_make_nothing_twice(self):
        self.work_under(some(0.2, LostReply(), is_write), 2)

    def test_watches_that_are_cut_and_expire_miss_nothing(self):
        endings = itertools.cycle([None, Answer(410, "Expired"), None, GoneEvent()])
        self.proxy.fault = lambda asked: next(endings) if asked.is_watch else None
        is_over = threading.Event()

        def cut():
            while not is_over.wait(0.5):
                self.proxy.cut_watches()
        cutter = threading.Thread(target=cut)
        cutter.start()
        try:
            self.work()
            self.ledger.check_ends()
        finally:
            is_over.set()
            cutter.join()
        self.ledger.check_counts()
        for kind in ("cut", "Answer", "GoneEvent"):
            self.assertGreaterEqual(self.proxy.counts[kind], 2, self.proxy.counts)


class OthersInterfere(Proxied):
    """Somebody else changes what Muster planned or made."""
    of_cluster = f", ready_within: {READY_WITHIN_S}s"
    gpus = 1  # a gang of two has both nodes, or none

    def foreign_pod(self, node):
        path = f"/api/v1/namespaces/{self.namespace}/pods"
        gpu = {"nvidia.com/gpu": "1"}
        self.cluster.create(path, {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "foreign"},
            "spec": {"nodeName": node, "containers": [
                {"name": "main", "image": "none", "command": ["sleep"],
                 "resources": {"requests": gpu, "limits": gpu}}]}})
        return f"{path}/foreign"

    def delete(self, path, propagation="Background"):
        status, answer = self.cluster.request(
            "DELETE", path, {"apiVersion": "v1", "kind": "DeleteOptions",
                             "propagationPolicy": propagation})
        self.assertIn(status, (200, 202), answer)

    def assert_ran_again(self, job, first=3):
        """The whole gang, once: a first attempt that was made, and a second that ran."""
        self.wait_state(job, "Running")
        self.assertEqual(self.server.job(job)["attempt"], 2)
        self.assertEqual(self.attempts_of(job), {"1": first, "2": 3})
        alive = [pod["metadata"]["labels"]["muster.dev/attempt"] for pod in self.pods()
                 if not pod["metadata"].get("deletionTimestamp")]
        self.assertEqual(alive, ["2", "2"], "nothing is left of the first attempt")

    def test_a_gang_whose_room_is_taken_between_plan_and_create_is_taken_back_and_runs_later(self):
        is_taken = threading.Event()
        self.proxy.fault = every(Late(until=is_taken), lambda asked: asked.is_create("jobs"))
        job = self.gang("sleep")
        self.wait("the create is on its way", lambda: self.proxy.counts["Late"] > 0)
        foreign = self.foreign_pod(f"{self.namespace}-1")
        is_taken.set()
        self.wait("one pod of two has a node", lambda: sorted(
            bool(pod["spec"].get("nodeName")) for pod in self.pods()
            if pod["metadata"]["name"] != "foreign") == [False, True])
        self.wait_reason(job, "not all pods were ready within")
        self.assertIn("Unschedulable", self.server.job(job)["reason"])
        half_a_gang_s = self.lifetime_s("1")
        self.assertLess(half_a_gang_s, READY_WITHIN_S + 3)
        self.assertGreater(half_a_gang_s, READY_WITHIN_S - 1)
        self.delete(foreign)
        self.assert_ran_again(job)

    def lifetime_s(self, attempt):
        """From the create of an attempt's Job to the delete of its pods, by the server's clock."""
        made, deleted = [], []
        for event in events(self.cluster, self.namespace):
            where = event["objectRef"]["resource"]
            if event["verb"] == "create" and where == "jobs" and is_success(event):
                labels = event["responseObject"]["metadata"]["labels"]
                made += [time_of(event)] if labels["muster.dev/attempt"] == attempt else []
            if event["verb"] == "deletecollection" and where == "pods" and is_success(event):
                deleted += [time_of(event) for _, number in attempts_deleted(event)
                            if number == attempt]
        return (min(deleted) - made[0]).total_seconds()

    def test_a_job_that_somebody_deletes_is_an_event_and_runs_again(self):
        job = self.gang("sleep")
        self.wait_state(job, "Running")
        name = self.jobs()[0]["metadata"]["name"]
        self.delete(f"/apis/batch/v1/namespaces/{self.namespace}/jobs/{name}")
        self.wait("it says so",
                  lambda: "deleted by somebody else" in self.server.job(job)["reason"])
        self.assert_ran_again(job)

    def test_a_pod_that_somebody_deletes_takes_its_gang_with_it_which_runs_again(self):
        job = self.gang("sleep")
        self.wait_state(job, "Running")
        name = self.pods()[0]["metadata"]["name"]
        self.delete(f"/api/v1/namespaces/{self.namespace}/pods/{name}")
        self.wait("it says so", lambda: f"pod {name} was deleted by somebody else"
                  in self.server.job(job)["reason"])
        self.wait_state(job, "Running")
        self.assertEqual(self.server.job(job)["attempt"], 2)
        self.assertEqual(self.attempts_of(job)["2"], 3)

    def test_a_namespace_that_somebody_deletes_is_waited_for_and_said(self):
        job = self.gang("sleep")
        self.wait_state(job, "Running")
        path = f"/api/v1/namespaces/{self.namespace}"
        self.delete(path)
        self.wait("the namespace is gone", lambda: self.cluster.get(path)[0] == 404)
        self.wait_reason(job, f"there is no namespace '{self.namespace}'")
        self.cluster.create("/api/v1/namespaces", {
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})
        self.wait_state(job, "Running")
        self.assertEqual(len(self.pods()), 2)


class LostNode(Proxied):
    """What Kubernetes itself takes most of a minute to notice."""
    gpus = 1

    def test_the_gang_of_a_node_that_vanishes_is_taken_back_whole_and_runs_elsewhere(self):
        job = self.gang("sleep")
        self.wait_state(job, "Running")
        lost = f"{self.namespace}-1"
        self.assertIn(lost, self.server.job(job)["nodes"])
        self.cluster.request("DELETE", f"/api/v1/nodes/{lost}")
        self.cluster.add_nodes(1, prefix=self.namespace + "-new", gpus=1,
                               labels={"room": self.namespace})
        self.addCleanup(self.cluster.request, "DELETE", f"/api/v1/nodes/{self.namespace}-new-0")
        self.wait("a second attempt", lambda: self.server.job(job)["attempt"] == 2, 120)
        self.wait_state(job, "Running")
        nodes = sorted(pod["spec"]["nodeName"] for pod in self.pods())
        self.assertEqual(nodes, [f"{self.namespace}-0", f"{self.namespace}-new-0"])
        self.assertEqual(self.attempts_of(job)["2"], 3)


@alone
class OthersClass(Proxied):
    """Somebody made a priority class of Muster's name, with which pods push others away."""
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"

    def setUp(self):
        cluster = muster_test.CLUSTER
        self.delete_class = lambda: cluster.request("DELETE", f"{self.path}/muster")
        self.delete_class()
        cluster.create(self.path, {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                                   "metadata": {"name": "muster"}, "value": 0})
        self.addCleanup(self.delete_class)
        super().setUp()

    def test_nothing_is_made_with_it_until_it_is_deleted(self):
        job = self.gang("sleep")
        self.wait_reason(job, "would push others away")
        self.wait("its cluster says it", lambda: "would push others away" in self.muster(
            "cluster", "show", "real"))
        self.assertEqual(self.jobs(), [])
        self.delete_class()
        self.wait_state(job, "Running")
        _, found = self.cluster.get(f"{self.path}/muster")
        self.assertEqual(found["preemptionPolicy"], "Never")


@alone
class TheServerItself(Proxied):
    """The API server stops, dies or forgets; these run alone."""

    def nodes(self):
        return super().nodes() + 1  # nobody leaves while it does not answer

    def begin_work(self):
        self.work()
        self.wait("the first Jobs are there", lambda: self.jobs())

    def end_work(self, api_was_killed=False):
        self.ledger.check_ends()
        self.ledger.check_counts(api_was_killed)

    def test_an_api_server_that_is_stopped_and_goes_on_loses_nothing(self):
        self.begin_work()
        self.cluster.daemons["apiserver"].signal(signal.SIGSTOP)
        try:
            late = self.ledger.submit("true")
            self.wait("it is handed over", lambda: self.ledger.state_of(late) == "Starting")
        finally:
            self.cluster.daemons["apiserver"].signal(signal.SIGCONT)
        self.end_work()

    def test_an_api_server_that_hangs_is_noticed_by_its_silence_alone(self):
        def row():
            found = self.server.api("GET", "/clusters")[1]["clusters"]
            return next(one for one in found if one["name"] == "real")
        self.wait("it is ready", lambda: row()["health"] == "ready")
        start = time.monotonic()
        self.cluster.daemons["apiserver"].signal(signal.SIGSTOP)
        try:
            self.wait("it is unreachable", lambda: row()["health"] == "unreachable", 30)
            self.assertLess(time.monotonic() - start, 25)
            self.assertIn("nothing was heard for", row()["reason"])
        finally:
            self.cluster.daemons["apiserver"].signal(signal.SIGCONT)
        self.wait("it is ready again", lambda: row()["health"] == "ready")
        self.work()
        self.end_work()

    def test_an_api_server_that_is_killed_and_restarted_loses_nothing(self):
        self.begin_work()
        # Stopped first: a server that is gone is noticed at once, and is given nothing more.
        self.cluster.daemons["apiserver"].signal(signal.SIGSTOP)
        late = self.ledger.submit("true")
        self.wait("it is handed over", lambda: self.ledger.state_of(late) == "Starting")
        self.cluster.daemons["apiserver"].kill()
        self.ledger.submit("true")
        self.cluster.daemons["apiserver"].start()
        self.cluster.wait_ready()
        self.end_work(api_was_killed=True)

    def test_revisions_that_etcd_compacted_away_are_listed_again(self):
        self.begin_work()
        self.wait("one that will succeed is there", lambda: any(
            self.ledger.expected.get(job["metadata"]["annotations"]["muster.dev/job-id"])
            == "Succeeded" for job in self.jobs()))
        self.proxy.fault = every(Answer(503, "ServiceUnavailable"), lambda asked: True)
        self.proxy.cut_watches()
        self.wait("gangs end unseen", lambda: any(
            condition["type"] == "Complete" for job in self.jobs()
            for condition in job["status"].get("conditions", [])))
        self.cluster.compact()
        self.cluster.restart_api()  # its cache of old events is gone as well
        self.proxy.fault = lambda asked: None
        self.end_work()
        self.assertGreaterEqual(self.proxy.counts["410 of the server"], 1, self.proxy.counts)


def start(options):
    global GANGS  # pylint: disable=global-statement
    muster_test.BINARY = options.binary
    GANGS = options.gangs
    muster_test.CLUSTER = start_cluster(options.kubernetes)
    return [muster_test.CLUSTER]


if __name__ == "__main__":
    sys.exit(run_on(start, __doc__, workers=AT_ONCE, first=[LostNode, OthersInterfere],
                    numbers=[("gangs", GANGS, "of each test")]))
