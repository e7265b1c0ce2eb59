#!/usr/bin/env python3
"""The real KubeRay operator with Muster in front: its guide step by step, and what comes after.

Usage: kuberay_test.py MUSTER [--kubernetes VERSION] [--only PART_OF_A_NAME]

Pods are played by kwok: they run and are ready at once, and no Ray is in them. The guide's two
AppWrappers are read from MCAD's Go module, as its users do from its repository.
"""
import json
import os
import re
import sys

import muster_test
from binaries import module_folder
from kuberay import (Kubectl, cluster_spec, container, install_appwrappers, ray_cluster,
                     start_cluster)
from muster_server import Server
from on_clusters import run_on

CLUSTER = None
GUIDE = None  # folder of the guide's files
APPWRAPPERS = "/apis/workload.codeflare.dev/v1beta1/{ns}/appwrappers"
RAY = "/apis/ray.io/v1/{ns}"
MCAD = ("github.com/project-codeflare/multi-cluster-app-dispatcher", "1.40.0")


class WithRay(muster_test.WithCluster):
    """A namespace, a server and nodes that only this class has."""
    nodes = {"big-1": {"cpu": "8", "memory": "32Gi", "pods": "110"}}

    @classmethod
    def setUpClass(cls):
        for name, amounts in cls.nodes.items():
            CLUSTER.add_node(name, amounts)
            cls.addClassCleanup(CLUSTER.request, "DELETE", f"/api/v1/nodes/{name}")
        CLUSTER.wait_nodes_ready()

    def setUp(self):
        super().setUp()
        self.kubectl = Kubectl(CLUSTER, self.namespace)
        self.server = self.make_server()
        self.addCleanup(self.server.close)
        self.server.start()

    def make_server(self):
        return Server(muster_test.BINARY, f"""clusters:
- {{name: real, type: kubernetes, kubeconfig: {CLUSTER.file("admin.kubeconfig")}, context: real,
   namespace: {self.namespace}}}
appwrappers: {{cluster: real, namespace: {self.namespace}}}
""")

    def wait_ready(self, name, workers):
        """Until the operator says that the RayCluster has all its pods, and kubectl shows it."""
        def is_ready():
            status = next((one.get("status", {}) for one in self.objects(f"{RAY}/rayclusters")
                           if one["metadata"]["name"] == name), {})
            counts = [status.get(f"{word}WorkerReplicas") for word in ("desired", "available")]
            return status.get("state") == "ready" and counts == [workers, workers]
        self.wait(f"RayCluster {name} is ready with {workers} workers", is_ready)
        self.assertRegex(self.kubectl("get", "raycluster", name),
                         rf"\n{name} +{workers} +{workers} .* ready ")

    def pod_names(self):
        return sorted(pod["metadata"]["name"] for pod in self.pods()
                      if not pod["metadata"].get("deletionTimestamp"))

    def wait_pods(self, *patterns):
        """Until these are the pods, and no others."""
        def are_there():
            names = self.pod_names()
            return len(names) == len(patterns) and all(map(re.fullmatch, patterns, names))
        self.wait(f"pods {patterns}", are_there)

    def wait_nothing_left(self):
        self.wait("nothing is left", lambda: not any(self.objects(path) for path in (
            f"{RAY}/rayclusters", f"{RAY}/rayjobs", "/api/v1/{ns}/pods",
            "/apis/batch/v1/{ns}/jobs")))


class Walkthrough(WithRay):
    """Step by step, with the guide's node, what else it had to carry, and the guide's files."""
    nodes = {"kind-control-plane": {"cpu": "8", "memory": "8118372Ki", "pods": "110"}}

    def make_namespace(self, *_):
        self.namespace = "default"

    def make_server(self):
        """In the place of MCAD's controller."""
        return Server(muster_test.BINARY, arguments=["--profile", "mcad"],
                      environment={"KUBECONFIG": CLUSTER.file("admin.kubeconfig")})

    def setUp(self):
        super().setUp()
        # What kind itself, MCAD and the operator ask for on the guide's node.
        Kubectl(CLUSTER, "kube-system").create({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "others"},
            "spec": {"containers": [{"name": "others", "image": "example.com/others:1",
                                     "resources": {"requests": {
                                         "cpu": "3050m", "memory": "2918400Ki"}}}]}})
        self.addCleanup(CLUSTER.request, "DELETE", "/api/v1/namespaces/kube-system/pods/others")
        CLUSTER.wait("the guide's other pods run", lambda: CLUSTER.get(
            "/api/v1/namespaces/kube-system/pods/others")[1]["status"]["phase"] == "Running")

    def described(self, name):
        """What `kubectl describe` prints below `Status:`."""
        text = self.kubectl("describe", "appwrapper", name, "-n", "default")
        return text[text.index("\nStatus:"):]

    def wait_state(self, name, **wanted):
        """Until the AppWrapper's status has these, and `kubectl describe` shows them."""
        def status():
            return next((one.get("status", {}) for one in self.objects(APPWRAPPERS)
                         if one["metadata"]["name"] == name), {})
        self.wait(f"{name}: {wanted}", lambda: wanted.items() <= status().items())
        for key, value in wanted.items():
            self.assertRegex(self.described(name), rf"\n  {key.capitalize()}: +{value}\n")

    def conditions(self, name):
        """Type, reason and message of each, without those that Muster adds to the guide's."""
        found = [one for one in self.kubectl.get("appwrapper", name)["status"]["conditions"]
                 if one["type"] != "Waiting"]
        self.assertEqual({one["status"] for one in found}, {"True"}, found)
        for one in found:
            for key in ("lastTransitionMicroTime", "lastUpdateMicroTime"):
                self.assertRegex(one[key], r"^20\d\d-.*T.*\.\d{6}Z$", one)
        return [(one["type"], one.get("reason", ""), one.get("message", "")) for one in found]

    def test_the_second_cluster_is_queued_without_pods_until_the_first_is_deleted(self):
        out = self.kubectl("create", "-f", GUIDE / "aw-raycluster.yaml")
        self.assertIn("raycluster-complete created", out)
        self.wait_state("raycluster-complete", state="Running", queuejobstate="Dispatched")
        self.wait_ready("raycluster-complete", 1)
        self.wait_pods(r"raycluster-complete-head-\w+", r"raycluster-complete-.*worker-\w+")
        begin = [("Init", "", ""), ("Queueing", "AwaitingHeadOfLine", ""),
                 ("HeadOfLine", "FrontOfQueue.", "")]
        self.assertEqual(self.conditions("raycluster-complete"),
                         [*begin, ("Dispatched", "AppWrapperRunnable", "")])
        for line in ("Canrun: +true", "Filterignore: +true", "Controllerfirsttimestamp: +20",
                     "Sender: +before manageQueueJob - afterEtcdDispatching"):
            self.assertRegex(self.described("raycluster-complete"), rf"\n  {line}")
        self.assertRegex(self.kubectl("describe", "node", "kind-control-plane"),
                         r"cpu +6050m \(75%\) [^\n]*\n *memory +6988441600 \(84%\)")

        self.kubectl("create", "-f", GUIDE / "aw-raycluster-1.yaml")
        self.wait_state("raycluster-complete-1", state="Pending", queuejobstate="Backoff")
        self.assertEqual(self.conditions("raycluster-complete-1"), [
            *begin, ("Backoff", "AppWrapperNotRunnable.",
                     "Insufficient resources to dispatch AppWrapper.")])
        self.assertEqual(len(self.pod_names()), 2, "none is made for the second")
        self.assertEqual(self.kubectl.names("rayclusters"),
                         ["raycluster.ray.io/raycluster-complete"])

        self.kubectl("delete", "appwrapper", "raycluster-complete", "-n", "default")
        self.wait_state("raycluster-complete-1", state="Running", queuejobstate="Dispatched")
        self.wait_ready("raycluster-complete-1", 1)
        self.wait_pods(r"raycluster-complete-1-head-\w+", r"raycluster-complete-1-.*worker-\w+")
        self.assertEqual(self.conditions("raycluster-complete-1")[-1],
                         ("Dispatched", "AppWrapperRunnable", ""))
        self.kubectl("delete", "appwrapper", "raycluster-complete-1", "-n", "default")
        self.wait_nothing_left()


class Wrapped(WithRay):
    """RayClusters in AppWrappers of the second API."""

    def wrap(self, name, template):
        self.kubectl.create({
            "apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper",
            "metadata": {"name": name}, "spec": {"components": [{"template": template}]}})

    def test_a_wrapped_cluster_runs_and_one_that_is_too_big_is_suspended(self):
        self.wrap("ray", ray_cluster("ray", **cluster_spec(workers=2)))
        self.wait_ready("ray", 2)
        self.kubectl("wait", "--for=condition=PodsReady", "--timeout=60s", "appwrapper/ray")
        self.assertEqual(self.kubectl.get("appwrapper", "ray")["status"]["phase"], "Running")
        # Its pods are counted once, whatever labels they have: five cores are left of eight.
        self.wrap("beside", ray_cluster("beside", **cluster_spec(workers=4)))
        self.wait_ready("beside", 4)
        self.kubectl("delete", "appwrapper", "beside", "--cascade=foreground", "--timeout=60s")
        self.wrap("more", ray_cluster("more", **cluster_spec(workers=5)))
        self.kubectl("wait", "--for=jsonpath={.status.phase}=Suspended", "--timeout=60s",
                     "appwrapper/more")
        self.assertEqual(self.kubectl.names("rayclusters"), ["raycluster.ray.io/ray"])
        self.assertEqual(len(self.pod_names()), 3)
        self.kubectl("delete", "appwrapper", "ray", "--timeout=60s")
        self.wait_ready("more", 5)
        self.kubectl("delete", "appwrapper", "more", "--cascade=foreground", "--timeout=60s")
        self.assertEqual(self.kubectl.names("rayclusters,pods"), [])


class Plain(WithRay):
    """Ray's own kinds, given to `muster submit -f` as they are."""

    def submit(self, *objects):
        path = os.path.join(self.server.folder, "submitted.yaml")
        with open(path, "w", encoding="utf-8") as out:
            out.write("\n---\n".join(json.dumps(one) for one in objects))
        return self.muster("submit", "-f", path).strip()

    def test_a_cluster_runs_whole_and_cancel_removes_it(self):
        job = self.submit(ray_cluster("plain", **cluster_spec(workers=3)))
        self.wait_state(job, "Running")
        self.wait_ready("plain", 3)
        waiting = self.submit(ray_cluster("later", **cluster_spec(workers=4)))
        self.wait("it says what would do",
                  lambda: "4 pods instead of 5" in self.muster("explain", waiting))
        self.assertEqual(self.kubectl.names("rayclusters"), ["raycluster.ray.io/plain"])
        self.muster("cancel", job)
        self.wait_state(waiting, "Running")
        self.wait_ready("later", 4)
        self.muster("cancel", waiting)
        self.wait_nothing_left()

    def test_the_cluster_of_a_ray_job_is_its_gang(self):
        job = self.submit({
            "apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "count"},
            "spec": {"entrypoint": "python count.py", "rayClusterSpec": cluster_spec(workers=2)}})
        self.wait_state(job, "Running")
        made = self.kubectl.names("rayclusters")
        self.assertEqual(len(made), 1, made)
        self.wait_ready(made[0].partition("/")[2], 2)
        self.muster("cancel", job)
        self.wait_nothing_left()

    def scale(self, name, workers):
        """As Ray's autoscaler does it: it changes the RayCluster, the operator its pods. It names
        the workers that are to go."""
        there = [pod for pod in self.pod_names() if "-worker-" in pod]
        group = "/spec/workerGroupSpecs/0"
        self.kubectl("patch", "raycluster", name, "--type=json", "-p", json.dumps([
            {"op": "replace", "path": f"{group}/replicas", "value": workers},
            {"op": "add", "path": f"{group}/scaleStrategy",
             "value": {"workersToDelete": there[workers:]}}]))
        self.wait_ready(name, workers)

    def test_a_cluster_that_scales_itself_keeps_its_minimum_and_runs_on(self):
        spec = cluster_spec(workers=2, minReplicas=1, maxReplicas=4)
        job = self.submit(ray_cluster("elastic", enableInTreeAutoscaling=True, **spec))
        self.wait_state(job, "Running")
        self.wait_ready("elastic", 2)
        for workers in (4, 1):
            self.scale("elastic", workers)
            uid = self.kubectl.get("raycluster", "elastic")["metadata"]["uid"]
            self.server.kill()  # who starts again reads the state from the cluster alone
            self.server.start()
            self.wait_state(job, "Running")
            self.assertEqual(self.server.job(job)["attempt"], 1)
            self.assertEqual(self.kubectl.get("raycluster", "elastic")["metadata"]["uid"], uid)
        # With fewer cores free: the minimum fits, what it asks for at first would not. Half a core
        # is for the autoscaler that KubeRay adds to the head.
        self.muster("cancel", job)
        self.wait_nothing_left()
        self.kubectl.create({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "others"},
            "spec": {"containers": [container("others", "4500m", "1G")]}})
        self.wait("they run", lambda: self.pods()[0]["status"]["phase"] == "Running")
        tight = self.submit(ray_cluster("tight", enableInTreeAutoscaling=True, **cluster_spec(
            workers=3, minReplicas=1, maxReplicas=4)))
        self.wait_state(tight, "Running")
        self.wait_ready("tight", 2)

    def test_the_autoscaler_beside_the_head_is_counted(self):
        def scaling(name, cpu, version="v1"):
            made = ray_cluster(name, enableInTreeAutoscaling=True, autoscalerOptions={
                "resources": {"requests": {"cpu": cpu, "memory": "1G"}}}, **cluster_spec(workers=1))
            made["apiVersion"] = f"ray.io/{version}"
            return made
        first = self.submit(scaling("first", "3"))
        self.wait_state(first, "Running")
        self.wait_ready("first", 1)
        head = next(pod for pod in self.pods() if "-head-" in pod["metadata"]["name"])
        self.assertEqual([one["name"] for one in head["spec"]["containers"]],
                         ["ray-head", "autoscaler"])
        # Five of eight cores are used: beside the other one is room for this head, not for both.
        second = self.submit(scaling("second", "1500m", "v1alpha1"))
        self.wait("it waits", lambda: "second is waiting" in self.muster("explain", second))
        self.assertEqual(self.kubectl.names("rayclusters"), ["raycluster.ray.io/first"])
        self.muster("cancel", second)  # nodes are reserved for it, which nobody may delay
        third = self.submit(scaling("third", "1", "v1alpha1"))
        self.wait_state(third, "Running")
        self.wait_ready("third", 1)


def start(options):
    global CLUSTER, GUIDE  # pylint: disable=global-statement
    muster_test.BINARY = options.binary
    GUIDE = module_folder(*MCAD) / "doc/usage/examples/kuberay/config"
    CLUSTER = muster_test.CLUSTER = start_cluster(options.kubernetes)
    install_appwrappers(muster_test.BINARY, CLUSTER)
    return [CLUSTER]


if __name__ == "__main__":
    sys.exit(run_on(start, __doc__))
