"""KubeRay's operator on a control plane of ours, and kubectl as its users call it.

The operator and its kinds come from the Go module proxy in a pinned version (binaries.py).
Standard library only.
"""
import json
import subprocess

from binaries import CONTROL_PLANE, KUBERAY, kuberay_crds
from control_plane import ControlPlane
from processes import free_port, wait_until

PROGRAMS = (*CONTROL_PLANE, "kubectl", "kuberay-operator")


class Kubectl:
    """kubectl as administrator of a cluster, in a namespace."""

    def __init__(self, cluster, namespace="default"):
        self.command = [str(cluster.binaries / "kubectl"), "--kubeconfig",
                        cluster.file("admin.kubeconfig"), "-n", namespace]

    def __call__(self, *words, given=None, code=0):
        done = subprocess.run([*self.command, *map(str, words)], input=given, capture_output=True,
                              text=True, timeout=120, check=False)
        if done.returncode != code:
            raise AssertionError((words, done.returncode, done.stdout, done.stderr))
        return done.stdout

    def create(self, *objects):
        return self("create", "-f", "-", given=json.dumps(
            {"apiVersion": "v1", "kind": "List", "items": list(objects)}))

    def get(self, kind, name):
        return json.loads(self("get", kind, name, "-o", "json"))

    def names(self, kind):
        return self("get", kind, "-o", "name").split()


def start_operator(cluster, *flags):
    """Installs KubeRay's kinds and returns when the operator looks after them. It runs where it
    reaches the pods: it asks the heads how jobs are."""
    kubectl = Kubectl(cluster)
    for path in kuberay_crds():  # too large for the annotation of a client-side apply
        kubectl("apply", "--server-side", "-f", path)
    kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd",
            "rayclusters.ray.io", "rayjobs.ray.io", "rayservices.ray.io")
    operator = cluster.daemon("kuberay", cluster.inside(
        cluster.binaries / "kuberay-operator", "--kubeconfig", cluster.file("admin.kubeconfig"),
        "--enable-leader-election=false", "--metrics-addr=0",
        f"--health-probe-bind-address=127.0.0.1:{free_port()}", *flags),
        {"CLUSTER_DOMAIN": cluster.domain}).start()
    wait_until(f"KubeRay {KUBERAY} works",
               lambda: operator.log_tail(200).count('"Starting workers"') >= 3, [operator])


def start_cluster(version, name="real", programs=PROGRAMS):
    """With the operator, without nodes. Missing says what cannot be had here."""
    kuberay_crds()
    cluster = ControlPlane(name, version, programs=programs)
    try:
        cluster.start()
        start_operator(cluster)
    except BaseException:
        cluster.stop()
        raise
    return cluster


def install_appwrappers(binary, cluster):
    """The kinds that MCAD's users have, as Muster defines them."""
    done = subprocess.run([binary, "aw", "install", "--kubeconfig",
                           cluster.file("admin.kubeconfig")],
                          capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise AssertionError(done.stdout + done.stderr)


def container(name, cpu, memory, **more):
    amounts = {"cpu": cpu, "memory": memory}
    return {"name": name, "image": "example.com/ray:1",
            "resources": {"requests": amounts, "limits": amounts}, **more}


def cluster_spec(workers=1, cpu="1", memory="1G", **of_group):
    """A RayCluster's spec: a head and one group of workers."""
    return {
        "rayVersion": "2.46.0",
        "headGroupSpec": {"rayStartParams": {}, "template": {"spec": {"containers": [
            container("ray-head", "1", "1G")]}}},
        "workerGroupSpecs": [{
            "groupName": "small", "replicas": workers, "minReplicas": workers,
            "maxReplicas": workers, "rayStartParams": {}, **of_group,
            "template": {"spec": {"containers": [container("ray-worker", cpu, memory)]}}}]}


def ray_cluster(name, **spec):
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": name},
            "spec": spec}
