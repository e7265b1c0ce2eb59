#!/usr/bin/env python3
"""The real `muster serve` with a real Kubernetes: gangs from submit to their end.

Usage: muster_test.py MUSTER [--kubernetes VERSION] [--only PART_OF_A_NAME]

Pods are played by kwok (stages.yaml): `true` succeeds, `false` fails, everything else runs on. What
was created, and how often, is counted in the API server's own audit log.
"""
import json
import sys
import time
from pathlib import Path

import rbac
from audit import creations, keep_audit_log
from control_plane import ControlPlane
from on_clusters import run_on
from processes import free_port
from with_server import WithServer

BINARY = ""
CLUSTER = None


def start_cluster(version):
    cluster = keep_audit_log(ControlPlane("real", version)).start()
    cluster.add_nodes(10, gpus=8)
    return cluster


class WithCluster(WithServer):
    """Each test has a namespace and a server of its own."""
    binary = property(lambda _: BINARY)

    def setUp(self):
        self.make_namespace(CLUSTER)

    def start_server(self, kubeconfig, of_cluster="", more=""):
        self.begin(f"""clusters:
- {{name: real, type: kubernetes, kubeconfig: {kubeconfig}, context: real,
   namespace: {self.namespace}, image: example.com/tool:1{of_cluster}}}
- {{name: sim, type: simulated, run_time: 100ms, nodes: [{{count: 1, gpu: {{T4: 8}}}}]}}
{more}""")

    def objects(self, path):
        status, found = CLUSTER.get(path.format(ns=f"namespaces/{self.namespace}"))
        self.assertEqual(status, 200, found)
        return found["items"]

    def pods(self):
        return self.objects("/api/v1/{ns}/pods")

    def jobs(self):
        return self.objects("/apis/batch/v1/{ns}/jobs")

    def wait_state(self, job, *states, wait_s=120):
        try:
            return super().wait_state(job, *states, wait_s=wait_s)
        except AssertionError as late:
            seen = [(thing["metadata"]["name"], thing["metadata"].get("deletionTimestamp"),
                     thing["spec"].get("nodeName"), thing["status"])
                    for thing in self.jobs() + self.pods()
                    if thing["metadata"].get("annotations", {}).get("muster.dev/job-id") == job]
            text = "\n".join(map(str, seen))
            raise AssertionError(f"{late}\n{text}") from late

    def gang(self, command, pods=2, **more):
        return self.server.submit([command], pods=pods, gpus=1,
                                  **{"clusters": ["real"], **more})

    def add_stray(self, meta):
        """A Job that the server which made the one with this metadata does not know."""
        labels = {"muster.dev/job": "stray", "muster.dev/attempt": "1",
                  "muster.dev/server": meta["labels"]["muster.dev/server"]}
        CLUSTER.create(f"/apis/batch/v1/namespaces/{self.namespace}/jobs", {
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "stray", "labels": labels,
                         "annotations": {**meta["annotations"], "muster.dev/job-id": "stray"}},
            "spec": {"completions": 1, "template": {
                "metadata": {"labels": labels},
                "spec": {"restartPolicy": "Never", "containers": [
                    {"name": "main", "image": "none", "command": ["sleep"]}]}}}})


class OnKubernetes(WithCluster):
    """A server that may do everything there."""

    def setUp(self):
        super().setUp()
        self.start_server(CLUSTER.file("admin.kubeconfig"))

    def test_a_gang_of_two_pods_runs_on_its_planned_nodes_and_succeeds(self):
        job = self.gang("true", name="pair")
        self.assertEqual(self.server.wait_final(job)["state"], "Succeeded", self.server.log())
        listed = self.muster("list", "--all")
        self.assertRegex(listed, r"pair\s.*succeeded\s", listed)
        counts = creations(CLUSTER, self.namespace)
        self.assertEqual(counts, {("jobs", job, "1", ""): 1, ("pods", job, "1", "0"): 1,
                                  ("pods", job, "1", "1"): 1})
        _, found = CLUSTER.get("/apis/scheduling.k8s.io/v1/priorityclasses/muster")
        self.assertEqual(found.get("preemptionPolicy"), "Never", found)
        for pod in self.pods():
            self.assertEqual(pod["spec"]["priorityClassName"], "muster")
            terms = pod["spec"]["affinity"]["nodeAffinity"][
                "requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
            wanted = [value for term in terms
                      for one in term.get("matchFields", []) + term.get("matchExpressions", [])
                      for value in one["values"]]
            self.assertIn(pod["spec"]["nodeName"], wanted)

    def test_a_gang_whose_command_fails_fails_with_its_exit_code(self):
        job = self.gang("false")
        row = self.server.wait_final(job)
        self.assertEqual(row["state"], "Failed", row)
        self.assertIn("exit code 1", json.dumps(row))

    def test_cancel_deletes_the_pods(self):
        job = self.gang("sleep")
        self.wait_state(job, "Running")
        self.assertEqual(len(self.pods()), 2)
        self.muster("cancel", job)
        self.wait("pods and Jobs are gone", lambda: not self.pods() and not self.jobs())
        services = self.objects("/api/v1/{ns}/services")
        self.assertEqual(["muster.dev/job" in one["metadata"]["labels"] for one in services],
                         [False], "only the one that gangs share")
        self.assertEqual(self.server.wait_final(job)["state"], "Cancelled")

    def test_a_job_that_a_finalizer_keeps_is_told(self):
        job = self.gang("sleep")
        self.wait_state(job, "Running")
        path = (f"/apis/batch/v1/namespaces/{self.namespace}/jobs/"
                f"{self.jobs()[0]['metadata']['name']}")

        def finalizers(value):
            status, answer = CLUSTER.request("PATCH", path, {"metadata": {"finalizers": value}},
                                             "application/merge-patch+json")
            self.assertEqual(status, 200, answer)
        finalizers(["example.com/stay"])
        self.muster("cancel", job)
        self.wait("it is told", lambda: "StuckTerminating" in self.muster("show", job), 90)
        self.assertEqual(self.server.job(job)["state"], "Stopping")
        self.assertEqual(self.pods(), [])
        finalizers(None)
        self.assertEqual(self.server.wait_final(job)["state"], "Cancelled")

    def test_attempts_that_nobody_wants_any_more_are_removed_after_a_restart(self):
        job = self.gang("sleep")
        self.wait_state(job, "Running")
        self.server.kill()
        meta = self.jobs()[0]["metadata"]
        self.add_stray(meta)
        self.server.start()
        self.wait("the stray is gone",
                  lambda: [job["metadata"]["uid"] for job in self.jobs()] == [meta["uid"]])
        self.assertEqual(self.server.job(job)["state"], "Running")
        self.assertEqual(self.server.job(job)["attempt"], 1)


class Namespaces(WithCluster):
    """Jobs in a namespace that the cluster's configuration allows beside its own."""

    def setUp(self):
        super().setUp()
        self.own = self.namespace
        self.make_namespace(CLUSTER)
        self.begin(f"""clusters:
- {{name: real, type: kubernetes, kubeconfig: {CLUSTER.file("admin.kubeconfig")}, context: real,
   namespace: {self.own}, namespaces: [{self.namespace}], image: example.com/tool:1}}
pools:
- {{name: there, cluster: real, namespace: {self.namespace}}}
""")

    def names(self, job):
        """Of the namespaces that have pods of the job."""
        return {pod["metadata"]["namespace"] for pod in CLUSTER.get("/api/v1/pods")[1]["items"]
                if pod["metadata"].get("annotations", {}).get("muster.dev/job-id") == job}

    def test_jobs_run_end_and_are_removed_in_each_of_them(self):
        jobs = [self.gang("sleep"), self.gang("sleep", namespace=self.namespace),
                self.gang("sleep", pool="there")]
        for job in jobs:
            self.wait_state(job, "Running")
        self.assertEqual([self.names(job) for job in jobs],
                         [{self.own}, {self.namespace}, {self.namespace}])
        done = self.gang("true", namespace=self.namespace)
        self.assertEqual(self.server.wait_final(done)["state"], "Succeeded", self.server.log())
        self.server.kill()
        self.server.start()
        for job in jobs:
            self.wait_state(job, "Running")
            self.assertEqual(self.server.job(job)["attempt"], 1)
            self.muster("cancel", job)
            self.assertEqual(self.server.wait_final(job)["state"], "Cancelled")
            self.assertEqual(self.names(job), set())

    def test_one_that_is_not_allowed_is_refused_with_those_that_are(self):
        job = self.gang("true", namespace="elsewhere")
        row = self.server.wait_final(job)
        self.assertEqual(row["state"], "Failed", row)
        self.assertIn(f"'{self.own}', '{self.namespace}', not in 'elsewhere'", row["reason"])

    def test_the_quota_of_the_jobs_own_namespace_counts(self):
        CLUSTER.create(f"/api/v1/namespaces/{self.namespace}/resourcequotas", {
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"},
            "spec": {"hard": {"pods": "1"}}})
        self.wait("the quota counts", lambda: "status" in self.objects(
            "/api/v1/{ns}/resourcequotas")[0])
        refused = self.gang("sleep", namespace=self.namespace)
        self.wait("it says so", lambda: "few" in str(self.server.job(refused)))
        self.wait_state(self.gang("sleep"), "Running")


class Reloads(WithCluster):
    """What changes about a cluster while jobs run in it. Its namespace is that of its context."""

    def setUp(self):
        super().setUp()
        self.kubeconfig = Path(CLUSTER.write_kubeconfig(f"{self.namespace}.kubeconfig",
                                                        cert="admin"))
        self.set_context(self.namespace)

    def set_context(self, namespace):
        """At once: half a file would be another reason to open the cluster again."""
        config = json.loads(self.kubeconfig.read_text())
        config["contexts"][0]["context"]["namespace"] = namespace
        new = self.kubeconfig.with_suffix(".new")
        new.write_text(json.dumps(config))
        new.replace(self.kubeconfig)

    def config(self, more=""):
        return f"""clusters:
- {{name: real, type: kubernetes, kubeconfig: {self.kubeconfig}, image: example.com/tool:1}}
{more}"""

    def assert_went_on(self, job):
        row = self.server.job(job)
        self.assertEqual((row["state"], row["attempt"]), ("Running", 1), row)
        made = {what: count for what, count in creations(CLUSTER, self.namespace).items()
                if what[1] == job}
        self.assertEqual(made, {("jobs", job, "1", ""): 1, ("pods", job, "1", "0"): 1,
                                ("pods", job, "1", "1"): 1})

    def test_another_namespace_of_the_context_makes_nothing_run_twice(self):
        self.begin(self.config())
        job = self.gang("sleep")
        self.wait_state(job, "Running")
        own = self.namespace
        self.make_namespace(CLUSTER)
        other, self.namespace = self.namespace, own
        self.set_context(other)
        self.wait("it is read again",
                  lambda: "reached otherwise than before" in self.server.log())
        later = self.gang("true")
        self.assertEqual(self.server.wait_final(later)["state"], "Succeeded", self.server.log())
        self.assert_went_on(job)
        self.assertIn(("jobs", later, "1", ""), creations(CLUSTER, own))
        self.assertEqual(creations(CLUSTER, other), {})

    def test_pods_of_a_pool_that_changes_or_is_new_follow_a_reload(self):
        pool = "- {name: NAME, cluster: real, pod: {labels: {team: TEAM}}TOLERATIONS}\n"
        first = pool.replace("NAME", "old").replace("TEAM", "one").replace("TOLERATIONS", "")
        self.begin(self.config("pools:\n" + first))
        before = self.gang("sleep", pool="old")
        self.wait_state(before, "Running")
        now = pool.replace("TEAM", "two").replace(
            "TOLERATIONS", ", tolerations: [{key: reserved, operator: Exists}]")
        self.server.write_config(self.config(
            "pools:\n" + now.replace("NAME", "old") + now.replace("NAME", "new") +
            "fleet_pools: [{name: fleet, pools: [new]}]\n"))
        self.assertNotIn("restart", self.muster("config", "reload"))
        for name in ("old", "new", "fleet"):
            job = self.gang("sleep", pool=name)
            self.wait_state(job, "Running")
            self.assertEqual(self.made_for(job), {("two", True)}, name)
        self.assertEqual(self.made_for(before), {("one", False)})
        self.assert_went_on(before)

    def made_for(self, job):
        """Of its pods: the team, and whether they tolerate nodes that are reserved."""
        return {(pod["metadata"]["labels"].get("team"),
                 any(one.get("key") == "reserved" for one in pod["spec"].get("tolerations", [])))
                for pod in self.pods()
                if pod["metadata"]["annotations"]["muster.dev/job-id"] == job}


class OtherServers(WithCluster):
    """Servers that may less, or cannot reach it."""

    def test_the_documented_permissions_are_enough(self):
        rbac.grant(BINARY, CLUSTER, self.namespace, "--user", "nobody")
        self.start_server(CLUSTER.write_kubeconfig(
            "nobody.kubeconfig", user={"token": "token-of-nobody"}))
        job = self.gang("true")
        self.assertEqual(self.server.wait_final(job)["state"], "Succeeded", self.server.log())
        job = self.gang("sleep")
        self.wait_state(job, "Running")
        self.muster("cancel", job)
        self.wait("its pods are gone", lambda: all(
            pod["metadata"]["annotations"]["muster.dev/job-id"] != job for pod in self.pods()))

    def test_a_cluster_whose_jobs_may_not_be_seen_takes_no_work(self):
        made = rbac.manifest(BINARY, self.namespace, "--user", "nobody")
        in_namespace = [one for one in made if "namespace" in one["metadata"]]
        for one in made:
            if one not in in_namespace:
                rbac.create(CLUSTER, one)
        self.start_server(CLUSTER.write_kubeconfig(
            "blind.kubeconfig", user={"token": "token-of-nobody"}))
        self.wait("it is said to be unreachable",
                  lambda: "unreachable" in self.muster("clusters").lower())
        for one in in_namespace:
            rbac.create(CLUSTER, one)
        job = self.gang("true")
        self.assertEqual(self.server.wait_final(job)["state"], "Succeeded", self.server.log())

    def test_a_cluster_that_cannot_be_reached_stops_neither_the_server_nor_the_others(self):
        self.start_server(CLUSTER.write_kubeconfig("dead.kubeconfig", cert="admin",
                                                   server=f"https://127.0.0.1:{free_port()}"))
        job = self.gang("true", clusters=["sim"])
        self.assertEqual(self.server.wait_final(job)["state"], "Succeeded")
        self.wait("it is said to be unreachable",
                  lambda: "unreachable" in self.muster("clusters").lower())
        start = time.monotonic()
        self.server.terminate()
        self.assertLess(time.monotonic() - start, 10)


def start(options):
    global BINARY, CLUSTER  # pylint: disable=global-statement
    BINARY = options.binary
    CLUSTER = start_cluster(options.kubernetes)
    return [CLUSTER]


if __name__ == "__main__":
    sys.exit(run_on(start, __doc__, workers=3))
