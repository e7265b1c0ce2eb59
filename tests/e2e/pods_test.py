#!/usr/bin/env python3
"""The pods of gangs on a real Kubernetes: what is written into them, what others do to them, and
what a namespace allows.

Usage: pods_test.py MUSTER [--kubernetes VERSION] [--only PART_OF_A_NAME]

Pods are played by kwok (stages.yaml).
"""
import json
import re
import sys
import time

import muster_test
from muster_test import start_cluster
from on_clusters import run_on

CLUSTER = None


class WithPods(muster_test.WithCluster):
    """A server that may do everything there."""
    of_cluster = ""
    more = ""

    def setUp(self):
        super().setUp()
        self.start_server(CLUSTER.file("admin.kubeconfig"), self.of_cluster, self.more)

    def create(self, path, kind, name, version="v1", **more):
        return CLUSTER.create(path.format(ns=f"namespaces/{self.namespace}"), {
            "apiVersion": version, "kind": kind, "metadata": {"name": name}, **more})

    def submit(self, **job):
        status, made, _ = self.server.api("POST", "/jobs", {"clusters": ["real"], **job})
        self.assertEqual(status, 201, made)
        return made["ids"][0]


SOON = "scheduling: {start_retry_pause: 1s}\n"  # what does not start is tried again


class Others(WithPods):
    """What others do to a gang's pods is told, and the gang starts again, whole."""
    more = SOON

    def wait_second_attempt(self, job, words):
        self.wait("it says who took the pod",
                  lambda: re.search(words, str(self.server.job(job)), re.IGNORECASE), 30)
        self.wait_again(job)

    def wait_again(self, job):
        self.wait("it starts again", lambda: self.server.job(job)["attempt"] == 2, 90)
        self.wait_state(job, "Running")
        attempts = {pod["metadata"]["labels"]["muster.dev/attempt"] for pod in self.pods()
                    if "muster.dev/job" in pod["metadata"].get("labels", {})}
        self.assertEqual(attempts, {"2"}, "nothing of the first is left")

    def test_one_whose_pod_is_evicted_is_requeued(self):
        job = self.gang("sleep")
        self.wait_state(job, "Running")
        pod = self.pods()[0]["metadata"]["name"]
        self.create("/api/v1/{ns}/pods/" + pod + "/eviction", "Eviction", pod, "policy/v1")
        self.wait_second_attempt(job, f"{pod} .*evict")

    def test_one_whose_pod_is_preempted_is_requeued(self):
        name = f"high-of-{self.namespace}"
        self.create("/apis/scheduling.k8s.io/v1/priorityclasses", "PriorityClass", name,
                    "scheduling.k8s.io/v1", value=1000, preemptionPolicy="PreemptLowerPriority")
        self.addCleanup(CLUSTER.request, "DELETE",
                        "/apis/scheduling.k8s.io/v1/priorityclasses/" + name)
        job = self.server.submit(["sleep"], pods=2, cpu=20, clusters=["real"])
        self.wait_state(job, "Running")
        pod = self.pods()[0]
        self.create("/api/v1/{ns}/pods", "Pod", "pusher", spec={
            "priorityClassName": name, "terminationGracePeriodSeconds": 0,
            "nodeSelector": {"kubernetes.io/hostname": pod["spec"]["nodeName"]},
            "containers": [{"name": "main", "image": "example.com/tool:1", "command": ["sleep"],
                            "resources": {"requests": {"cpu": "20"}}}]})
        self.wait_second_attempt(job, f"{pod['metadata']['name']} .*preempt")


class Fields(WithPods):
    """What job, pool and cluster say of pods is in them."""
    of_cluster = (", pod: {env: {FROM: cluster, LEVEL: cluster}, pull_secrets: [of-cluster],"
                  " volumes: [{name: scratch, emptyDir: {}}],"
                  " mounts: [{name: scratch, mountPath: /scratch}]}")
    more = """pools:
- {name: special, cluster: real, pod: {service_account: pooled, labels: {team: red},
   annotations: {note: kept}, env: {LEVEL: pool}}}
"""

    def pods_of(self, job):
        self.wait_state(job, "Running")
        return [pod for pod in self.pods()
                if pod["metadata"]["annotations"]["muster.dev/job-id"] == job]

    def test_a_job_brings_its_account_secrets_volumes_and_mounts(self):
        self.create("/api/v1/{ns}/serviceaccounts", "ServiceAccount", "trainer")
        self.create("/api/v1/{ns}/configmaps", "ConfigMap", "settings", data={"a": "1"})
        job = self.gang("sleep", service_account="trainer", pull_secrets=["registry"],
                        volumes=[{"name": "conf", "configMap": {"name": "settings"}}],
                        mounts=[{"name": "conf", "mountPath": "/conf", "readOnly": True}])
        pods = self.pods_of(job)
        self.assertEqual(len(pods), 2)
        for pod in pods:
            spec = pod["spec"]
            self.assertEqual(spec["serviceAccountName"], "trainer")
            self.assertEqual([one["name"] for one in spec["imagePullSecrets"]],
                             ["of-cluster", "registry"])
            volumes = {one["name"]: one for one in spec["volumes"]}
            self.assertEqual(volumes["conf"]["configMap"]["name"], "settings")
            self.assertIn("emptyDir", volumes["scratch"])
            mounts = {one["name"]: one for one in spec["containers"][0]["volumeMounts"]}
            self.assertEqual((mounts["conf"]["mountPath"], mounts["conf"]["readOnly"]),
                             ("/conf", True))
            self.assertEqual(mounts["scratch"]["mountPath"], "/scratch")

    def test_a_pools_defaults_win_over_the_clusters(self):
        self.create("/api/v1/{ns}/serviceaccounts", "ServiceAccount", "pooled")
        pod = self.pods_of(self.gang("sleep", pods=1, pool="special"))[0]
        self.assertEqual(pod["spec"]["serviceAccountName"], "pooled")
        self.assertEqual(pod["metadata"]["labels"]["team"], "red")
        self.assertEqual(pod["metadata"]["annotations"]["note"], "kept")
        environment = {one["name"]: one.get("value") for one in pod["spec"]["containers"][0]["env"]}
        self.assertEqual(environment["LEVEL"], "pool")

    def test_a_list_may_be_a_pod_and_a_stateful_set(self):
        container = {"name": "main", "image": "example.com/tool:1",
                     "resources": {"requests": {"cpu": "1"}}}
        done = self.submit(objects=[{
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "alone"},
            "spec": {"restartPolicy": "Never",
                     "containers": [{**container, "command": ["true"]}]}}])
        self.assertEqual(self.server.wait_final(done)["state"], "Succeeded", self.server.log())
        labels = {"app": "store"}
        job = self.submit(objects=[{
            "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "store"},
            "spec": {"replicas": 3, "serviceName": "store", "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels}, "spec": {
                         "containers": [{**container, "command": ["sleep"]}]}}}}])
        self.assertEqual(self.server.job(job)["pods"], 3)
        self.assertEqual({pod["metadata"]["name"] for pod in self.pods_of(job)},
                         {"store-0", "store-1", "store-2"})
        self.muster("cancel", job)
        self.assertEqual(self.server.wait_final(job)["state"], "Cancelled")
        self.assertEqual(self.objects("/apis/apps/v1/{ns}/statefulsets"), [])


class Preferred(WithPods):
    """Pods that would rather be on their planned nodes."""
    of_cluster = ", node_binding: prefer"

    def test_their_nodes_are_a_wish(self):
        job = self.gang("sleep")
        self.wait_state(job, "Running")
        for pod in self.pods():
            affinity = pod["spec"]["affinity"]["nodeAffinity"]
            self.assertEqual(list(affinity), ["preferredDuringSchedulingIgnoredDuringExecution"])


class Unbound(WithPods):
    """Pods that the cluster places as it likes."""
    of_cluster = ", node_binding: none"

    def test_nothing_is_said_of_nodes(self):
        job = self.gang("sleep")
        self.wait_state(job, "Running")
        self.assertEqual([pod["spec"].get("affinity") for pod in self.pods()], [None, None])

    def nodes_in_books(self, job):
        return sorted(pod["node"] for pod in self.server.job(job)["placement"]["pods"])

    def test_the_books_have_them_where_they_are_bound_also_after_a_restart(self):
        """Muster packs the pods, the cluster's scheduler spreads them."""
        job = self.gang("sleep", pods=4)
        self.wait_state(job, "Running")
        bound = sorted(pod["spec"]["nodeName"] for pod in self.pods())
        placed = [pod["node"] for event in self.events(job, "placed") for pod in event["pods"]]
        self.assertNotEqual(bound, sorted(placed), "it was not spread")
        self.wait("the books follow", lambda: self.nodes_in_books(job) == bound)
        self.assertEqual(len(self.events(job, "bound")), 1, "one for the gang")
        self.server.kill()
        self.server.start()
        self.wait_state(job, "Running")
        self.assertEqual(self.nodes_in_books(job), bound)
        second = self.gang("true", pods=1)
        self.assertEqual(self.server.wait_final(second)["state"], "Succeeded")
        self.assertEqual(len(self.events(job, "bound")), 1, "nothing new is told")

    def events(self, job, kind):
        status, text, _ = self.server.api("GET", f"/events?job={job}&from=1&follow=false")
        self.assertEqual(status, 200, text)
        told = [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: ")]
        return [event for event in told if event["kind"] == kind]


class Names(WithPods):
    """Kubernetes does not promise that the label of the host is the name of its node."""

    def test_a_gang_runs_on_nodes_whose_hosts_are_called_otherwise(self):
        names = {f"{self.namespace}-{index}" for index in range(2)}
        amounts = {"cpu": "32", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "1"}
        for name in names:
            CLUSTER.add_node(name, amounts, {"kubernetes.io/hostname": f"host-of-{name}",
                                             "room": self.namespace},
                             [{"key": "own", "value": self.namespace, "effect": "NoSchedule"}])
            self.addCleanup(CLUSTER.request, "DELETE", f"/api/v1/nodes/{name}")
        job = self.gang("true", node_selector={"room": self.namespace},
                        tolerations=[{"key": "own", "value": self.namespace}])
        self.assertEqual(self.server.wait_final(job)["state"], "Succeeded", self.server.log())
        self.assertEqual({pod["spec"]["nodeName"] for pod in self.pods()}, names)


class Types(WithPods):
    """What people call the GPUs of a node."""
    more = "gpu_aliases: {Tesla: other, Tesla-V100: V100}\n"

    def test_a_job_finds_its_gpus_by_their_short_name(self):
        name = f"{self.namespace}-v100"
        amounts = {"cpu": "32", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "2"}
        CLUSTER.add_node(name, amounts, {"nvidia.com/gpu.product": "Tesla-V100-SXM2-16GB"},
                         [{"key": "own", "value": self.namespace, "effect": "NoSchedule"}])
        self.addCleanup(CLUSTER.request, "DELETE", f"/api/v1/nodes/{name}")
        job = self.gang("true", gpu_type="V100",
                        tolerations=[{"key": "own", "value": self.namespace}])
        self.assertEqual(self.server.wait_final(job)["state"], "Succeeded", self.server.log())
        self.assertEqual({pod["spec"]["nodeName"] for pod in self.pods()}, {name})
        self.assertEqual(self.server.api("GET", f"/nodes/real/{name}")[1]["gpu_type"], "V100")


class RuntimeClasses(WithPods):
    """What the API server adds to the pods of a class is planned with before they are there."""

    def job_of(self, name, runtime_class, cpu):
        return self.submit(objects=[{
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"template": {"spec": {
                "restartPolicy": "Never", "runtimeClassName": runtime_class, "containers": [{
                    "name": "main", "image": "example.com/x:1", "command": ["sleep"],
                    "resources": {"requests": {"cpu": cpu}}}]}}}}])

    def test_a_gang_is_made_only_where_the_overhead_has_room_too(self):
        name = f"kata-{self.namespace}"
        node = CLUSTER.get("/api/v1/nodes/node-7")[1]
        cores = int(node["status"]["allocatable"]["cpu"])
        path = "/apis/node.k8s.io/v1/runtimeclasses"
        self.create(path, "RuntimeClass", name, "node.k8s.io/v1", handler="kata",
                    overhead={"podFixed": {"cpu": "2", "memory": "64Mi"}},
                    scheduling={"nodeSelector": {"kubernetes.io/hostname": "node-7"}})
        self.addCleanup(CLUSTER.request, "DELETE", f"{path}/{name}")
        time.sleep(1)  # it is watched, and has no status that tells
        fits = self.job_of("fits", name, "1")
        self.wait_state(fits, "Running")
        self.assertEqual([pod["spec"]["overhead"]["cpu"] for pod in self.pods()], ["2"])
        self.assertEqual([pod["node"] for pod in self.server.job(fits)["placement"]["pods"]],
                         ["node-7"], "where the class wants it")
        self.assertEqual(self.server.api("GET", "/queues/default")[1]["use"]["cpu"], "3")
        wide = self.job_of("wide", name, str(cores - 1))
        self.wait("it is known why it waits",
                  lambda: "can never start: 0 of 1 pod fit" in self.muster("explain", wide))
        self.assertEqual(self.server.job(wide)["attempt"], 0, "it was never made")
        self.assertEqual([job["metadata"]["name"] for job in self.jobs()], ["fits"])


class Extra(WithPods):
    """What pods take beyond their plan is counted on their nodes."""

    def setUp(self):
        super().setUp()
        self.node = f"{self.namespace}-own"
        CLUSTER.add_node(self.node, {"cpu": "32", "memory": "256Gi", "pods": "110"},
                         taints=[{"key": "own", "value": self.namespace, "effect": "NoSchedule"}])
        self.addCleanup(CLUSTER.request, "DELETE", f"/api/v1/nodes/{self.node}")
        self.here = {"nodeSelector": {"kubernetes.io/hostname": self.node},
                     "tolerations": [{"key": "own", "value": self.namespace}]}

    def used(self):
        status, node, _ = self.server.api("GET", f"/nodes/real/{self.node}")
        return node["used"].get("cpu", "0") if status == 200 else "not known yet"

    def test_defaults_of_a_limit_range_count_where_the_pods_are(self):
        self.create("/api/v1/{ns}/limitranges", "LimitRange", "usual", spec={"limits": [
            {"type": "Container", "defaultRequest": {"cpu": "3"}}]})
        time.sleep(1)  # it is watched, and has no status that tells
        job = self.submit(objects=[{
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "silent"},
            "spec": {"template": {"spec": {**self.here, "restartPolicy": "Never", "containers": [
                {"name": "main", "image": "example.com/x:1", "command": ["sleep"]}]}}}}])
        self.wait_state(job, "Running")
        self.wait("it is counted", lambda: self.used() == "3")
        self.muster("cancel", job)
        self.assertEqual(self.server.wait_final(job)["state"], "Cancelled")
        self.wait("it is free again", lambda: self.used() == "0")

    def test_pods_that_are_added_later_count_and_are_counted_after_a_restart(self):
        labels = {"app": "store"}
        job = self.submit(objects=[{
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "grows"},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels}, "spec": {**self.here, "containers": [{
                    "name": "main", "image": "example.com/tool:1", "command": ["sleep"],
                    "resources": {"requests": {"cpu": "5"}}}]}}}}])
        self.wait_state(job, "Running")
        self.assertEqual(self.used(), "5")
        status, answer = CLUSTER.request(
            "PATCH", f"/apis/apps/v1/namespaces/{self.namespace}/deployments/grows",
            {"spec": {"replicas": 3}}, "application/merge-patch+json")
        self.assertEqual(status, 200, answer)
        self.wait("they count", lambda: self.used() == "15")
        self.server.kill()
        self.server.start()
        self.wait_state(job, "Running")
        self.wait("they count again", lambda: self.used() == "15")


class Quotas(WithPods):
    """What a namespace allows is kept by gangs that come at once, too."""
    more = SOON

    def test_of_a_burst_no_gang_is_made_that_does_not_fit_whole(self):
        self.create("/api/v1/{ns}/resourcequotas", "ResourceQuota", "five",
                    spec={"hard": {"pods": "5"}})
        self.wait("the quota counts", lambda: "status" in self.objects(
            "/api/v1/{ns}/resourcequotas")[0])
        status, made, _ = self.server.api("POST", "/jobs", {"jobs": [
            {"command": ["sleep"], "pods": 2, "gpus": 1, "clusters": ["real"]}
            for _ in range(10)]})
        self.assertEqual(status, 201, made)

        def states():
            rows = [self.server.job(job) for job in made["ids"]]
            return rows if sum(row["state"] == "Running" for row in rows) == 2 else None
        rows = self.wait("two run", states)
        self.assertEqual(len(self.pods()), 4)
        self.assertEqual(len(self.jobs()), 2, "no other was begun")
        failed = [event for event in self.objects("/api/v1/{ns}/events")
                  if event["reason"] == "FailedCreate"]
        self.assertEqual(failed, [])
        running = next(row["id"] for row in rows if row["state"] == "Running")
        self.muster("cancel", running)
        self.wait("another takes its place", lambda: [
            job for job in made["ids"] if job != running and
            self.server.job(job)["state"] == "Running"][1:], 90)

    def test_what_a_limit_range_forbids_is_not_begun(self):
        def submit(name, limit):
            return self.server.api("POST", "/jobs", {"clusters": ["real"], "objects": [{
                "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
                "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{
                    "name": "main", "image": "example.com/x:1", "command": ["sleep"],
                    "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": limit}}}]}}}}]}
                                   )[1]["ids"][0]
        self.create("/api/v1/{ns}/limitranges", "LimitRange", "fair", spec={"limits": [
            {"type": "Container", "max": {"cpu": "1"}, "maxLimitRequestRatio": {"cpu": "2"}}]})
        time.sleep(1)  # it is watched, and has no status that tells
        for name, limit, words in (("much", "2", "above the 1 that LimitRange fair allows"),
                                   ("loose", "300m", "above the ratio of 2 that LimitRange fair")):
            row = self.server.wait_final(submit(name, limit))
            self.assertEqual(row["state"], "Failed", row)
            self.assertIn(words, row["reason"])
        self.assertEqual(self.jobs(), [], "none was begun")
        self.wait_state(submit("fits", "200m"), "Running")


def start(options):
    global CLUSTER  # pylint: disable=global-statement
    muster_test.BINARY = options.binary
    CLUSTER = muster_test.CLUSTER = start_cluster(options.kubernetes)
    return [CLUSTER]


if __name__ == "__main__":
    sys.exit(run_on(start, __doc__, workers=3, first=[Others, Quotas]))
