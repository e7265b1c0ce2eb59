#!/usr/bin/env python3
"""Gangs of other projects' kinds, by their real definitions: JobSet, Kubeflow's training kinds,
LeaderWorkerSet.

Usage: kinds_test.py MUSTER [--kubernetes VERSION] [--only PART_OF_A_NAME]

The definitions are read from the projects' Go modules. Their operators do not run: the tests make
the pods that they would, as the templates in the cluster say, and write what they would write into
the status. Pods are played by kwok.
"""
import sys

import muster_test
from binaries import CONTROL_PLANE, module_folder
from control_plane import ControlPlane
from kuberay import Kubectl
from on_clusters import run_on

CLUSTER = None
DEFINITIONS = {  # module, version -> where its definitions are
    ("sigs.k8s.io/jobset", "0.8.0"): "config/components/crd/bases",
    ("github.com/kubeflow/training-operator", "1.9.0"): "manifests/base/crds",
    ("sigs.k8s.io/lws", "0.6.1"): "config/crd/bases",
}
# kind -> the key of its replica specs, the roles in it
TRAINING = {"PyTorchJob": ("pytorchReplicaSpecs", "Master", "Worker"),
            "TFJob": ("tfReplicaSpecs", "Chief", "Worker"),
            "MPIJob": ("mpiReplicaSpecs", "Launcher", "Worker"),
            "XGBoostJob": ("xgbReplicaSpecs", "Master", "Worker"),
            "PaddleJob": ("paddleReplicaSpecs", "Master", "Worker"),
            "JAXJob": ("jaxReplicaSpecs", "Worker")}


def pod_template():
    return {"spec": {"restartPolicy": "Never", "containers": [{
        "name": "main", "image": "example.com/tool:1", "command": ["sleep"],
        "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}


def training(kind, name):
    """Two workers, and one of whoever leads them."""
    key, *roles = TRAINING[kind]
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": name},
            "spec": {key: {role: {"replicas": 2 if role == "Worker" else 1,
                                  "restartPolicy": "Never", "template": pod_template()}
                           for role in roles}}}


def job_set(name):
    """Two Jobs of two pods, and one of one."""
    def job(pods):
        return {"spec": {"parallelism": pods, "completions": pods, "backoffLimit": 0,
                         "template": pod_template()}}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": name},
            "spec": {"replicatedJobs": [{"name": "workers", "replicas": 2, "template": job(2)},
                                        {"name": "driver", "replicas": 1, "template": job(1)}]}}


def leader_worker_set(name):
    """Two groups of a leader and two workers."""
    return {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
            "metadata": {"name": name},
            "spec": {"replicas": 2, "leaderWorkerTemplate": {
                "size": 3, "leaderTemplate": pod_template(), "workerTemplate": pod_template()}}}


def templates_in(thing):
    """Every pod template in an object, in order."""
    if isinstance(thing, list):
        return [found for one in thing for found in templates_in(one)]
    if not isinstance(thing, dict):
        return []
    if "containers" in thing.get("spec", {}):
        return [thing]
    return [found for key in sorted(thing) for found in templates_in(thing[key])]


class Kinds(muster_test.WithCluster):
    """Each is made whole, runs with its pods and ends as it says itself."""

    def setUp(self):
        super().setUp()
        self.start_server(CLUSTER.file("admin.kubeconfig"))

    def submit(self, thing):
        status, made, _ = self.server.api("POST", "/jobs", {"objects": [thing],
                                                            "clusters": ["real"]})
        self.assertEqual(status, 201, made)
        self.path = "/apis/{}/namespaces/{}/{}s/{}".format(
            thing["apiVersion"], self.namespace, thing["kind"].lower(), thing["metadata"]["name"])
        self.wait(f"{thing['kind']} is made", lambda: CLUSTER.get(self.path)[0] == 200)
        return made["ids"][0]

    def play_operator(self, counts):
        """So many pods of each template, as they are in the cluster."""
        made = CLUSTER.get(self.path)[1]
        templates = templates_in(made["spec"])
        self.assertEqual(len(templates), len(counts), templates)
        owner = {"apiVersion": made["apiVersion"], "kind": made["kind"],
                 "name": made["metadata"]["name"], "uid": made["metadata"]["uid"],
                 "controller": True, "blockOwnerDeletion": True}
        for number, (template, count) in enumerate(zip(templates, counts)):
            self.assertEqual(template["spec"]["priorityClassName"], "muster")
            self.assertIn("nodeAffinity", template["spec"]["affinity"])
            for index in range(count):
                meta = {**template["metadata"], "name": f"{owner['name']}-{number}-{index}",
                        "ownerReferences": [owner]}
                CLUSTER.create(f"/api/v1/namespaces/{self.namespace}/pods", {
                    "apiVersion": "v1", "kind": "Pod", "metadata": meta,
                    "spec": template["spec"]})

    def say(self, condition, path=None):
        """In the status, as its operator would."""
        said = {"type": condition, "status": "True", "reason": "Played", "message": "by the test",
                "lastTransitionTime": "2026-01-01T00:00:00Z"}
        status, answer = CLUSTER.request("PATCH", (path or self.path) + "/status", {
            "status": {"conditions": [said]}}, "application/merge-patch+json")
        self.assertEqual(status, 200, answer)

    def run_gang(self, thing, counts):
        job = self.submit(thing)
        self.assertEqual(self.server.job(job)["pods"], sum(counts))
        self.play_operator(counts)
        self.wait_state(job, "Running")
        return job

    def test_a_jobset_runs_and_completes(self):
        job = self.run_gang(job_set("whole"), [4, 1])
        self.say("Completed")
        self.assertEqual(self.server.wait_final(job)["state"], "Succeeded")

    def test_a_jobset_that_fails_says_why(self):
        job = self.run_gang(job_set("broken"), [4, 1])
        self.say("Failed")
        row = self.server.wait_final(job)
        self.assertEqual(row["state"], "Failed")
        self.assertIn("JobSet broken: Played: by the test", row["reason"])

    def test_every_training_kind_runs_and_succeeds(self):
        jobs = {}
        for kind, (_, *roles) in TRAINING.items():
            with self.subTest(kind):
                counts = [2 if role == "Worker" else 1 for role in sorted(roles)]
                job = self.run_gang(training(kind, kind.lower()), counts)
                jobs[job] = (kind, self.path)
        for _, path in jobs.values():
            self.say("Succeeded", path)
        for job, (kind, _) in jobs.items():
            with self.subTest(kind):
                self.assertEqual(self.server.wait_final(job)["state"], "Succeeded")

    def test_a_leader_worker_set_runs_until_it_is_cancelled(self):
        job = self.run_gang(leader_worker_set("serving"), [2, 4])
        self.muster("cancel", job)
        self.assertEqual(self.server.wait_final(job)["state"], "Cancelled")
        self.assertEqual(CLUSTER.get(self.path)[0], 404)
        self.assertEqual(self.pods(), [])


def install_definitions(cluster):
    kubectl = Kubectl(cluster)
    for (module, version), where in DEFINITIONS.items():
        for file in sorted((module_folder(module, version) / where).glob("*_*.yaml")):
            kubectl("apply", "--server-side", "-f", file)
    kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")


def start(options):
    global CLUSTER  # pylint: disable=global-statement
    muster_test.BINARY = options.binary
    for module, version in DEFINITIONS:
        module_folder(module, version)
    CLUSTER = ControlPlane("real", options.kubernetes, programs=(*CONTROL_PLANE, "kubectl")).start()
    muster_test.CLUSTER = CLUSTER
    CLUSTER.add_nodes(4, gpus=8)
    install_definitions(CLUSTER)
    return [CLUSTER]


if __name__ == "__main__":
    sys.exit(run_on(start, __doc__))
