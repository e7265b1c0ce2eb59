#!/usr/bin/env python3
"""What MCAD 1.40 itself does where appwrapper_defects_test.py asks Muster: a record, not a test.

Usage: mcad_defects.py [LETTER...] [--kubernetes VERSION] [--log FILE]

The controller is built from its Go module (binaries.py) and runs, with its own definitions and
its defaults, on a real control plane with nodes that kwok plays. For each defect (all, or those of
the letters) one line is printed: what was asked of it, and what it did. docs/mcad-defects.md has
the lines of one run. Run by hand, `make mcad-defects`: it takes some ten minutes, which are MCAD's.
"""
import argparse
import re
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from appwrapper_test import deployment, job, wrapper
from binaries import CONTROL_PLANE, KUBERNETES, MCAD, Missing, find_binaries, mcad_crds
from control_plane import ControlPlane
from kuberay import Kubectl
from processes import free_port

PROGRAMS = (*CONTROL_PLANE, "kubectl", "mcad-controller")
NODES, NODE_CPUS = 2, 32


class Namespace:
    """Where one defect is looked at. MCAD serves all namespaces there are."""

    def __init__(self, mcad, name):
        self.mcad = mcad
        self.kubectl = Kubectl(mcad.cluster, name)
        self.where = f"/apis/workload.codeflare.dev/v1beta1/namespaces/{name}/appwrappers"
        self.name = name
        mcad.kubectl("create", "namespace", name)
        mcad.namespaces.append(name)

    def create(self, *wrappers):
        self.kubectl.create(*wrappers)

    def status(self, name):
        found = self.mcad.cluster.get(f"{self.where}/{name}")[1]
        return found.get("status", {})

    def state(self, name):
        """As its two words have it: Pending/Backoff."""
        status = self.status(name)
        return f"{status.get('state', '')}/{status.get('queuejobstate', '')}"

    def conditions(self, name):
        return [f"{one['type']} {one.get('reason', '')}".strip()
                for one in self.status(name).get("conditions", [])]

    def has_job(self, name):
        return self.mcad.cluster.get(
            f"/apis/batch/v1/namespaces/{self.name}/jobs/{name}")[0] == 200

    def pods(self):
        return self.mcad.cluster.get(f"/api/v1/namespaces/{self.name}/pods")[1]["items"]


class Mcad:
    """Its controller on a cluster."""

    def __init__(self, cluster, log):
        self.cluster = cluster
        self.kubectl = Kubectl(cluster)
        self.daemon = None
        self.log = log
        self.namespaces = []

    def start(self):
        """A new one on every call."""
        self.daemon = self.cluster.daemon("mcad", [
            self.cluster.binaries / "mcad-controller",
            "--kubeconfig", self.cluster.file("admin.kubeconfig"),
            f"--healthProbeListenAddr=127.0.0.1:{free_port()}"]).start()

    def stop(self):
        self.daemon.kill()
        if self.log:
            shutil.copyfile(self.daemon.log_path, self.log)

    def clear(self):
        """Nothing is left of what was looked at before."""
        self.kubectl("delete", "namespace", *self.namespaces, "--timeout=100s")
        self.namespaces = []


def seconds_until(condition, wait_s, pause_s=0.2):
    """None: not within that time."""
    begin = time.monotonic()
    while time.monotonic() - begin < wait_s:
        if condition():
            return time.monotonic() - begin
        time.sleep(pause_s)
    return None


def wait(what, condition, wait_s=120):
    if seconds_until(condition, wait_s) is None:
        raise AssertionError(f"{what}: not within {wait_s} s")


def told(took, wait_s):
    return f"after {took:.0f} s" if took is not None else f"not within {wait_s} s"


def huge(name, **more):
    return wrapper(name, job(name, "sleep", pods=1, cpu="100000"), **more)


def labelled(made):
    """With labels in its pod template: else MCAD puts none of its own there, see g."""
    made["spec"]["template"]["metadata"] = {"labels": {"app": made["metadata"]["name"]}}
    return made


def of_cpus(name, cpus, command="sleep", **more):
    """One pod of so many."""
    return wrapper(name, (labelled(job(name, command, pods=1, cpu=str(cpus))), {
        "custompodresources": [{"replicas": 1, "requests": {"cpu": cpus}}]}), **more)


def unscheduled(made):
    """Nobody finds nodes for its pods."""
    made["spec"]["template"]["spec"]["schedulerName"] = "nobody"
    return made


def defect_a(space):
    names = [f"huge-{index}" for index in range(3)]
    space.create(*map(huge, names))
    wait("one backs off", lambda: any("Backoff" in space.state(one) for one in names))
    space.create(wrapper("small", job("small", "sleep")))
    took = seconds_until(lambda: space.has_job("small"), 180)
    return f"the Job of one that fits, behind 3 that do not: {told(took, 180)}"


def defect_b(space):
    space.create(of_cpus("first", 20))
    wait("it runs", lambda: space.has_job("first"))
    space.create(of_cpus("low", 50, priority=1))
    wait("low backs off", lambda: "Backoff" in space.state("low"))
    space.create(of_cpus("high", 50, priority=9))
    wait("high backs off", lambda: "Backoff" in space.state("high"))
    space.kubectl("delete", "appwrapper", "first")
    wait("one runs", lambda: space.has_job("low") or space.has_job("high"))
    who = "priority 1" if space.has_job("low") else "priority 9"
    return f"of two that wait for the same room, with priority 1 and 9, ran first: {who}"


def defect_c(space):
    def lists():
        text = space.kubectl("get", "--raw", "/metrics")
        return sum(float(line.split()[-1]) for line in text.split("\n")
                   if line.startswith("apiserver_request_total{") and 'verb="LIST"' in line
                   and re.search(r'resource="(pods|nodes|appwrappers)"', line))
    names = [f"huge-{index}" for index in range(3)]
    space.create(*map(huge, names))
    wait("one backs off", lambda: any("Backoff" in space.state(one) for one in names))
    before, watched_s = lists(), 40
    time.sleep(watched_s)
    return (f"while 3 wait on {NODES} nodes, in {watched_s} s (2 tries): "
            f"{lists() - before:.0f} LIST requests of pods, nodes and AppWrappers")


def defect_d(space):
    space.create(wrapper("bad", {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "front"},
        "spec": {"ports": [{"port": 99999}]}}))
    seen, watched_s = [], 40
    begin = time.monotonic()
    while time.monotonic() - begin < watched_s:
        state = space.status("bad").get("state", "")
        if state and seen[-1:] != [state]:
            seen.append(state)
        time.sleep(0.02)
    words = ", ".join(seen[:6]) + (f", ... ({len(seen)} changes)" if len(seen) > 6 else "")
    return f"state of one whose Service is invalid, in {watched_s} s: {words}"


def defect_e(space):
    space.create(wrapper("lame", unscheduled(labelled(job("lame", "sleep"))), schedulingSpec={
        "minAvailable": 2, "requeuing": {"timeInSeconds": 1, "growthType": "none",
                                         "maxNumRequeuings": 1}}))
    wait("it was requeued twice",
         lambda: space.status("lame").get("numberOfRequeueings", 0) >= 2, 300)
    status = space.status("lame")
    return (f"with maxNumRequeuings 1: requeued {status['numberOfRequeueings']} times, state "
            f"{status['state']}")


def defect_f(space):
    made = labelled(job("large", "sleep"))
    made["spec"]["template"]["spec"]["containers"][0]["resources"] = {
        "requests": {"memory": "5Gi", "cpu": "1"}}
    # Totals are written when it looks at minAvailable, once a minute.
    space.create(wrapper("large", (made, {"custompodresources": [
        {"replicas": 2, "requests": {"cpu": 1, "memory": "5Gi"}}]}), schedulingSpec={
            "minAvailable": 3, "requeuing": {"timeInSeconds": 1}}))
    wait("that is written", lambda: "totalcpu" in space.status("large"), 180)
    status = space.status("large")
    return (f"two pods with 1 CPU and 5 GiB each: totalcpu {status['totalcpu']}, totalmemory "
            f"{status.get('totalmemory')}")


def defect_g(space):
    """Pods without MCAD's label, as those of a RayCluster: of a Job without labels in its
    template."""
    items = {"custompodresources": [{"replicas": 2, "requests": {"cpu": 15}}]}
    space.create(wrapper("first", (job("first", "sleep", pods=2, cpu="15"), items)))
    wait("both run", lambda: [one["status"]["phase"] for one in space.pods()] == ["Running"] * 2)
    free = NODES * NODE_CPUS - 30
    space.create(of_cpus("second", 10))
    took = seconds_until(lambda: space.has_job("second"), 60)
    return (f"one of 10 CPUs, while {free} are free beside pods without MCAD's label that have "
            f"30: dispatched {told(took, 60)}, {space.state('second')}")


def defect_h(space):
    cluster, name = space.mcad.cluster, "tainted"
    cluster.add_node(name, {"cpu": "4", "memory": "8Gi", "pods": "110", "nvidia.com/gpu": "1"})
    cluster.wait_nodes_ready()
    space.kubectl("taint", "node", name, "keep=out:NoSchedule")
    made = labelled(job("gpu", "sleep", pods=1))
    made["spec"]["template"]["spec"]["containers"][0]["resources"] = {
        "limits": {"nvidia.com/gpu": "1"}}
    space.create(wrapper("gpu", (made, {"custompodresources": [
        {"replicas": 1, "requests": {"nvidia.com/gpu": 1}}]})))
    took = seconds_until(lambda: space.has_job("gpu"), 60)
    time.sleep(3)
    phases = [one["status"]["phase"] for one in space.pods()]
    state = space.state("gpu")
    cluster.request("DELETE", f"/api/v1/nodes/{name}")
    return (f"one that needs the GPU of a tainted node: dispatched {told(took, 60)}, {state}, "
            f"its pods {phases}")


def defect_i(space):
    space.create(
        of_cpus("hour", 1, schedulingSpec={"minAvailable": 1, "dispatchDuration": {"limit": 3600}}),
        of_cpus("brief", 1, schedulingSpec={"dispatchDuration": {"limit": 5}}))
    wait("both run", lambda: space.has_job("hour") and space.has_job("brief"))
    took = seconds_until(lambda: any(
        "DispatchDeadlineExceeded" in one for one in space.conditions("hour")), 150)
    return (f"limit 3600 s with minAvailable: DispatchDeadlineExceeded {told(took, 150)}; limit "
            f"5 s without it: after that time {space.state('brief')}")


def defect_j(space):
    other = Namespace(space.mcad, f"{space.name}-other")

    def unbound(name):
        one = of_cpus(name, 40)
        unscheduled(one["spec"]["resources"]["GenericItems"][0]["generictemplate"])
        return one
    space.create(unbound("same"))
    wait("the first is dispatched", lambda: space.has_job("same"))
    other.create(unbound("same"))
    took = seconds_until(lambda: other.has_job("same"), 60)
    third = Namespace(space.mcad, f"{space.name}-third")
    third.create(unbound("another"))
    wait("the third was tried", lambda: third.state("another") not in ("/", "Pending/Queueing"))
    return (f"two of 40 of {NODES * NODE_CPUS} CPUs with one name in two namespaces: the second "
            f"dispatched {told(took, 60)}; a third of another name: {third.state('another')}")


def defect_k(space):
    space.create(wrapper("gate", (unscheduled(deployment("gate")), {
        "completionstatus": "Available"})))
    wait("it is dispatched", lambda: "Dispatched AppWrapperRunnable" in space.conditions("gate"))
    ends = ("RunningHoldCompletion", "Completed")
    took = seconds_until(lambda: space.status("gate").get("state") in ends, 60)
    found = space.kubectl.get("deployment", "gate")["status"].get("conditions", [])
    said = [one["status"] for one in found if one["type"] == "Available"]
    return (f"completionstatus Available, of a Deployment that says Available={said[0]}: "
            f"{space.state('gate')} {told(took, 60)}")


def defect_l(space):
    space.create(wrapper("web", deployment("web")))
    wait("both pods run", lambda: [one["status"]["phase"] for one in space.pods()]
         == ["Running"] * 2)
    time.sleep(30)
    return f"status.running, 30 s after both pods run: {space.status('web').get('running')}"


def defect_n(space):
    space.create(huge("one"))
    wait("it backs off", lambda: "Backoff" in space.state("one"))
    time.sleep(2)

    def tried():
        return [one["lastTransitionMicroTime"] for one in space.status("one")["conditions"]
                if one["type"] == "Backoff"][-1]
    space.mcad.stop()
    before = tried()
    space.mcad.start()
    took = seconds_until(lambda: tried() != before, 60)
    return f"one that backs off for 20 s, a restart 2 s later: tried again {told(took, 60)}"


# Those of a group share a controller: none of them makes it sleep. Their AppWrappers have names of
# their own, see j.
GROUPS = (("e", "f", "i", "k", "l"), *"abcdghjn")


def look_at(mcad, letters):
    """Prints what was seen."""
    def look(letter):
        try:
            return globals()[f"defect_{letter}"](Namespace(mcad, f"defect-{letter}"))
        except AssertionError as failed:
            return f"not seen: {failed}"
    mcad.start()
    try:
        with ThreadPoolExecutor(len(letters)) as pool:
            for letter, seen in zip(letters, pool.map(look, letters)):
                print(f"{letter}  {seen}", flush=True)
    finally:
        mcad.stop()
    mcad.clear()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("letters", nargs="*", metavar="LETTER")
    parser.add_argument("--kubernetes", default=KUBERNETES, metavar="VERSION")
    parser.add_argument("--log", metavar="FILE", help="where the controller's own log goes")
    options = parser.parse_args()
    try:
        find_binaries(options.kubernetes, PROGRAMS)
        crds = mcad_crds()
    except Missing as missing:
        sys.exit(f"mcad_defects: {missing}")
    print(f"MCAD {MCAD}, Kubernetes {options.kubernetes}, {NODES} nodes of {NODE_CPUS} CPUs",
          flush=True)
    with ControlPlane("mcad", options.kubernetes, programs=PROGRAMS) as cluster:
        cluster.add_nodes(NODES)
        cluster.wait_nodes_ready()
        mcad = Mcad(cluster, options.log)
        for path in crds:
            mcad.kubectl("apply", "--server-side", "-f", path)
        mcad.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd",
                     "appwrappers.workload.codeflare.dev")
        for group in GROUPS:
            wanted = [one for one in group if not options.letters or one in options.letters]
            if wanted:
                look_at(mcad, wanted)


if __name__ == "__main__":
    main()
