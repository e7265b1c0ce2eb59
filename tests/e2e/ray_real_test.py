#!/usr/bin/env python3
"""Ray that runs: a RayCluster and a RayJob in AppWrappers, by KubeRay's operator, on a real node.

Usage: ray_real_test.py MUSTER [--kubernetes VERSION] [--only PART_OF_A_NAME]

Nobody is played here: containers have Python and Ray from PyPI (ray_image.py), the node is a
kubelet with containerd (real_node.py). `NOT TESTED` on its own line means that it cannot run here,
and why.
"""
import sys

from appwrapper_test import wrapper
from binaries import kuberay_crds
from kuberay import Kubectl, install_appwrappers, ray_cluster, start_operator
from on_clusters import run_on
from ray_image import RAY, RAY_IMAGE, find_image
from real_node import RealNodeCluster, snapshotter_for_large_images
from with_server import WithServer

BINARY = ""
CLUSTER = None
TOGETHER = """
import ray, socket
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
ray.init(address="auto", log_to_driver=False)
where = ray.remote(lambda: socket.gethostname())
on_each = [NodeAffinitySchedulingStrategy(node["NodeID"], soft=False) for node in ray.nodes()]
print(*sorted(ray.get([where.options(scheduling_strategy=one).remote() for one in on_each])))
"""
COUNT = ("import ray; ray.init(); times = ray.remote(lambda n: 7 * n); "
         "print('seven times', 6, 'is', ray.get(times.remote(6)))")


# On a busy machine the parts of Ray's dashboard do not start within the 30 s that it gives them.
PATIENCE = {"name": "RAY_DASHBOARD_SUBPROCESS_MODULE_WAIT_READY_TIMEOUT", "value": "200"}


def pods_of(name):
    """A template: small, and gone soon after it is told to."""
    return {"spec": {"terminationGracePeriodSeconds": 2, "containers": [{
        "name": name, "image": RAY_IMAGE, "env": [PATIENCE], "resources": {
            "requests": {"cpu": "400m", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "2Gi"}},
    }]}}


def cluster_spec():
    """A head and a worker, whose memory for objects is bounded."""
    params = {"num-cpus": "1", "object-store-memory": "100000000"}
    return {"rayVersion": RAY,
            "headGroupSpec": {"rayStartParams": params, "template": pods_of("ray-head")},
            "workerGroupSpecs": [{
                "groupName": "small", "replicas": 1, "minReplicas": 1, "maxReplicas": 1,
                "rayStartParams": params, "template": pods_of("ray-worker")}]}


class OnTheNode(WithServer):
    """Each test has a namespace and a server of its own, which takes its AppWrappers."""
    binary = property(lambda _: BINARY)
    wait_s = 240  # Ray takes its time, on two cores all the more

    def setUp(self):
        self.make_namespace(CLUSTER)
        CLUSTER.wait("the namespace's account", lambda: CLUSTER.get(
            f"/api/v1/namespaces/{self.namespace}/serviceaccounts/default")[0] == 200)
        self.kubectl = Kubectl(CLUSTER, self.namespace)
        self.begin(f"""clusters:
- {{name: real, type: kubernetes, kubeconfig: {CLUSTER.file("admin.kubeconfig")}, context: real,
   namespace: {self.namespace}}}
appwrappers: {{cluster: real, namespace: {self.namespace}}}
""")

    def wait(self, what, condition, wait_s=None):
        try:
            return super().wait(what, condition, wait_s)
        except AssertionError as late:
            seen = self.kubectl("get", "appwrappers,rayclusters,rayjobs,pods", "-o", "wide")
            told = self.kubectl("get", "events")
            raise AssertionError(f"{late}\n{seen}\n{told}") from late

    def status(self, kind, name):
        return self.kubectl.get(kind, name).get("status", {})

    def wait_wrapper(self, name, state):
        """Muster's job for it."""
        self.wait(f"{name} is {state}",
                  lambda: self.status("appwrapper", name).get("state") == state)
        return self.status("appwrapper", name)["muster"]["job"]

    def remove(self, name):
        self.kubectl("delete", "appwrapper", name, "--timeout=60s")
        self.wait("nothing of it is left",
                  lambda: not self.kubectl.names("rayclusters,rayjobs,jobs,pods"))

    def test_the_tasks_of_a_wrapped_cluster_run_on_its_head_and_its_worker(self):
        self.kubectl.create(wrapper("ray", ray_cluster("ray", **cluster_spec())))
        self.wait_wrapper("ray", "Running")
        self.wait("its RayCluster is ready",
                  lambda: self.status("raycluster", "ray").get("state") == "ready")
        pods = sorted(one.partition("/")[2] for one in self.kubectl.names("pods"))
        self.assertEqual(len(pods), 2, pods)
        head = next(pod for pod in pods if "-head-" in pod)
        said = self.kubectl("exec", head, "--", "python", "-c", TOGETHER)
        self.assertEqual(said.split(), pods)
        self.remove("ray")

    def test_a_wrapped_ray_job_completes_and_its_output_is_there(self):
        self.kubectl.create(wrapper("count", {
            "apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "count"},
            "spec": {"entrypoint": f'python -c "{COUNT}"', "shutdownAfterJobFinishes": True,
                     "rayClusterSpec": cluster_spec(),
                     "submitterPodTemplate": {"spec": {
                         **pods_of("submitter")["spec"], "restartPolicy": "Never"}}}}))
        job = self.wait_wrapper("count", "Completed")
        self.assertEqual(self.status("rayjob", "count")["jobStatus"], "SUCCEEDED")
        for output in (self.kubectl("logs", "job/count"), self.muster("logs", job)):
            self.assertIn("seven times 6 is 42\n", output)
        self.remove("count")


def start_cluster(version):
    """Missing says what cannot be had here."""
    kuberay_crds()
    cluster = RealNodeCluster("real", version, programs=("kubectl", "kuberay-operator"),
                              archives=[find_image(build=False)],
                              snapshotter=snapshotter_for_large_images())
    try:
        cluster.start()
        start_operator(cluster)
        install_appwrappers(BINARY, cluster)
    except BaseException:
        cluster.stop()
        raise
    return cluster


def start(options):
    global BINARY, CLUSTER  # pylint: disable=global-statement
    BINARY = options.binary
    CLUSTER = start_cluster(options.kubernetes)
    return [CLUSTER]


if __name__ == "__main__":
    sys.exit(run_on(start, __doc__))
