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
import time

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


def now_text():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


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

    def wrap(self, name, template, **annotations):
        self.kubectl.create({
            "apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper",
            "metadata": {"name": name, "annotations": {
                f"workload.codeflare.dev.appwrapper/{key}": value
                for key, value in annotations.items()}},
            "spec": {"components": [{"template": template}]}})

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

    def test_a_wrapped_cluster_that_scales_itself_down_is_not_reset(self):
        spec = cluster_spec(workers=2, minReplicas=1, maxReplicas=4)
        self.wrap("elastic", ray_cluster("elastic", enableInTreeAutoscaling=True, **spec),
                  admissionGracePeriodDuration="2s", warmupGracePeriodDuration="2s")
        self.wait_ready("elastic", 2)
        self.kubectl("wait", "--for=condition=PodsReady", "--timeout=60s", "appwrapper/elastic")
        uid = self.kubectl.get("raycluster", "elastic")["metadata"]["uid"]
        self.scale("elastic", 1)
        for _ in range(2):
            time.sleep(4)  # longer than fewer pods than it needs would be borne
            status = self.kubectl.get("appwrapper", "elastic")["status"]
            ready = {one["type"]: one["status"] for one in status["conditions"]}["PodsReady"]
            self.assertEqual((status["phase"], ready), ("Running", "True"), status)
            self.assertNotIn("resettingCount", status)
            self.assertEqual(self.kubectl.get("raycluster", "elastic")["metadata"]["uid"], uid)
            self.server.kill()  # who starts again reads the state from the cluster alone
            self.server.start()


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


class Labelled(WithRay):
    """RayClusters and RayJobs that are jobs by their label, without a wrapper."""

    def make(self, name, workers, kind="RayCluster", version="v1", priority=None, suspend=True):
        spec = cluster_spec(workers=workers)
        if kind == "RayJob":
            spec = {"entrypoint": "python count.py", "rayClusterSpec": spec}
        labels = {"muster.dev/queue": "default"}
        if priority is not None:
            labels["muster.dev/priority"] = str(priority)
        return json.loads(self.kubectl("create", "-o", "json", "-f", "-", given=json.dumps({
            "apiVersion": f"ray.io/{version}", "kind": kind,
            "metadata": {"name": name, "labels": labels},
            "spec": {**spec, "suspend": True} if suspend else spec})))

    def all_jobs(self):
        return self.server.api("GET", "/jobs?limit=1000")[1]["jobs"]

    def job_of(self, name):
        """The id of its job; None: it has none."""
        jobs = [one["id"] for one in self.all_jobs()
                if one["name"] == name and one["state"] != "Cancelled"]
        self.assertLess(len(jobs), 2, jobs)
        return jobs[0] if jobs else None

    def wait_job(self, name, *states):
        self.wait(f"{name} is a job", lambda: self.job_of(name))
        self.wait_state(self.job_of(name), *states)
        return self.job_of(name)

    def events_of(self, name):
        return {one["reason"]: one["message"] for one in self.objects("/api/v1/{ns}/events")
                if one["involvedObject"]["name"] == name
                and one["source"].get("component") == "muster"}

    def spec_of(self, name, kind="raycluster"):
        return self.kubectl.get(kind, name)["spec"]

    def wait_resting(self, name, spec):
        """Until it is suspended, without pods, and as its author wrote it."""
        self.wait(f"{name} rests", lambda: self.spec_of(name) == spec)
        self.assertTrue(spec["suspend"])
        self.wait(f"{name} has no pods", lambda: not any(
            pod["metadata"]["labels"].get("ray.io/cluster") == name for pod in self.pods()))

    def test_one_that_does_not_fit_is_suspended_without_pods_until_there_is_room(self):
        self.make("first", 4)
        self.wait_job("first", "Running")
        self.wait_ready("first", 4)
        self.make("second", 3, version="v1alpha1")
        job = self.wait_job("second", "Waiting")
        self.wait("it says why", lambda: "InsufficientResources" in self.events_of("second"))
        self.assertIn("second is waiting", self.muster("explain", job))
        rows = self.muster("aw", "list", "--kind", "RayCluster").split("\n")[1:]
        self.assertRegex(rows[0], r" first +RayCluster +Running +default ")
        self.assertRegex(rows[1], r" second +RayCluster +Waiting +default +0/0 +\w")
        self.assertRegex(self.muster("aw", "show", "second"), r"kind +RayCluster\n")
        self.assertIn("second is waiting", self.muster("aw", "explain", "second"))
        self.wait_resting("second", self.spec_of("second"))
        # Five cores are used, and counted once: two more fit beside it.
        self.make("beside", 1, priority=40)
        self.server.kill()
        self.server.start()
        self.assertEqual(self.server.job(job)["state"], "Waiting")
        self.kubectl("delete", "raycluster", "first", "--timeout=60s")
        self.wait_job("second", "Running")
        self.assertEqual(self.job_of("second"), job, "the same job, after kill -9")
        self.wait_ready("second", 3)
        for pod in self.pods():
            terms = pod["spec"]["affinity"]["nodeAffinity"]
            self.assertIn("big-1", json.dumps(terms), "it goes where it was planned")
        self.wait_job("beside", "Running")
        self.kubectl("delete", "raycluster", "second", "beside", "--timeout=60s")
        self.wait("its job is cancelled",
                  lambda: self.server.job(job)["state"] == "Cancelled")
        self.wait_nothing_left()

    def test_one_that_is_started_by_its_author_is_suspended_at_sight(self):
        self.make("all", 7)
        self.wait_job("all", "Running")
        self.make("eager", 2, suspend=False)
        self.wait("it is suspended", lambda: self.spec_of("eager").get("suspend"))
        job = self.wait_job("eager", "Waiting")
        self.wait_resting("eager", self.spec_of("eager"))
        self.kubectl("patch", "raycluster", "eager", "--type=merge", "-p",
                     '{"spec": {"suspend": false}}')
        self.wait("it is suspended again", lambda: self.spec_of("eager")["suspend"])
        self.assertEqual(self.server.job(job)["state"], "Waiting")
        self.kubectl("delete", "raycluster", "all", "--timeout=60s")
        self.wait_job("eager", "Running")
        self.wait_ready("eager", 2)

    def test_a_more_urgent_one_suspends_it_and_it_runs_again_afterwards(self):
        low = self.make("low", 5)
        job = self.wait_job("low", "Running")
        self.wait_ready("low", 5)
        self.make("urgent", 5, priority=80)
        self.wait_job("urgent", "Running")
        self.wait_ready("urgent", 5)
        self.wait_state(job, "Waiting")
        self.wait_resting("low", low["spec"])
        self.assertIn("higher priority", self.events_of("low")["Requeued"])
        self.server.kill()
        self.kubectl("label", "raycluster", "low", "--overwrite", "muster.dev/priority=30")
        self.kubectl("delete", "raycluster", "urgent", "--timeout=60s")
        self.server.start()
        self.wait("its priority is followed", lambda: self.server.job(job)["priority"] == 30)
        self.wait_state(job, "Running")
        self.wait("it is noted", lambda: "muster.dev/followed-priority" in self.kubectl.get(
            "raycluster", "low")["metadata"].get("annotations", {}))
        self.server.kill()
        self.kubectl("label", "raycluster", "low", "muster.dev/priority-")
        self.server.start()
        self.wait("it is followed back", lambda: self.server.job(job)["priority"] == 50)
        self.assertEqual(self.server.job(job)["attempt"], 2)
        self.wait_ready("low", 5)

    def test_its_job_is_held_by_suspending_it_and_cancel_leaves_it_suspended(self):
        made = self.make("ray", 2)
        job = self.wait_job("ray", "Running")
        self.wait_ready("ray", 2)
        self.server.kill()
        self.server.start()
        self.wait_state(job, "Running")
        self.assertEqual(self.server.job(job)["attempt"], 1, "it went on")
        self.kubectl("patch", "raycluster", "ray", "--type=merge", "-p",
                     '{"spec": {"suspend": true}}')
        self.wait_state(job, "Held")
        self.wait_resting("ray", made["spec"])
        self.kubectl("patch", "raycluster", "ray", "--type=merge", "-p",
                     '{"spec": {"suspend": false}}')
        self.wait_state(job, "Running")
        self.wait_ready("ray", 2)
        self.muster("cancel", job)
        self.wait_state(job, "Cancelled")
        self.wait_resting("ray", made["spec"])
        self.wait("it says so", lambda: self.kubectl.get("raycluster", "ray")["metadata"].get(
            "annotations", {}).get("muster.dev/ended"))
        self.wait("an event does", lambda: "Cancelled" in self.events_of("ray"))
        self.server.kill()
        self.server.start()
        self.make("next", 1)
        self.wait_job("next", "Running")
        self.assertEqual(self.server.job(job)["state"], "Cancelled", "it is not taken again")

    def test_one_that_is_changed_while_it_waits_is_another_job(self):
        self.make("all", 7)
        self.wait_job("all", "Running")
        self.make("small", 5)
        first = self.wait_job("small", "Waiting")
        self.kubectl("patch", "raycluster", "small", "--type=json", "-p", json.dumps([
            {"op": "replace", "path": f"/spec/workerGroupSpecs/0/{key}", "value": 2}
            for key in ("replicas", "minReplicas", "maxReplicas")]))
        self.wait("the first job is cancelled",
                  lambda: self.server.job(first)["state"] == "Cancelled")
        self.kubectl("delete", "raycluster", "all", "--timeout=60s")
        self.wait_ready("small", 2)

    def test_a_ray_job_and_its_cluster_are_one_job(self):
        self.make("all", 7)
        self.wait_job("all", "Running")
        self.make("count", 2, kind="RayJob")
        job = self.wait_job("count", "Waiting")
        self.assertEqual(self.kubectl.names("rayclusters"), ["raycluster.ray.io/all"])
        self.kubectl("delete", "raycluster", "all", "--timeout=60s")
        self.wait_state(job, "Running")
        made = self.kubectl.names("rayclusters")
        self.assertEqual(len(made), 1, made)
        self.wait_ready(made[0].partition("/")[2], 2)
        self.assertEqual(sorted(one["name"] for one in self.all_jobs()), ["all", "count"],
                         "the cluster of the RayJob is none")
        self.kubectl("delete", "rayjob", "count", "--timeout=120s")
        self.wait("its job is cancelled", lambda: self.server.job(job)["state"] == "Cancelled")
        self.wait_nothing_left()

    def test_a_ray_job_that_is_preempted_starts_over(self):
        self.make("count", 5, kind="RayJob", version="v1alpha1")
        job = self.wait_job("count", "Running")
        self.make("urgent", 6, priority=80)
        self.wait_job("urgent", "Running")
        self.wait_ready("urgent", 6)
        self.wait_state(job, "Waiting")
        self.assertEqual(self.kubectl.names("rayclusters"), ["raycluster.ray.io/urgent"])
        self.kubectl("delete", "raycluster", "urgent", "--timeout=60s")
        self.wait_state(job, "Running")
        self.assertEqual(self.server.job(job)["attempt"], 2)

    def test_a_ray_job_that_succeeds_ends_its_job_and_stays(self):
        self.make("count", 2, kind="RayJob")
        job = self.wait_job("count", "Running")
        # No Ray is in the pods that could say so.
        self.kubectl("patch", "rayjob", "count", "--subresource=status", "--type=merge", "-p",
                     json.dumps({"status": {"jobStatus": "SUCCEEDED", "endTime": now_text(),
                                            "jobDeploymentStatus": "Complete"}}))
        self.wait_state(job, "Succeeded")
        self.wait("its cluster is gone", lambda: not self.kubectl.names("rayclusters"))
        self.wait("it says so", lambda: self.kubectl.get("rayjob", "count")["metadata"][
            "annotations"].get("muster.dev/ended"))
        self.assertFalse(self.spec_of("count", "rayjob")["suspend"], "it is left as it was")
        self.server.kill()
        self.server.start()
        self.make("next", 6)  # nobody plays the end of the pod that submitted it
        self.wait_job("next", "Running")
        self.assertEqual(self.server.job(job)["state"], "Succeeded")

    def test_what_kuberay_cannot_suspend_is_refused(self):
        self.kubectl.create({
            "apiVersion": "ray.io/v1", "kind": "RayJob",
            "metadata": {"name": "odd", "labels": {"muster.dev/queue": "default"}},
            "spec": {"entrypoint": "true", "clusterSelector": {"ray.io/cluster": "none"}}})
        self.wait("it says why", lambda: "clusterSelector" in self.events_of("odd").get(
            "Refused", ""))
        self.assertIsNone(self.job_of("odd"))


def start(options):
    global CLUSTER, GUIDE  # pylint: disable=global-statement
    muster_test.BINARY = options.binary
    GUIDE = module_folder(*MCAD) / "doc/usage/examples/kuberay/config"
    CLUSTER = muster_test.CLUSTER = start_cluster(options.kubernetes)
    install_appwrappers(muster_test.BINARY, CLUSTER)
    return [CLUSTER]


if __name__ == "__main__":
    sys.exit(run_on(start, __doc__))
