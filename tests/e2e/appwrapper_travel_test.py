#!/usr/bin/env python3
"""AppWrappers of a hub that run in another cluster: two real control planes, kubectl on the hub.

Usage: appwrapper_travel_test.py MUSTER [--kubernetes VERSION] [--only PART_OF_A_NAME]

The hub has one small node; the other cluster, west, has room. What was made there, and how often,
is counted in its API server's audit log.
"""
import base64
import json
import os
import shutil
import subprocess
import sys
import time

import appwrapper_test
import muster_test
from appwrapper_test import WithHub, components, job, wrapper
from appwrapper_odd_test import RAY_KIND, ray
from audit import creations, keep_audit_log
from binaries import find_binaries
from clusters import start_all
from control_plane import ControlPlane
from fault_proxy import FaultProxy
from on_clusters import run_on
from rbac import grant
from side_by_side import alone
from with_server import delete_namespace

HUB = None
WEST = None
FINALIZER = "muster.dev/copies"


def big(name, command="sleep", **more):
    """More than the hub has room for."""
    return job(name, command, pods=2, cpu="8", **more)


def completing(made):
    return made, {"completionstatus": "Complete"}


class Travel(WithHub):
    """Each test has a namespace in the hub, and a server of its own."""

    def setUp(self):
        self.binary = muster_test.BINARY
        self.make_namespace(HUB)
        self.addCleanup(delete_namespace, WEST, self.namespace)
        self.begin(self.config())

    def config(self, more="", west=True, users=("admin.kubeconfig", "admin.kubeconfig")):
        row = f"""
- {{name: west, type: kubernetes, kubeconfig: {WEST.file(users[1])}, namespace: default,
   namespaces: ['*'], labels: {{gpu: a100}}}}""" if west else ""
        return f"""clusters:
- {{name: hub, type: kubernetes, kubeconfig: {HUB.file(users[0])},
   namespace: {self.namespace}}}{row}
scheduling: {{start_retry_pause: 1s}}
appwrappers: {{cluster: hub, namespace: {self.namespace}, events: all{more}}}
"""

    def restart(self, **how):
        self.server.terminate()
        self.server.write_config(self.config(**how))
        self.server.start()

    def west(self, what, where="api/v1"):
        """What Muster has there, by name; all of them that Kubernetes does not make itself."""
        status, found = WEST.get(f"/{where}/namespaces/{self.namespace}/{what}")
        self.assertEqual(status, 200, found)
        return {one["metadata"]["name"]: one for one in found["items"]
                if one["metadata"]["name"] != "kube-root-ca.crt"}

    def west_jobs(self):
        return sorted(self.west("jobs", "apis/batch/v1"))

    def is_empty_there(self):
        return not (self.west_jobs() or self.west("pods") or self.west("configmaps") or
                    self.west("secrets"))

    def here(self):
        return [one.split("/")[1] for one in self.names("appwrappers")]

    def finalizers(self, name):
        return self.get(name)["metadata"].get("finalizers", [])

    def label_namespace(self):
        self.kubectl("label", "namespace", self.namespace, "muster.dev/travel-secrets=true")

    def make_inputs(self):
        self.kubectl("create", "secret", "generic", "token", "--from-literal=word=sesame")
        self.kubectl("create", "configmap", "settings", "--from-literal=depth=3")

    def reading(self, name, **more):
        """A job whose pods name a Secret and a ConfigMap, and an optional one that is nowhere."""
        made = big(name, **more)
        pod = made["spec"]["template"]["spec"]
        pod["volumes"] = [{"name": "v", "projected": {"sources": [
            {"secret": {"name": "token"}}, {"configMap": {"name": "maybe", "optional": True}}]}}]
        pod["containers"][0]["envFrom"] = [{"configMapRef": {"name": "settings"}}]
        return made

    def delete(self, name):
        self.kubectl("delete", "appwrapper", name, "--wait=false")


class Away(Travel):

    def test_one_that_has_no_room_in_the_hub_runs_elsewhere_and_the_hub_tells_it(self):
        home = wrapper("home", job("home", "sleep", pods=1))
        home["metadata"]["annotations"] = {"muster.dev/clusters": "hub"}
        self.create(wrapper("away", big("away")), home, components("new", big("new")),
                    wrapper("nowhere", job("nowhere", pods=1, cpu="1000")))
        self.wait("nowhere waits",
                  lambda: self.status("nowhere").get("queuejobstate") == "Backoff")
        self.wait("all its pods run", lambda: self.status("away").get("running") == 2)
        self.assertEqual(self.status("away")["state"], "Running")
        self.assertEqual(self.status("away")["muster"]["cluster"], "west")
        self.wait("the one of v1beta2 runs there", lambda: any(
            one["type"] == "PodsReady" and one["status"] == "True"
            for one in self.status("new").get("conditions", [])))
        self.assertEqual(self.status("new")["muster"]["cluster"], "west")
        self.wait_state("home", "Running")
        self.assertEqual(self.west_jobs(), ["away", "new"])
        self.assertEqual(self.names("jobs"), ["job.batch/home"])
        self.assertEqual(self.names("configmaps"), ["configmap/kube-root-ca.crt"],
                         "only AppWrappers are in the hub")
        self.assertEqual(self.finalizers("away"), [FINALIZER])
        self.assertEqual(self.finalizers("home"), [], "it goes by itself")
        self.assertEqual(self.finalizers("nowhere"), [])
        row = [line for line in self.kubectl("get", "aw").split("\n") if line.startswith("away")]
        self.assertIn("west", row[0])
        listed = self.server.api("GET", "/appwrappers")[1]["appwrappers"]
        self.assertEqual({one["name"]: one["cluster"] for one in listed},
                         {"away": "west", "home": "hub", "new": "west", "nowhere": ""})

    def test_describe_tells_its_story_in_events(self):
        self.create(wrapper("told", completing(big("told", "true"))),
                    wrapper("stays", job("stays", pods=1, cpu="1000")),
                    wrapper("fails", big("fails", "false")))
        self.wait_state("told", "Completed")
        self.wait_state("fails", "Failed")
        self.wait("one waits", lambda: self.status("stays").get("queuejobstate") == "Backoff")
        self.wait("its end is told",
                  lambda: self.reasons("told") == ["Dispatched", "Completed"])
        self.wait("why one waits is told",
                  lambda: self.reasons("stays") == ["InsufficientResources"])
        self.wait("why one failed is told", lambda: "Failed" in self.reasons("fails"))
        self.assertIn("to cluster west, attempt 1", self.kubectl("describe", "aw", "told"))

    def reasons(self, name):
        """Without that of pods that ran for a moment, which may be missed."""
        found = json.loads(self.kubectl("get", "events", "-o", "json"))["items"]
        mine = [one for one in found if one["involvedObject"]["kind"] == "AppWrapper" and
                one["involvedObject"]["name"] == name]
        return [word for word in ("InsufficientResources", "Dispatched", "Requeued", "Completed",
                                  "Failed") if [one["reason"] for one in mine].count(word) == 1]

    def test_names_annotations_and_selectors_choose_the_cluster(self):
        def placed(name, clusters=None, **notes):
            made = wrapper(name, job(name, "sleep", pods=1, cpu="100m"))
            made["metadata"]["annotations"] = notes
            if clusters:
                made["spec"]["schedulingSpec"] = {"clusterScheduling": clusters}
            return made
        self.create(
            placed("named", {"clusters": [{"name": "west"}]}),
            placed("chosen", {"clusterSelector": {"matchLabels": {"gpu": "a100"}}}),
            placed("keti", clusterName="west"), placed("noted", **{"muster.dev/clusters": "hub"}),
            placed("nobody", {"clusterSelector": {"matchLabels": {"gpu": "h200"}}}),
            placed("absent", {"clusters": [{"name": "east"}]}))
        for name, cluster in (("named", "west"), ("chosen", "west"), ("keti", "west"),
                              ("noted", "hub")):
            self.wait_state(name, "Running")
            self.assertEqual(self.status(name)["muster"]["cluster"], cluster, name)
        self.wait("nobody waits", lambda: "no cluster matches" in str(self.status("nobody")))
        self.assertEqual(self.status("nobody")["muster"]["reason"], "NoCluster")
        self.wait("absent waits",
                  lambda: 'there is no cluster "east"' in str(self.status("absent")))
        absent = self.status("absent")
        self.assertEqual((absent["muster"]["reason"], absent["state"]), ("NoCluster", "Pending"))

    def test_what_runs_elsewhere_runs_on_when_the_books_are_lost(self):
        made = wrapper("far", job("far", "sleep"), job("more", "sleep"))
        made["spec"]["schedulingSpec"] = {"clusterScheduling": {"clusters": [{"name": "west"}]}}
        self.create(made)

        def running():
            return sorted(pod["metadata"]["uid"] for pod in self.west("pods").values()
                          if pod["status"].get("phase") == "Running")

        def servers():
            return {pod["metadata"]["labels"].get("muster.dev/server")
                    for pod in self.west("pods").values()}
        self.wait("it runs there", lambda: len(running()) == 4)
        self.wait_state("far", "Running")
        before, old_server, roots = running(), servers(), sorted(self.west("configmaps"))
        self.server.kill()
        shutil.rmtree(os.path.join(self.server.folder, "data"))
        self.server.start()
        self.wait("all pods are of the new server",
                  lambda: len(servers()) == 1 and servers() != old_server)
        self.assertEqual((running(), sorted(self.west("configmaps"))), (before, roots))
        self.wait("it runs", lambda: [
            one["state"] for one in self.server.api("GET", "/jobs")[1]["jobs"]] == ["Running"])
        self.kubectl("delete", "appwrapper", "far", "--timeout=60s")
        self.wait("nothing is left there", self.is_empty_there)

    def test_what_is_suspended_or_reset_elsewhere_is_stopped_when_the_books_are_lost(self):
        self.create(components("held", big("held")), components("reset", big("reset")))
        pods = lambda: {pod["metadata"]["uid"] for pod in self.west("pods").values()
                        if pod["status"].get("phase") == "Running"}
        self.wait("both run there", lambda: len(pods()) == 4)
        self.wait("both say so", lambda: all(
            self.status(name).get("phase") == "Running" for name in ("held", "reset")))
        before = pods()
        self.server.kill()
        shutil.rmtree(os.path.join(self.server.folder, "data"))
        self.kubectl("patch", "appwrapper", "held", "--type=merge", "-p",
                     '{"spec": {"suspend": true}}')
        self.kubectl("patch", "appwrapper", "reset", "--type=merge", "--subresource=status", "-p",
                     '{"status": {"phase": "Resetting"}}')
        self.server.start()
        self.wait("it is suspended", lambda: self.status("held").get("phase") == "Suspended")
        self.wait("the other runs again", lambda: self.west_jobs() == ["reset"]
                  and len(pods()) == 2)
        self.assertFalse(before & pods(), "nothing that ran before runs on")
        self.kubectl("delete", "appwrapper", "held", "reset", "--timeout=60s")
        self.wait("nothing is left there", self.is_empty_there)


class Kinds(Travel):
    """RayClusters are defined in the hub only, which is small."""

    def setUp(self):
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        HUB.create(definitions, RAY_KIND)
        self.addCleanup(HUB.request, "DELETE", f"{definitions}/rayclusters.ray.io")
        self.addCleanup(WEST.request, "DELETE", f"{definitions}/rayclusters.ray.io")
        super().setUp()

    def test_a_cluster_without_the_kind_is_avoided_until_it_has_it(self):
        self.create(wrapper("small", ray("small"), job("small", "sleep", pods=1, cpu="100m")),
                    wrapper("large", ray("large"), big("large")),
                    wrapper("plain", big("plain")))
        self.wait_state("small", "Running")
        self.assertEqual(self.status("small")["muster"]["cluster"], "hub")
        self.wait_state("plain", "Running")
        self.assertEqual(self.status("plain")["muster"]["cluster"], "west", "it has the room")
        self.wait("large waits", lambda: self.status("large").get("queuejobstate") == "Backoff")
        large = self.status("large")["muster"]
        self.assertEqual(self.server.job(large["job"])["attempt"], 0, "west is not tried")
        self.assertEqual(self.west_jobs(), ["plain"])
        only_west = wrapper("named", ray("named"), job("named", "sleep", pods=1, cpu="100m"))
        only_west["metadata"]["annotations"] = {"muster.dev/clusters": "west"}
        self.create(only_west)
        self.wait("named says why", lambda: "1 without its kind ray.io/v1/RayCluster" in str(
            self.status("named").get("conditions")))
        self.assertEqual(self.status("named")["muster"]["reason"], "CannotBeMade")
        WEST.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", RAY_KIND)
        for name in ("large", "named"):
            self.wait_state(name, "Running")
            self.assertEqual(self.status(name)["muster"]["cluster"], "west", name)


class Luggage(Travel):

    def test_secrets_and_configmaps_arrive_and_go_with_the_last_that_needs_them(self):
        self.label_namespace()
        self.make_inputs()
        self.create(wrapper("one", self.reading("one")), wrapper("two", self.reading("two")))
        self.wait_state("one", "Running")
        self.wait_state("two", "Running")
        secret = self.west("secrets")["token"]
        self.assertEqual(base64.b64decode(secret["data"]["word"]), b"sesame")
        self.assertEqual(self.west("configmaps")["settings"]["data"], {"depth": "3"})
        self.delete("one")
        self.wait("one is gone", lambda: "one" not in self.here() and self.west_jobs() == ["two"])
        self.assertIn("token", self.west("secrets"))
        self.assertIn("settings", self.west("configmaps"))
        self.delete("two")
        self.wait("all is gone", lambda: not self.here() and self.is_empty_there())

    def test_a_required_one_that_is_nowhere_is_named_and_awaited(self):
        self.label_namespace()
        self.kubectl("create", "configmap", "settings", "--from-literal=depth=3")
        self.create(wrapper("early", self.reading("early")))
        words = "Secret token, which its pods name, is neither in namespace"
        self.wait("the Secret is named", lambda: words in str(self.story_of("early")))
        self.assertEqual(self.west_jobs(), [])
        self.kubectl("create", "secret", "generic", "token", "--from-literal=word=sesame")
        self.wait_state("early", "Running")

    def test_volume_claims_stay_and_the_one_that_is_missing_is_named_until_it_is_there(self):
        made = big("data")
        made["spec"]["template"]["spec"]["volumes"] = [
            {"name": "v", "persistentVolumeClaim": {"claimName": "images"}}]
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                 "metadata": {"name": "images"},
                 "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none",
                          "resources": {"requests": {"storage": "1Gi"}}}}
        self.kubectl("create", "-f", "-", stdin=json.dumps(claim))
        self.create(wrapper("data", made))
        words = "PersistentVolumeClaim images, which its pods name, is not in namespace"
        self.wait("the claim is named in its condition", lambda: any(
            one["type"] == "Waiting" and one["reason"] == "CannotBeMade" and words in one["message"]
            for one in self.status("data").get("conditions", [])))
        self.assertEqual(self.west_jobs(), [])
        WEST.create(f"/api/v1/namespaces/{self.namespace}/persistentvolumeclaims", claim)
        self.wait_state("data", "Running")

    def test_service_accounts_go_bare_and_only_where_the_configuration_says_so(self):
        self.kubectl("create", "serviceaccount", "robot")
        made = big("run")
        made["spec"]["template"]["spec"]["serviceAccountName"] = "robot"
        self.create(wrapper("run", made))
        words = "the configuration lets no service accounts travel"
        self.wait("the account is named", lambda: words in str(self.status("run")))
        self.restart(more=", travel: {service_accounts: true}")
        self.wait_state("run", "Running")
        self.wait("its pods run", lambda: self.status("run").get("running") == 2)
        account = self.west("serviceaccounts")["robot"]
        self.assertNotIn("secrets", account)
        self.delete("run")
        self.wait("it goes too", lambda: "robot" not in self.west("serviceaccounts"))

    def story_of(self, name):
        made = self.status(name).get("muster", {}).get("job")
        return self.muster("events", made) if made else ""

    def test_secrets_stay_unless_their_namespace_lets_them_go(self):
        self.make_inputs()
        self.create(wrapper("shy", self.reading("shy")))
        self.wait_state("shy", "Running")
        self.assertEqual(self.west("secrets"), {})
        self.assertIn("settings", self.west("configmaps"))
        self.wait("that is told",
                  lambda: "it stays in the hub: namespace" in self.story_of("shy"))

    def test_what_is_there_already_is_left_alone_and_used(self):
        self.label_namespace()
        self.make_inputs()
        WEST.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace",
                                           "metadata": {"name": self.namespace}})
        WEST.create(f"/api/v1/namespaces/{self.namespace}/secrets", {
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token"},
            "stringData": {"word": "theirs"}})
        self.create(wrapper("meets", self.reading("meets")))
        self.wait_state("meets", "Running")
        self.wait("that is told", lambda: "left as it is" in self.story_of("meets"))
        self.delete("meets")
        self.wait("it is gone", lambda: not self.here() and not self.west_jobs())
        left = self.west("secrets")["token"]
        self.assertEqual(base64.b64decode(left["data"]["word"]), b"theirs")

    def test_the_printed_rules_are_enough_in_both_clusters(self):
        self.server.terminate()
        name = self.namespace
        grant(self.binary, HUB, name, "--user", "nobody", "--name", name, "--appwrappers",
              "--travel", "--kinds", "Job")
        grant(self.binary, WEST, "default", "--user", "nobody", "--name", name, "--objects",
              "--travel", "--kinds", "Job", "--namespaces", "*")
        for cluster in (HUB, WEST):
            cluster.write_kubeconfig(f"{name}.kubeconfig", user={"token": "token-of-nobody"})
        self.server.write_config(self.config(users=(f"{name}.kubeconfig",) * 2))
        self.server.start()
        self.label_namespace()
        self.make_inputs()
        self.create(wrapper("lean", completing(self.reading("lean", command="true"))))
        self.wait_state("lean", "Completed")
        self.assertIn("token", self.west("secrets"))
        self.delete("lean")
        self.wait("all is gone", lambda: not self.here() and self.is_empty_there())
        self.assertNotIn("orbidden", self.server.log())


class Deleted(Travel):

    def test_copies_go_with_the_appwrapper_whether_they_run_or_have_ended(self):
        self.create(wrapper("runs", big("runs")),
                    wrapper("ends", completing(big("ends", "true"))),
                    components("ends2", big("ends2", "true")))
        self.wait_state("runs", "Running")
        self.wait_state("ends", "Completed")
        self.wait("it succeeded", lambda: self.status("ends2").get("phase") == "Succeeded")
        self.assertEqual(self.west_jobs(), ["ends", "ends2", "runs"], "they stay as in the hub")
        for name in ("runs", "ends", "ends2"):
            self.kubectl("delete", "appwrapper", name, "--timeout=60s")
            self.assertNotIn(name, self.west_jobs())
        self.assertTrue(self.is_empty_there())

    def test_one_that_is_deleted_while_no_server_runs_goes_when_one_does(self):
        self.create(wrapper("runs", big("runs")), wrapper("ends", completing(big("ends", "true"))))
        self.wait_state("runs", "Running")
        self.wait_state("ends", "Completed")
        self.server.kill()
        self.delete("runs")
        self.delete("ends")
        self.assertEqual(self.here(), ["ends", "runs"])
        self.assertEqual(self.west_jobs(), ["ends", "runs"])
        self.server.start()
        self.wait("all is gone", lambda: not self.here() and self.is_empty_there())

    def test_a_cluster_that_has_left_strands_nobody(self):
        self.create(wrapper("ends", completing(big("ends", "true"))))
        self.wait_state("ends", "Completed")
        self.restart(west=False)
        self.wait("west has left", lambda: "cluster west: left" in self.server.log())
        time.sleep(2)  # and is closed
        self.kubectl("delete", "appwrapper", "ends", "--timeout=60s")
        self.assertIn("what it has there is left behind", self.server.log())


class Unreachable(Travel):

    def test_a_cluster_that_cannot_be_reached_keeps_appwrappers_which_say_why(self):
        proxy = FaultProxy(WEST.port)
        self.addCleanup(proxy.close)
        way = f"{self.namespace}.kubeconfig"
        WEST.write_kubeconfig(way, cert="admin", server=f"https://127.0.0.1:{proxy.port}")
        self.restart(users=("admin.kubeconfig", way))
        self.create(wrapper("ends", completing(big("ends", "true"))), wrapper("runs", big("runs")),
                    components("new", big("new", "true")))
        self.wait_state("ends", "Completed")
        self.wait_state("runs", "Running")
        self.wait("it succeeded", lambda: self.status("new").get("phase") == "Succeeded")
        proxy.refuse()
        self.wait("west is lost", lambda: "cluster west cannot be reached" in self.server.log())
        names = ["ends", "new", "runs"]
        for name in names:
            self.delete(name)
        self.wait("they say why they stay", lambda: all(map(self.says_why, names)))
        for name in names:
            self.assertIn("cluster west cannot be reached", str(self.status(name)["conditions"]))
            self.assertEqual(self.finalizers(name), [FINALIZER])
        self.assertEqual(self.west_jobs(), names)
        proxy.refuse(False)
        self.wait("all is gone", lambda: not self.here() and self.is_empty_there(), wait_s=90)

    def says_why(self, name):
        return self.status(name)["muster"].get("reason") == "CopiesRemain"


@alone
class Faults(Travel):
    """The hub itself goes away: nobody else uses it meanwhile."""

    def test_the_hub_restarts_during_dispatch_and_nothing_is_made_twice(self):
        count = 8
        self.create(*(wrapper(f"w{i}", job(f"w{i}", "sleep", cpu="5")) for i in range(count)))
        HUB.restart_api(0.5)
        for i in range(count):
            self.wait_state(f"w{i}", "Running", wait_s=90)
            self.assertEqual(self.finalizers(f"w{i}"), [FINALIZER])
        self.assertEqual(self.west_jobs(), [f"w{i}" for i in range(count)])
        made = creations(WEST, self.namespace)
        self.assertEqual(len([what for what in made if what[0] == "jobs"]), count)
        self.assertEqual({what: times for what, times in made.items()
                          if what[0] == "jobs" and times > 1}, {})


def install_crds():
    done = subprocess.run([muster_test.BINARY, "aw", "install", "--kubeconfig",
                           HUB.file("admin.kubeconfig")],
                          capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise AssertionError(done.stdout + done.stderr)


def start(options):
    global HUB, WEST  # pylint: disable=global-statement
    muster_test.BINARY = options.binary
    appwrapper_test.KUBECTL = str(
        find_binaries(options.kubernetes, ("kubectl",), build=False) / "kubectl")
    HUB = appwrapper_test.CLUSTER = ControlPlane("hub", options.kubernetes)
    WEST = keep_audit_log(ControlPlane("west", options.kubernetes))
    start_all([HUB, WEST])
    HUB.add_node("small", {"cpu": "4", "memory": "16Gi", "pods": "110"})
    WEST.add_nodes(4)
    for cluster in (HUB, WEST):
        cluster.wait_nodes_ready()
    install_crds()
    return [HUB, WEST]


if __name__ == "__main__":
    sys.exit(run_on(start, __doc__, workers=3, first=[Unreachable, Deleted, Luggage, Away]))
