#!/usr/bin/env python3
"""AppWrappers on a real Kubernetes: what MCAD's users do with kubectl, and what they see.

Usage: appwrapper_test.py MUSTER [--kubernetes VERSION] [--only PART_OF_A_NAME]

Pods are played by kwok (stages.yaml): `true` succeeds, `false` fails, everything else runs on, and
`stubborn` pods do not go when they are deleted.
"""
import json
import os
import re
import subprocess
import sys
import time

import muster_test
from binaries import find_binaries
from control_plane import ControlPlane
from on_clusters import run_on
from rbac import create as create_right
from rbac import grant, manifest
from side_by_side import alone
from with_server import WithServer

CLUSTER = None
KUBECTL = ""
GROUP = "/apis/workload.codeflare.dev/v1beta1"
FINALIZER = "workload.codeflare.dev/finalizer"  # of v1beta2's own controller


def job(name, command="true", pods=2, cpu="1", **more):
    """A Job, as an item of an AppWrapper."""
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"parallelism": pods, "completions": pods, "backoffLimit": 0,
                     "template": {"spec": {"restartPolicy": "Never", "containers": [
                         {"name": "main", "image": "example.com/tool:1", "command": [command],
                          "resources": {"requests": {"cpu": cpu}}}]}}, **more}}


def deployment(name, cpu="1", **more):
    labels = {"app": name}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels}, "spec": {"containers": [
                    {"name": "main", "image": "example.com/tool:1", "command": ["serve"],
                     "resources": {"requests": {"cpu": cpu}}}], **more}}}}


def wrapper(name, *items, **spec):
    """v1beta1. An item is an object, or (object, what GenericItems have beside it)."""
    generic = []
    for item in items:
        template, beside = item if isinstance(item, tuple) else (item, {})
        generic.append({"replicas": 1, **beside, "generictemplate": template})
    return {"apiVersion": "workload.codeflare.dev/v1beta1", "kind": "AppWrapper",
            "metadata": {"name": name}, "spec": {"resources": {"GenericItems": generic}, **spec}}


def components(name, *templates, **spec):
    """v1beta2."""
    return {"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper",
            "metadata": {"name": name},
            "spec": {"components": [{"template": one} for one in templates], **spec}}


class WithHub(WithServer):
    """Each test has a namespace and a server of its own, which takes its AppWrappers."""
    profile = "default"

    def setUp(self):
        self.binary = muster_test.BINARY
        self.make_namespace(CLUSTER)
        self.begin_hub()

    def begin_hub(self, more="", kubeconfig="", beside=""):
        """With more in `appwrappers`, and more keys beside it."""
        kubeconfig = kubeconfig or CLUSTER.file("admin.kubeconfig")
        self.begin(f"""clusters:
- {{name: real, type: kubernetes, kubeconfig: {kubeconfig}, context: real,
   namespace: {self.namespace}}}
appwrappers: {{cluster: real, namespace: {self.namespace}, profile: {self.profile}{more}}}
{beside}""")

    def kubectl(self, *words, stdin=None, code=0):
        done = subprocess.run(
            [KUBECTL, "--kubeconfig", CLUSTER.file("admin.kubeconfig"), "-n", self.namespace,
             *words], input=stdin, capture_output=True, text=True, timeout=120, check=False)
        if code is not None:
            self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        return done.stdout + done.stderr

    def create(self, *objects):
        listed = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        return self.kubectl("create", "-f", "-", stdin=json.dumps(listed))

    def get(self, name, kind="appwrapper"):
        return json.loads(self.kubectl("get", kind, name, "-o", "json"))

    def status(self, name):
        return self.get(name).get("status", {})

    def names(self, kind):
        return sorted(self.kubectl("get", kind, "-o", "name").split())

    def wait(self, what, condition, wait_s=60):
        end = time.monotonic() + wait_s
        while time.monotonic() < end:
            if condition():
                return
            time.sleep(0.1)
        log = ([line for line in self.server.log().split("\n") if " info request " not in line]
               if self.server else [])
        seen = self.kubectl("get", "appwrappers,jobs,pods", "-o", "yaml")
        self.fail("\n".join([f"{what}: not within {wait_s} s", *self.story(), *log[-40:],
                             seen[-6000:]]))

    def story(self):
        """What Muster has to say of its jobs."""
        if not self.server:
            return
        for one in self.server.api("GET", "/jobs?limit=20")[1]["jobs"]:
            yield str({key: one.get(key) for key in ("id", "state", "attempt", "reason", "why")})
            yield from self.muster("events", one["id"]).split("\n")

    def wait_state(self, name, *states, wait_s=60):
        self.wait(f"{name} in {states}", lambda: self.status(name).get("state") in states, wait_s)

    def waiting_jobs(self):
        status, page, _ = self.server.api("GET", "/jobs?state=Waiting")
        self.assertEqual(status, 200, page)
        return page["jobs"]

    def conditions(self, name):
        return [(one["type"], one.get("reason", "")) for one in
                self.status(name).get("conditions", []) if one["type"] != "Waiting"]


class Mcad(WithHub):
    """v1beta1, as MCAD's users know it."""

    def test_a_wrapped_job_is_dispatched_with_the_conditions_of_the_guide_and_completes(self):
        self.create(wrapper("one", (job("one", "true"), {"completionstatus": "Complete"})))
        self.wait_state("one", "Completed")
        self.assertEqual(self.conditions("one"), [
            ("Init", ""), ("Queueing", "AwaitingHeadOfLine"), ("HeadOfLine", "FrontOfQueue."),
            ("Dispatched", "AppWrapperRunnable"), ("Completed", "PodsCompleted")])
        status = self.status("one")
        self.assertIs(status["canrun"], False)
        self.assertEqual(status["Succeeded"], 2, status)
        self.assertEqual(self.names("jobs"), ["job.batch/one"], "it stays until its owner goes")
        self.kubectl("delete", "appwrapper", "one")
        self.wait("the Job is gone", lambda: not self.names("jobs"))

    def test_what_it_wraps_carries_mcads_labels_and_is_owned_by_it(self):
        self.create(wrapper("tags", job("tagged", "sleep")))
        self.wait_state("tags", "Running")
        labels = self.get("tagged", "job")["metadata"]["labels"]
        self.assertEqual(labels["appwrapper.mcad.ibm.com"], "tags")
        self.assertEqual(labels["resourceName"], "tagged")
        self.wait("pods run", lambda: self.status("tags").get("running") == 2)

    def test_one_that_does_not_fit_is_queued_with_a_reason_and_makes_nothing(self):
        self.create(wrapper("small", job("small", "sleep")),
                    wrapper("big", job("big", "sleep", pods=1, cpu="1000")))
        self.wait_state("small", "Running")
        self.wait("big backs off", lambda: self.status("big").get("queuejobstate") == "Backoff")
        self.assertEqual(self.conditions("big"), [
            ("Init", ""), ("Queueing", "AwaitingHeadOfLine"), ("HeadOfLine", "FrontOfQueue."),
            ("Backoff", "AppWrapperNotRunnable.")])
        status = self.status("big")
        self.assertEqual(status["state"], "Pending")
        backoff = [one for one in status["conditions"] if one["type"] == "Backoff"][0]
        self.assertEqual(backoff["message"], "Insufficient resources to dispatch AppWrapper.")
        why = [one for one in status["conditions"] if one["type"] == "Waiting"][0]
        self.assertRegex(why["message"], r"cpu|CPU|fit", why)
        self.assertEqual(self.names("jobs"), ["job.batch/small"])
        self.assertIn("Insufficient", self.kubectl("describe", "appwrapper", "big"))

    def test_muster_lists_explains_and_moves_them(self):
        self.server.close()
        self.begin_hub(beside="queues: [{name: default}, {name: other}]")
        self.create(wrapper("small", job("small", "sleep")),
                    wrapper("big", job("big", "sleep", pods=1, cpu="1000")))
        self.wait_state("small", "Running")
        self.wait("big backs off", lambda: self.status("big").get("queuejobstate") == "Backoff")
        rows = {line.split()[1]: line for line in self.muster("aw", "list").split("\n")[1:] if line}
        self.assertEqual(sorted(rows), ["big", "small"])
        self.assertRegex(rows["small"],
                         rf"^{self.namespace} +small +AppWrapper +Running +default +real ")
        self.assertRegex(rows["big"],
                         rf"^{self.namespace} +big +AppWrapper +Pending +default .*(cpu|CPU|fit)")
        self.muster("aw", "list", "-n", "elsewhere")
        self.assertIn("no AppWrappers", self.said)
        listed = json.loads(self.muster("aw", "list", "-o", "json"))
        self.assertEqual([(one["name"], one["state"]) for one in listed],
                         [("big", "Pending"), ("small", "Running")])
        for flags, names in ((("--state", "pending"), ["big"]), (("--queue", "other"), []),
                             (("--state", "Running,Completed", "--queue", "default"), ["small"])):
            listed = json.loads(self.muster("aw", "list", *flags, "-o", "json"))
            self.assertEqual([one["name"] for one in listed], names, flags)
        pages, cursor = [], ""
        while not pages or cursor:
            page = self.server.api("GET", f"/appwrappers?limit=1{cursor}")[1]
            pages.append([one["name"] for one in page["appwrappers"]])
            cursor = f"&cursor={page['next']}" if "next" in page else ""
        self.assertEqual(pages, [["big"], ["small"]])
        self.assertIn("big", self.muster("complete-names", "appwrappers").split())
        self.wait("they are counted", lambda: 'muster_appwrappers{state="Pending"} 1'
                  in self.server.get("/metrics")[1])
        self.assertIn("big is waiting\nwaits   can never start: 0 of 1 pod fit",
                      self.muster("aw", "explain", f"{self.namespace}/big"))
        self.assertIn("small is running", self.muster("aw", "explain", "small"))
        self.assertEqual(self.muster("aw", "move", "big", "other"), "big: queue other\n")
        self.wait("it is there", lambda: self.status("big")["muster"]["queue"] == "other")
        self.muster("aw", "explain", "none", code=1)
        self.assertIn("no AppWrapper none", self.said)
        self.muster("aw", "move", "big", "nowhere", code=2)
        self.assertIn("nowhere", self.said)

    @alone  # pods of others would be on its nodes when they go
    def test_while_the_hub_is_silent_nobody_says_that_there_is_none(self):
        with open(CLUSTER.file("admin.kubeconfig"), encoding="utf-8") as file:
            text = re.sub(r"https://[\w.:-]+", "https://127.0.0.1:1", file.read())
        silent = os.path.join(self.server.folder, "silent.kubeconfig")
        with open(silent, "w", encoding="utf-8") as file:
            file.write(text)
        self.server.terminate()
        self.begin_hub(kubeconfig=silent)
        path = f"/appwrappers/{self.namespace}/any"
        words = "cluster real has not told its AppWrappers yet"
        status, told, _ = self.server.api("GET", path)
        self.assertEqual(status, 503, told)
        self.assertIn(words, told["error"]["message"])
        self.assertEqual(self.server.api("GET", "/appwrappers")[1]["warnings"], [words])
        self.server.terminate()
        self.begin_hub()
        self.wait("now it is known that there is none",
                  lambda: self.server.api("GET", path)[0] == 404)

    def test_the_next_runs_when_the_first_is_deleted(self):
        room = {"room": self.namespace}
        CLUSTER.add_nodes(2, prefix=self.namespace, labels=room)
        for index in range(2):
            self.addCleanup(CLUSTER.request, "DELETE", f"/api/v1/nodes/{self.namespace}-{index}")

        def big(name):
            made = job(name, "sleep", pods=1, cpu="30")
            made["spec"]["template"]["spec"]["nodeSelector"] = room
            return wrapper(name, made)
        self.create(big("first"), big("second"))
        self.wait_state("first", "Running")
        self.wait_state("second", "Running")
        self.create(big("third"))
        self.wait("it backs off", lambda: self.status("third").get("queuejobstate") == "Backoff")
        self.kubectl("delete", "appwrapper", "first")
        self.wait_state("third", "Running")
        self.assertEqual(self.names("jobs"), ["job.batch/second", "job.batch/third"])

    def test_kubectl_wait_and_delete_in_the_foreground_work(self):
        self.create(wrapper("waited", job("waited", "sleep")))
        self.kubectl("wait", "--for=condition=Dispatched", "--timeout=60s", "appwrapper/waited")
        self.kubectl("delete", "appwrapper", "waited", "--cascade=foreground", "--timeout=60s")
        self.assertEqual(self.names("jobs,pods"), [])

    def test_one_that_is_deleted_while_it_waits_leaves_no_job_in_the_queue(self):
        self.create(wrapper("gone", job("gone", "sleep", pods=1, cpu="1000")))
        self.wait("it backs off", lambda: self.status("gone").get("queuejobstate") == "Backoff")
        muster_job = self.status("gone")["muster"]["job"]
        self.kubectl("delete", "appwrapper", "gone")
        self.wait("its job is cancelled",
                  lambda: self.server.job(muster_job)["state"] == "Cancelled")

    def test_one_that_cannot_be_made_fails_with_the_reason(self):
        other = job("elsewhere")
        other["metadata"]["namespace"] = "kube-system"
        self.create(wrapper("wrong", other))
        self.wait_state("wrong", "Failed")
        failed = [one for one in self.status("wrong")["conditions"] if one["type"] == "Failed"][0]
        self.assertEqual(failed["reason"], "ItemCreationFailure.")
        self.assertIn(f'resource namespace "kube-system" is different from AppWrapper namespace '
                      f'"{self.namespace}"', failed["message"])

    def test_a_server_that_is_killed_goes_on_where_it_was(self):
        self.create(wrapper("runs", job("runs", "sleep")),
                    wrapper("waits", job("waits", "sleep", pods=1, cpu="1000")))
        self.wait_state("runs", "Running")
        self.wait("one backs off", lambda: self.status("waits").get("queuejobstate") == "Backoff")
        uid = self.get("runs", "job")["metadata"]["uid"]
        self.server.kill()
        self.kubectl("delete", "appwrapper", "waits")
        self.create(wrapper("late", job("late", "true")))
        self.server.start()
        self.wait_state("late", "Completed")
        self.assertEqual(self.get("runs", "job")["metadata"]["uid"], uid)
        self.assertEqual(self.status("runs")["state"], "Running")
        self.wait("the job of the deleted one is cancelled", lambda: not self.waiting_jobs())

    def test_one_that_names_a_queue_that_is_not_there_waits_for_it(self):
        made = wrapper("early", (job("early"), {"completionstatus": "Complete"}))
        made["metadata"]["labels"] = {"muster.dev/queue": "later"}
        self.create(made)
        self.wait("it waits", lambda: 'there is no queue "later"' in str(self.status("early")))
        self.assertEqual(self.status("early")["state"], "Pending")
        self.muster("queue", "create", "later")
        self.wait_state("early", "Completed")

    def test_min_available_requeues_what_does_not_come_up(self):
        pending = job("slow", "sleep", pods=2, cpu="1")
        pending["spec"]["template"]["spec"]["schedulerName"] = "nobody"
        self.create(wrapper("slow", pending, schedulingSpec={
            "minAvailable": 2, "requeuing": {"timeInSeconds": 2, "growthType": "none"}}))
        self.wait("it was requeued", lambda: self.status("slow").get("numberOfRequeueings", 0) > 0)
        self.assertIn(("PreemptCandidate", "MinPodsNotRunning"), self.conditions("slow"))

    def apply(self, made, *flags):
        return self.kubectl("apply", *flags, "-f", "-", stdin=json.dumps(made))

    def test_kubectl_apply_works_and_again_with_changes_while_it_waits(self):
        made = wrapper("applied", job("applied", "sleep", pods=1, cpu="1000"))
        self.assertIn("created", self.apply(made))
        self.wait("it backs off",
                  lambda: self.status("applied").get("queuejobstate") == "Backoff")
        first = self.status("applied")["muster"]["job"]
        self.assertIn("unchanged", self.apply(made))
        item = made["spec"]["resources"]["GenericItems"][0]
        item["generictemplate"] = job("other", "sleep", pods=2, cpu="1")
        self.assertIn("configured", self.apply(made))
        self.wait_state("applied", "Running")
        self.assertEqual(self.names("jobs"), ["job.batch/other"])
        self.assertEqual(self.server.job(first)["state"], "Cancelled")
        self.wait("pods run", lambda: self.status("applied").get("running") == 2)
        item["generictemplate"] = job("third", "sleep", pods=2, cpu="1")
        self.apply(made)
        self.wait("that is told", lambda: "ChangeIgnored" in self.kubectl(
            "describe", "appwrapper", "applied"))
        self.assertEqual(self.names("jobs"), ["job.batch/other"], "what runs is what it was")
        self.kubectl("delete", "appwrapper", "applied", "--timeout=60s")
        self.wait("nothing is left", lambda: not self.names("jobs,pods"))

    def test_a_change_that_was_made_while_no_server_ran_is_followed(self):
        made = wrapper("late", job("late", "sleep", pods=1, cpu="1000"))
        self.apply(made, "--server-side")
        self.wait("it backs off", lambda: self.status("late").get("queuejobstate") == "Backoff")
        self.server.terminate()
        made["spec"]["resources"]["GenericItems"][0]["generictemplate"] = job("late", "sleep")
        self.apply(made, "--server-side")
        self.server.start()
        self.wait_state("late", "Running")
        self.wait("one job is left", lambda: len(
            self.server.api("GET", "/jobs?state=Running")[1]["jobs"]) == 1)

    def test_a_change_that_does_not_read_is_told_and_its_job_stays_what_it_was(self):
        made = wrapper("moved", job("moved", "sleep", pods=1, cpu="1000"))
        self.apply(made, "--server-side")
        self.wait("it backs off", lambda: self.status("moved").get("queuejobstate") == "Backoff")
        before = self.status("moved")["muster"]["job"]
        template = made["spec"]["resources"]["GenericItems"][0]["generictemplate"]
        template["metadata"]["namespace"] = "elsewhere"
        self.apply(made, "--server-side")
        words = "its new spec is not followed"
        self.wait("an event tells it",
                  lambda: words in self.kubectl("describe", "appwrapper", "moved"))
        self.assertIn(words, self.muster("aw", "show", f"{self.namespace}/moved"))
        self.assertEqual([one["id"] for one in self.waiting_jobs()], [before])
        del template["metadata"]["namespace"]
        self.apply(made, "--server-side")
        self.wait("nothing is wrong any more", lambda: words not in self.muster(
            "aw", "show", f"{self.namespace}/moved"))
        self.assertEqual([one["id"] for one in self.waiting_jobs()], [before], "it is as before")

    def test_one_that_does_not_read_any_more_after_a_restart_goes_on_with_its_numbers(self):
        made = wrapper("runs", job("runs", "sleep"))
        self.apply(made, "--server-side")
        self.wait("its pods run", lambda: self.status("runs").get("running") == 2)
        self.assertEqual(self.status("runs")["totalcpu"], 2000)
        self.server.terminate()
        template = made["spec"]["resources"]["GenericItems"][0]["generictemplate"]
        template["metadata"]["namespace"] = "elsewhere"
        self.apply(made, "--server-side")
        self.server.start()
        self.wait("an event tells it", lambda: "its new spec is not followed" in self.kubectl(
            "describe", "appwrapper", "runs"))
        status = self.status("runs")
        self.assertEqual((status["state"], status["totalcpu"]), ("Running", 2000))
        self.kubectl("delete", "appwrapper", "runs", "--timeout=60s")
        self.wait("nothing is left", lambda: not self.names("jobs,pods"))

    def test_another_user_makes_it_another_job_also_while_no_server_runs(self):
        made = wrapper("theirs", job("theirs", "sleep", pods=1, cpu="1000"))
        made["metadata"]["labels"] = {"workload.codeflare.dev/user": "ann"}
        self.create(made)
        users = lambda: [one["user"] for one in self.waiting_jobs()]
        self.wait("it waits", lambda: users() == ["ann"])

        def give_to(user):
            self.kubectl("label", "appwrapper", "theirs", "--overwrite",
                         f"workload.codeflare.dev/user={user}")
        give_to("bea")
        self.wait("it is hers", lambda: users() == ["bea"])
        self.server.terminate()
        give_to("cem")
        self.server.start()
        self.wait("it is his", lambda: users() == ["cem"])

    def test_a_priority_that_changed_while_no_server_ran_is_followed(self):
        made = wrapper("late", job("late", "sleep", pods=1, cpu="1000"), priority=5)
        self.create(made)
        self.wait("it backs off", lambda: self.status("late").get("queuejobstate") == "Backoff")
        job_id = self.status("late")["muster"]["job"]
        self.assertEqual(self.server.job(job_id)["priority"], 5)
        self.server.terminate()
        self.kubectl("patch", "appwrapper", "late", "--type=merge", "-p",
                     '{"spec": {"priority": 9}}')
        self.server.start()
        self.wait("its job has it", lambda: self.server.job(job_id)["priority"] == 9)
        self.wait("so has the list", lambda: [
            one["priority"] for one in self.server.api("GET", "/appwrappers")[1]["appwrappers"]
        ] == [9])

    @alone  # or kubectl means another kind by the same word
    def test_one_of_the_old_group_is_dispatched(self):
        """Without kubectl, which would mean those of the old group by `appwrapper` from then on."""
        crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        self.server.terminate()
        install_crds("--mcad-ibm-com")
        self.addCleanup(CLUSTER.request, "DELETE", f"{crds}/appwrappers.mcad.ibm.com")
        self.server.start()
        old = wrapper("old", (job("old"), {"completionstatus": "Complete"}))
        old["apiVersion"] = "mcad.ibm.com/v1beta1"
        path = f"/apis/mcad.ibm.com/v1beta1/namespaces/{self.namespace}/appwrappers"
        CLUSTER.create(path, old)
        self.wait("it is completed", lambda: CLUSTER.get(f"{path}/old")[1].get(
            "status", {}).get("state") == "Completed")
        listed = CLUSTER.get(f"/apis/batch/v1/namespaces/{self.namespace}/jobs")[1]["items"]
        self.assertEqual([one["metadata"]["name"] for one in listed], ["old"])
        CLUSTER.request("DELETE", f"{path}/old")
        self.wait("nothing is left", lambda: not CLUSTER.get(
            f"/apis/batch/v1/namespaces/{self.namespace}/jobs")[1]["items"])

    def test_a_wrapped_deployment_runs_on(self):
        self.create(wrapper("web", deployment("web")))
        self.wait("both pods run", lambda: self.status("web").get("running") == 2)
        self.assertEqual(self.status("web")["state"], "Running")


class SumsAlone(WithHub):
    """The profile `mcad`, which asks nothing of a single node."""
    profile = "mcad"

    def test_why_pods_do_not_start_is_on_the_object(self):
        homeless = job("homeless", "sleep", pods=2)
        homeless["spec"]["template"]["spec"]["nodeSelector"] = {"nowhere": "to-be-found"}
        self.create(wrapper("homeless", homeless))
        def pods():
            return self.status("homeless").get("pendingpodconditions", [])
        self.wait("it is told of both", lambda: len({one["podname"] for one in pods()}) == 2)
        for told in pods():
            self.assertIn("homeless-", told["podname"])
            self.assertEqual([(one["type"], one["status"], one["reason"])
                              for one in told["conditions"]],
                             [("PodScheduled", "False", "Unschedulable")], told)
        self.wait("it is an event too", lambda: "PodsDoNotStart" in self.kubectl(
            "describe", "appwrapper", "homeless"))


    def test_what_is_there_already_and_has_no_pods_counts_as_made(self):
        shared = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"},
                  "data": {"of": "somebody"}}
        self.create(shared)
        uid = self.get("shared", "configmap")["metadata"]["uid"]
        mine = {**shared, "data": {"of": "me"}}
        self.create(wrapper("uses", mine, (job("uses"), {"completionstatus": "Complete"})))
        self.wait_state("uses", "Completed")
        self.kubectl("delete", "appwrapper", "uses", "--timeout=60s")
        self.wait("its job is gone", lambda: not self.names("jobs,pods"))
        left = self.get("shared", "configmap")
        self.assertEqual((left["metadata"]["uid"], left["data"]), (uid, {"of": "somebody"}))
        self.create(job("taken", "sleep"), wrapper("clash", job("taken", "sleep")))
        self.wait_state("clash", "Failed")


class Successor(WithHub):
    """v1beta2."""

    def wait_phase(self, name, phase):
        self.wait(f"{name} is {phase}", lambda: self.status(name).get("phase") == phase)

    def test_phases_from_suspended_to_succeeded(self):
        self.create(components("done", job("done", "true")),
                    components("big", job("big", "sleep", pods=1, cpu="1000")))
        self.wait_phase("done", "Succeeded")
        self.wait_phase("big", "Suspended")
        self.kubectl("wait", "--for=condition=Waiting", "--timeout=60s", "appwrapper/big")
        self.assertEqual(self.names("jobs"), ["job.batch/done"])

    def test_one_that_runs_says_that_its_pods_are_ready(self):
        self.create(components("runs", job("runs", "sleep")))
        self.kubectl("wait", "--for=condition=PodsReady", "--timeout=60s", "appwrapper/runs")
        self.assertEqual(self.status("runs")["phase"], "Running")
        self.kubectl("delete", "appwrapper", "runs", "--timeout=60s")
        self.wait("nothing is left", lambda: not self.names("jobs,pods"))

    def test_suspend_holds_it(self):
        self.create(components("held", job("held", "sleep"), suspend=True))
        self.wait_phase("held", "Suspended")
        time.sleep(1)
        self.assertEqual(self.names("jobs"), [])
        self.kubectl("patch", "appwrapper", "held", "--type=merge", "-p",
                     '{"spec": {"suspend": false}}')
        self.wait_phase("held", "Running")

    def suspend(self, name, value):
        self.kubectl("patch", "appwrapper", name, "--type=merge", "-p",
                     json.dumps({"spec": {"suspend": value}}))

    def condition(self, name, kind):
        found = [one for one in self.status(name).get("conditions", []) if one["type"] == kind]
        return (found[0]["status"], found[0]["reason"]) if found else None

    def test_one_that_runs_is_suspended_and_resumed(self):
        """Also with a component that is a Deployment; nothing of it counts as a retry."""
        self.create(components("runs", job("runs", "sleep"), deployment("web")))
        self.kubectl("wait", "--for=condition=PodsReady", "--timeout=60s", "appwrapper/runs")
        self.suspend("runs", True)
        self.wait_phase("runs", "Suspended")
        self.assertEqual(self.names("jobs,deployments,pods"), [])
        for kind in ("QuotaReserved", "ResourcesDeployed", "PodsReady"):
            self.assertEqual(self.condition("runs", kind), ("False", "Suspended"), kind)
        self.assertEqual(self.condition("runs", "DeletingResources"),
                         ("False", "DeletionComplete"))
        held = self.server.api("GET", "/jobs?state=Held")[1]["jobs"]
        self.assertEqual([(one["why"], one["failures"]) for one in held], [("Held", 0)])
        self.suspend("runs", False)
        self.wait("it runs again", lambda: self.status("runs")["phase"] == "Running")
        self.kubectl("wait", "--for=condition=PodsReady", "--timeout=60s", "appwrapper/runs")
        self.assertEqual(self.names("jobs"), ["job.batch/runs"])
        status = self.status("runs")
        self.assertNotIn("resettingCount", status)
        self.assertNotIn("suspend", status["muster"])

    def test_suspend_that_changed_while_no_server_ran_is_followed(self):
        self.create(components("runs", job("runs", "sleep")),
                    components("stays", job("stays", "sleep")))
        self.wait_phase("runs", "Running")
        self.wait_phase("stays", "Running")
        self.server.terminate()
        self.suspend("runs", True)
        self.server.start()
        self.wait_phase("runs", "Suspended")
        self.assertEqual(self.names("jobs"), ["job.batch/stays"])
        self.server.terminate()
        self.suspend("runs", False)
        self.server.start()
        self.wait_phase("runs", "Running")

    def test_a_pod_that_does_not_go_is_forced_away_when_its_time_is_over(self):
        stubborn = job("stubborn", "stubborn", pods=1)
        stubborn["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 3600
        self.create(self.annotated("stubborn", stubborn,
                                   forcefulDeletionGracePeriodDuration="4s"))
        self.wait_phase("stubborn", "Running")
        self.wait("its pod runs", lambda: "Running" in self.kubectl("get", "pods"))
        self.suspend("stubborn", True)
        self.wait("it is being stopped",
                  lambda: self.status("stubborn").get("phase") == "Suspending")
        self.assertEqual(len(self.names("pods")), 1, "its grace is an hour")
        self.wait_phase("stubborn", "Suspended")
        self.assertEqual(self.names("jobs,pods"), [])

    @alone  # pods of others would be on its nodes when they go
    def test_gpus_keep_away_from_nodes_that_autopilot_marked_and_leave_them(self):
        room = {"room": self.namespace}
        health = "autopilot.ibm.com/gpuhealth"
        CLUSTER.add_nodes(3, prefix=self.namespace, gpus=8, labels=room)
        for index in range(3):
            self.addCleanup(CLUSTER.request, "DELETE", f"/api/v1/nodes/{self.namespace}-{index}")
        testing, well, warned = (f"{self.namespace}-{index}" for index in range(3))
        self.kubectl("label", "node", testing, f"{health}=TESTING")
        self.kubectl("label", "node", warned, f"{health}=WARN")
        train = job("train", "sleep", pods=1)
        train["spec"]["template"]["spec"]["nodeSelector"] = room
        train["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"] = {
            "nvidia.com/gpu": "1"}
        self.create(self.annotated("train", train, retryPausePeriodDuration="5s"))
        self.kubectl("wait", "--for=condition=PodsReady", "--timeout=60s", "appwrapper/train")

        def nodes():
            pods = json.loads(self.kubectl("get", "pods", "-o", "json"))["items"]
            return [one["spec"].get("nodeName") for one in pods]
        self.assertEqual(nodes(), [well])
        self.kubectl("label", "node", well, f"{health}=EVICT")
        self.wait("it is taken off", lambda: self.condition("train", "Unhealthy") ==
                  ("True", "AutopilotNoExecute"))
        self.wait("it runs on the node that is left", lambda: nodes() == [warned])
        self.kubectl("wait", "--for=condition=PodsReady", "--timeout=60s", "appwrapper/train")
        self.assertNotIn("resettingCount", self.status("train"))

    def test_a_component_that_somebody_deletes_fails_it(self):
        self.create(components("parts", job("parts", "sleep"), deployment("web")))
        self.kubectl("wait", "--for=condition=PodsReady", "--timeout=60s", "appwrapper/parts")
        self.kubectl("delete", "deployment", "web")
        self.wait_phase("parts", "Failed")
        self.assertEqual(self.condition("parts", "Unhealthy"), ("True", "MissingComponent"))
        self.assertNotIn("resettingCount", self.status("parts"))
        self.wait("the other is removed", lambda: not self.names("jobs,deployments,pods"))

    def test_a_component_that_is_deleted_while_no_server_runs_fails_it_alike(self):
        self.create(components("parts", job("parts", "sleep"), deployment("web")))
        self.kubectl("wait", "--for=condition=PodsReady", "--timeout=60s", "appwrapper/parts")
        self.server.kill()
        self.kubectl("delete", "deployment", "web")
        self.wait("its pods are gone", lambda: len(self.names("pods")) == 2)
        self.server.start()
        self.wait_phase("parts", "Failed")
        self.assertEqual(self.condition("parts", "Unhealthy"), ("True", "MissingComponent"))

    def test_the_pods_of_what_runs_are_counted_after_a_restart(self):
        self.create(components("runs", job("runs", "sleep")))
        self.kubectl("wait", "--for=condition=PodsReady", "--timeout=60s", "appwrapper/runs")
        self.server.kill()
        self.server.start()
        self.wait("its pods are known", lambda: [2] == [
            one["pods"]["running"] for one in json.loads(self.muster("aw", "list", "-o", "json"))])

    def test_a_component_without_pods_that_somebody_deletes_fails_it_too(self):
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "front"},
                   "spec": {"ports": [{"port": 80}]}}
        settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}
        self.create(components("parts", job("part", "sleep"), service, settings),
                    components("ended", job("ended"), {**service, "metadata": {"name": "old"}}))
        self.kubectl("wait", "--for=condition=PodsReady", "--timeout=60s", "appwrapper/parts")
        self.wait_phase("ended", "Succeeded")
        self.kubectl("delete", "service", "front", "old")
        self.wait_phase("parts", "Failed")
        self.assertEqual(self.condition("parts", "Unhealthy"), ("True", "MissingComponent"))
        self.wait("the others are removed", lambda: self.names("jobs,services") == [
            "job.batch/ended"])
        self.assertEqual(self.status("ended")["phase"], "Succeeded")

    def annotated(self, name, *templates, **values):
        """With annotations of v1beta2: retryLimit="0"."""
        made = components(name, *templates)
        made["metadata"]["annotations"] = {
            f"workload.codeflare.dev.appwrapper/{key}": value for key, value in values.items()}
        return made

    def test_what_fails_is_tried_again_after_a_pause_until_the_limit(self):
        self.create(self.annotated("bad", job("bad", "false"), retryLimit="2",
                                   retryPausePeriodDuration="1s"))
        self.wait("it is reset", lambda: self.status("bad").get("resettingCount", 0) >= 1)
        self.wait_phase("bad", "Failed")
        status = self.status("bad")
        self.assertEqual(status["resettingCount"], 2)
        self.assertIn("requeued 2 times, the most it may be", str(status))
        self.wait("what it wrapped is removed", lambda: not self.names("jobs,pods"))

    def test_a_server_that_is_killed_in_the_pause_knows_how_often_it_was_tried(self):
        self.create(self.annotated("bad", job("bad", "false"), retryLimit="2",
                                   retryPausePeriodDuration="4s"))
        for count in (1, 2):
            self.wait(f"reset {count} pauses", lambda one=count: (
                self.status("bad").get("phase"), self.status("bad").get("resettingCount")) == (
                    "Resetting", one))
            self.wait("nothing of it is out", lambda: not self.names("jobs"))
            self.server.kill()
            self.server.start()
        self.wait_phase("bad", "Failed")
        status = self.status("bad")
        self.assertEqual(status["resettingCount"], 2)
        self.assertIn("requeued 2 times, the most it may be", str(status))
        self.assertEqual(self.server.job(status["muster"]["job"])["attempt"], 3)

    def test_what_is_gone_when_the_server_that_took_it_back_is_back_was_deleted_by_nobody(self):
        gated = job("gated", pods=1)
        pod = gated["spec"]["template"]
        pod["metadata"] = {"finalizers": ["example.com/slow"]}
        pod["spec"]["schedulingGates"] = [{"name": "example.com/closed"}]
        self.create(self.annotated("gated", gated, warmupGracePeriodDuration="2s",
                                   retryPausePeriodDuration="1h"))
        self.wait("its Job is being deleted", lambda: "deletionTimestamp" in self.kubectl(
            "get", "jobs", "-o", "json"))
        self.wait_phase("gated", "Resetting")
        self.assertEqual(self.condition("gated", "DeletingResources"),
                         ("True", "DeletionInitiated"))
        self.server.kill()
        self.kubectl("patch", *self.names("pods"), "--type=merge", "-p",
                     '{"metadata": {"finalizers": null}}')
        self.wait("nothing of it is left", lambda: not self.names("jobs,pods"))
        self.server.start()
        self.wait("all of it is gone", lambda: self.condition("gated", "DeletingResources") == (
            "False", "DeletionComplete"))
        self.assertEqual(self.status("gated")["phase"], "Resetting")
        self.assertEqual(self.condition("gated", "Unhealthy"), ("True", "InsufficientPodsReady"))
        self.assertEqual(self.status("gated")["resettingCount"], 1)

    def test_of_its_spec_nothing_changes_but_suspend_and_what_others_add(self):
        made = components("fixed", job("fixed", "sleep", pods=1, cpu="1000"), job("other"))
        made["spec"]["components"][0]["podSets"] = [
            {"path": "template.spec.template", "replicas": 1}]
        self.create(made, wrapper("free", job("free", "sleep", pods=1, cpu="1000")))
        self.wait_phase("fixed", "Suspended")

        def patched(name, code, *path, version="v1beta2", **operation):
            return self.kubectl(
                "patch", f"appwrappers.{version}.workload.codeflare.dev", name, "--type=json",
                "-p", json.dumps([{"op": "add", "path": "/spec/" + "/".join(path), **operation}]),
                code=code)
        first = ("components", "0")
        for version in ("v1beta1", "v1beta2"):  # whichever of the two is asked
            for field, path, operation in (
                    ("template", (*first, "template", "spec", "parallelism"), {"value": 2}),
                    ("template", (*first, "template", "metadata", "labels"), {"value": {"a": "b"}}),
                    ("template", ("components", "1"), {"op": "remove"}),
                    ("podSets", (*first, "podSets", "0", "replicas"), {"value": 2}),
                    ("managedBy", ("managedBy",), {"value": "example.com/other"})):
                self.assertIn(f"{field}: attempt to change immutable field", patched(
                    "fixed", 1, *path, version=version, **operation))
        patched("fixed", 0, *first, "annotations", value={"a": "b"})
        patched("fixed", 0, *first, "podSetInfos", value=[{"labels": {"a": "b"}}])
        patched("fixed", 0, "suspend", value=True)
        item = ("resources", "GenericItems", "0", "generictemplate", "spec", "parallelism")
        for version, pods in (("v1beta1", 2), ("v1beta2", 3)):
            patched("free", 0, *item, version=version, value=pods)
        self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-",
                     stdin=json.dumps(made))
        self.assertEqual(self.get("fixed")["spec"]["components"][0]["template"],
                         made["spec"]["components"][0]["template"])

    def test_a_terminal_exit_code_is_not_tried_again(self):
        self.create(
            self.annotated("bad", job("bad", "false"), terminalExitCodes="1,7"),
            self.annotated("other", job("other", "false"), retryableExitCodes="7"),
            self.annotated("kept", job("kept", "false"), retryLimit="0",
                           deletionOnFailureGracePeriodDuration="1h"))
        for name in ("bad", "other", "kept"):
            self.wait_phase(name, "Failed")
            self.assertNotIn("resettingCount", self.status(name))
        self.assertIn("exit code 1 is not worth another try", str(self.status("bad")))
        self.wait("only the kept one is there", lambda: self.names("jobs") == ["job.batch/kept"])
        self.server.kill()
        self.server.start()
        self.create(components("after", job("after")))
        self.wait_phase("after", "Succeeded")
        self.assertEqual(self.names("jobs"), ["job.batch/after", "job.batch/kept"])

    def test_a_kept_failure_says_the_same_after_a_restart_until_its_own_time_is_over(self):
        def kept(name, *items):
            return self.annotated(name, *items, retryLimit="0",
                                  deletionOnFailureGracePeriodDuration="40s")
        self.create(kept("ended", job("ended", "false")),
                    kept("lives", job("bad", "false"), deployment("web")),
                    kept("lacks", deployment("one"), deployment("two")))
        self.wait_phase("lacks", "Running")
        self.kubectl("delete", "deployment", "two")
        names = {"ended": "FailedComponent", "lives": "FailedComponent",
                 "lacks": "MissingComponent"}
        for name, why in names.items():
            self.wait_phase(name, "Failed")
            self.assertEqual(self.condition(name, "Unhealthy"), ("True", why))
        self.server.kill()
        before = {name: self.status(name) for name in names}
        self.server.start()
        self.create(components("after", job("after")))
        self.wait_phase("after", "Succeeded")
        time.sleep(3)  # what is seen of them is told within a second
        self.assertEqual({name: self.status(name) for name in names}, before)
        for name, why in names.items():
            self.wait(f"what {name} kept is gone", lambda one=name: self.condition(
                one, "DeletingResources") == ("False", "DeletionComplete"))
            self.assertEqual(self.status(name)["phase"], "Failed")
            self.assertEqual(self.condition(name, "Unhealthy"), ("True", why))
        self.assertEqual(self.names("jobs,deployments"), ["job.batch/after"])

    def test_what_failed_is_kept_for_a_while_also_where_pods_run_unless_it_is_suspended(self):
        self.create(self.annotated("kept", job("bad", "false"), deployment("web"), retryLimit="0",
                                   deletionOnFailureGracePeriodDuration="1h"))
        self.wait_phase("kept", "Failed")
        self.assertEqual(self.condition("kept", "Unhealthy"), ("True", "FailedComponent"))
        self.assertEqual(self.condition("kept", "DeletingResources"), ("False", "DeletionPaused"))
        for of in ("QuotaReserved", "ResourcesDeployed"):
            self.assertEqual(self.condition("kept", of), ("True", "Resuming"))
        self.assertEqual(self.names("jobs,deployments"), ["deployment.apps/web", "job.batch/bad"])
        job_id = self.status("kept")["muster"]["job"]
        self.assertEqual(self.server.job(job_id)["state"], "Running", "its pods take room")
        self.kubectl("patch", "appwrapper", "kept", "--type=merge", "-p",
                     '{"spec": {"suspend": true}}')
        self.wait("nothing is left", lambda: not self.names("jobs,deployments,pods"))
        self.wait("that is said", lambda: self.condition("kept", "ResourcesDeployed") == (
            "False", "Failed"))
        self.assertEqual(self.status("kept")["phase"], "Failed")
        self.assertEqual(self.server.job(job_id)["state"], "Failed")

    def test_a_job_that_is_done_does_not_end_the_deployment_beside_it(self):
        self.create(components("both", job("part"), deployment("web")))
        self.wait("the Job is complete", lambda: "Complete" in str(
            self.get("part", "job")["status"]) if self.names("jobs") else False)
        self.wait("its pods are ready", lambda: self.condition("both", "PodsReady") == (
            "True", "SufficientPodsReady"))
        time.sleep(2)
        self.assertEqual(self.status("both")["phase"], "Running")

    def test_one_that_succeeded_goes_when_its_time_to_live_is_over(self):
        self.create(self.annotated("brief", job("brief"), successTTLDuration="3s"),
                    components("long", job("long")))
        self.wait_phase("long", "Succeeded")
        self.wait("it is gone", lambda: self.names("appwrappers,jobs") == [
            "appwrapper.workload.codeflare.dev/long", "job.batch/long"])
        self.kubectl("annotate", "appwrapper", "long",
                     "workload.codeflare.dev.appwrapper/successTTLDuration=1s")
        self.wait("it is followed", lambda: not self.names("appwrappers,jobs"))

    def test_its_components_are_told(self):
        self.create(components("parts", job("parts", "sleep"), deployment("web")))
        self.wait_phase("parts", "Running")
        told = self.status("parts")["componentStatus"]
        self.assertEqual([(one["kind"], one["name"], one["podSets"]) for one in told], [
            ("Job", "parts", [{"path": "template.spec.template", "replicas": 2}]),
            ("Deployment", "web", [{"path": "template.spec.template", "replicas": 2}])])
        self.assertEqual([one["conditions"][0]["status"] for one in told], ["True", "True"])

    @alone
    def test_where_kueue_is_what_has_its_label_is_kueues(self):
        CLUSTER.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "localqueues.kueue.x-k8s.io"}, "spec": {
                "group": "kueue.x-k8s.io", "scope": "Namespaced",
                "names": {"plural": "localqueues", "kind": "LocalQueue"},
                "versions": [{"name": "v1beta1", "served": True, "storage": True,
                              "schema": {"openAPIV3Schema": {"type": "object"}}}]}})
        self.addCleanup(CLUSTER.request, "DELETE", "/apis/apiextensions.k8s.io/v1/"
                        "customresourcedefinitions/localqueues.kueue.x-k8s.io")
        self.kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd",
                     "localqueues.kueue.x-k8s.io")
        time.sleep(10)  # it is looked for so often
        made = []
        for suffix in ("", "2"):
            theirs = components(f"theirs{suffix}", job(f"theirs{suffix}"))
            theirs["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
            self.create(theirs, components(f"ours{suffix}", job(f"ours{suffix}")))
            self.wait_phase(f"ours{suffix}", "Succeeded")
            self.assertEqual(self.status(f"theirs{suffix}"), {})
            made.append(f"job.batch/ours{suffix}")
            self.assertEqual(self.names("jobs"), made)
            self.server.terminate()
            self.server.start()
        self.wait("it was seen again", lambda: "theirs" in self.muster("aw", "list"))
        self.kubectl("label", "appwrapper", "theirs", "kueue.x-k8s.io/queue-name-")
        self.wait_phase("theirs", "Succeeded")
        self.assertEqual(self.status("theirs2"), {})

    def test_one_that_others_manage_is_left_alone(self):
        self.create(components("theirs", job("theirs", "true"), managedBy="example.com/other"))
        time.sleep(2)
        self.assertEqual(self.status("theirs"), {})
        self.assertEqual(self.names("jobs"), [])
        self.create(components("upstream", job("upstream"),
                               managedBy="workload.codeflare.dev/appwrapper-controller"))
        self.wait_phase("upstream", "Succeeded")

    def test_one_that_others_managed_is_taken_when_they_give_it_up(self):
        self.create(wrapper("given", (job("given"), {"completionstatus": "Complete"}),
                            managedBy="example.com/other"))
        self.wait("it is seen", lambda: "given" in self.muster("aw", "list"))
        self.assertEqual(self.status("given"), {})
        self.kubectl("patch", "appwrapper", "given", "--type=merge", "-p",
                     '{"spec": {"managedBy": null}}')
        self.wait_state("given", "Completed")


class LeftBehind(WithHub):
    """What another controller left, before the server begins."""

    def setUp(self):
        self.binary = muster_test.BINARY
        self.make_namespace(CLUSTER)  # and the server begins when all is as it was left

    def leave(self, made, **status):
        """Creates the AppWrapper with the status that its controller wrote; its uid."""
        self.create(made)
        self.kubectl("patch", "appwrapper", made["metadata"]["name"], "--subresource=status",
                     "--type=merge", "-p", json.dumps({"status": status}))
        return self.get(made["metadata"]["name"])["metadata"]["uid"]

    def leave_running(self, made, item, **status):
        """With its item, as its controller made it, and the item's pods running."""
        name = made["metadata"]["name"]
        uid = self.leave(made, **status)
        item["metadata"].update(
            labels={"appwrapper.mcad.ibm.com": name, "resourceName": item["metadata"]["name"]},
            ownerReferences=[{"apiVersion": made["apiVersion"], "kind": "AppWrapper",
                              "name": name, "uid": uid, "controller": True,
                              "blockOwnerDeletion": True}])
        self.create(item)
        self.wait("its pods run", lambda: len(self.running()) == 2)
        return self.running()

    def running(self):
        return sorted(pod["metadata"]["uid"] for pod in self.pods()
                      if pod["status"].get("phase") == "Running")

    def pods(self):
        return json.loads(self.kubectl("get", "pods", "-o", "json"))["items"]

    def queued(self, state):
        return {"state": "Pending", "queuejobstate": state, "filterignore": True,
                "sender": "before [backoff] - Rejoining", "conditions": [
                    {"type": "Queueing", "status": "True", "reason": "AwaitingHeadOfLine"}]}

    def dispatched(self, state="Running"):
        return {"state": state, "queuejobstate": "Dispatched", "canrun": True, "conditions": [
            {"type": "Dispatched", "status": "True", "reason": "AppWrapperRunnable"}]}

    def check_taken_over(self, name, before):
        """The same pods run on, and belong to the AppWrapper's job."""
        self.wait("it is taken over", lambda: all(
            "muster.dev/job" in pod["metadata"]["labels"] for pod in self.pods()))
        self.wait("its job runs", lambda: [
            one["state"] for one in self.server.api("GET", "/jobs")[1]["jobs"]] == ["Running"])
        self.assertEqual(self.running(), before)
        self.assertTrue(all("muster.dev/adopting" not in pod["metadata"]["labels"]
                            for pod in self.pods()))
        self.kubectl("delete", "appwrapper", name, "--timeout=60s")
        self.wait("nothing is left", lambda: not self.names("jobs,deployments,pods,configmaps")
                  or self.names("jobs,deployments,pods,configmaps")
                  == ["configmap/kube-root-ca.crt"])


class TakenOver(LeftBehind):
    """AppWrappers that MCAD, or its successor, left behind when it was switched off."""

    def test_those_that_waited_run(self):
        for name, state in (("a", "Queueing"), ("b", "HeadOfLine"), ("c", "Backoff")):
            self.leave(wrapper(name, (job(name), {"completionstatus": "Complete"})),
                       **self.queued(state))
        self.begin_hub()
        for name in "abc":
            self.wait_state(name, "Completed")

    def test_those_that_ended_are_left_alone(self):
        left = {}
        for state in ("Completed", "Failed", "Deleted"):
            self.leave(wrapper(state.lower(), job(state.lower())), state=state,
                       queuejobstate=state)
            left[state.lower()] = self.status(state.lower())
        self.begin_hub()
        self.create(wrapper("canary", (job("canary"), {"completionstatus": "Complete"})))
        self.wait_state("canary", "Completed")
        self.assertEqual({name: self.status(name) for name in left}, left)
        self.assertEqual(self.names("jobs"), ["job.batch/canary"])

    def test_a_job_that_ran_runs_on_and_ends_with_its_appwrapper(self):
        made = wrapper("run", (job("run", "sleep"), {"completionstatus": "Complete"}))
        before = self.leave_running(made, job("run", "sleep"), **self.dispatched())
        self.begin_hub()
        self.check_taken_over("run", before)

    def forbid_marks(self):
        """Nobody takes over a pod of this namespace until the policy is deleted; its name."""
        name = f"no-marks-{self.namespace}"
        meta = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": name}}
        self.create(
            {"kind": "ValidatingAdmissionPolicy", **meta, "spec": {
                "matchConstraints": {
                    "namespaceSelector": {"matchLabels": {
                        "kubernetes.io/metadata.name": self.namespace}},
                    "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"],
                                       "operations": ["UPDATE"], "resources": ["pods"]}]},
                "validations": [{
                    "expression": "!has(object.metadata.labels) || "
                                  "!('muster.dev/adopting' in object.metadata.labels)",
                    "message": "no marks today"}]}},
            {"kind": "ValidatingAdmissionPolicyBinding", **meta, "spec": {
                "policyName": name, "validationActions": ["Deny"]}})
        self.addCleanup(self.allow_marks, name)
        self.wait("it is in force", lambda: "no marks today" in self.kubectl(
            "label", "pods", "--all", "muster.dev/adopting=x", "--dry-run=server", code=None))
        return name

    def allow_marks(self, name):
        for kind in ("validatingadmissionpolicybinding", "validatingadmissionpolicy"):
            self.kubectl("delete", kind, name, "--ignore-not-found")

    def test_why_what_it_left_cannot_be_taken_over_is_said_until_it_can_be(self):
        made = wrapper("run", (job("run", "sleep"), {"completionstatus": "Complete"}))
        before = self.leave_running(made, job("run", "sleep"), **self.dispatched())
        policy = self.forbid_marks()
        self.begin_hub()
        words = "what another controller made of it cannot be taken over"
        self.wait("the list says it",
                  lambda: words in str(self.server.api("GET", "/appwrappers")[1]))
        self.wait("an event says it", lambda: "CannotBeTakenOver" in self.kubectl(
            "describe", "appwrapper", "run"))
        self.assertEqual(self.status("run")["state"], "Running", "its status is left as it is")
        self.allow_marks(policy)
        self.check_taken_over("run", before)
        self.assertEqual(self.server.log().count(words), 1)

    def test_one_of_v1beta2_that_ran_runs_on(self):
        made = components("run", job("run", "sleep"))
        made["metadata"]["finalizers"] = [FINALIZER]
        before = self.leave_running(made, job("run", "sleep"), phase="Running")
        self.begin_hub()
        self.check_taken_over("run", before)

    @alone  # pods of others would be on its nodes when they go
    def test_a_deployment_that_ran_runs_on_and_fills_the_cluster_once(self):
        CLUSTER.add_nodes(2, prefix=self.namespace, labels={"room": self.namespace})
        for index in range(2):
            self.addCleanup(CLUSTER.request, "DELETE", f"/api/v1/nodes/{self.namespace}-{index}")
        web = deployment("web", cpu="20", nodeSelector={"room": self.namespace})
        before = self.leave_running(wrapper("web", web), web, **self.dispatched())
        self.begin_hub()
        self.check_taken_over("web", before)

    def test_pods_that_replace_others_after_a_takeover_belong_to_it_too(self):
        made = components("web", deployment("web"))
        made["metadata"]["annotations"] = {
            "workload.codeflare.dev.appwrapper/admissionGracePeriodDuration": "15s"}
        self.leave_running(made, deployment("web"), phase="Running")
        self.begin_hub()
        for _ in range(2):  # also after a restart
            self.wait("all are its own", lambda: self.are_its_own(2))
            self.kubectl("delete", "pod", self.pods()[0]["metadata"]["name"])
            self.wait("so is what replaces it", lambda: self.are_its_own(2))
            kept = self.running()
            time.sleep(17)
            self.assertEqual(self.running(), kept)
            status = self.status("web")
            self.assertEqual((status["phase"], status.get("resettingCount")), ("Running", None))
            self.server.terminate()
            self.server.start()

    def are_its_own(self, count):
        pods = [pod["metadata"] for pod in self.pods() if pod["status"].get("phase") == "Running"
                and "deletionTimestamp" not in pod["metadata"]]
        return len(pods) == count and all("muster.dev/job" in pod["labels"] for pod in pods)

    def test_one_whose_items_are_gone_makes_them_again(self):
        self.leave(wrapper("lost", (job("lost"), {"completionstatus": "Complete"})),
                   **self.dispatched())
        self.begin_hub()
        self.wait_state("lost", "Completed")

    def test_a_name_that_somebody_else_has_is_not_taken_over(self):
        self.create(job("mine", "sleep"))
        self.leave(wrapper("mine", job("mine", "sleep")), **self.dispatched())
        self.begin_hub()
        self.wait_state("mine", "Failed")
        self.assertIn("is not of this job", str(self.status("mine")))
        self.assertEqual(self.names("jobs"), ["job.batch/mine"])


ROLE = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": "all"}, "rules": [
            {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}


@alone
class Rights(LeftBehind):
    """Nobody gets by an AppWrapper what they could not have made themselves."""

    def test_only_workloads_and_what_goes_with_them_are_wrapped(self):
        self.begin_hub()
        self.create(wrapper("sly", job("sly"), ROLE), components("sly2", ROLE))
        self.wait_state("sly", "Failed")
        self.assertIn("GenericItems[1].generictemplate: rbac.authorization.k8s.io/Role is not "
                      "among the kinds that AppWrappers may wrap", str(self.status("sly")))
        self.wait("it failed", lambda: self.status("sly2").get("phase") == "Failed")
        self.assertEqual(self.names("jobs,roles"), [])

    def test_an_administrator_may_allow_other_kinds(self):
        self.begin_hub(", kinds: [batch/Job]")
        self.create(wrapper("web", deployment("web")),
                    wrapper("fine", (job("fine"), {"completionstatus": "Complete"})))
        self.wait_state("web", "Failed")
        self.wait_state("fine", "Completed")

    def test_the_printed_rules_are_enough(self):
        self.check_printed_rules()

    def test_the_printed_rules_are_enough_with_quota(self):
        self.check_printed_rules(", quota: true")

    def check_printed_rules(self, more=""):
        grant(self.binary, CLUSTER, self.namespace, "--user", "nobody", "--appwrappers",
              "--kinds", "Job", "--name", self.namespace)
        self.begin_hub(more, kubeconfig=CLUSTER.write_kubeconfig(
            f"{self.namespace}.kubeconfig", user={"token": "token-of-nobody"}))
        self.create(wrapper("old", (job("old"), {"completionstatus": "Complete"})),
                    components("new", job("new")))
        self.wait_state("old", "Completed")
        self.wait("it succeeded", lambda: self.status("new").get("phase") == "Succeeded")
        log = self.server.log()
        self.assertNotIn("orbidden", log, log)

    def test_without_the_right_to_read_quota_it_says_why_nothing_is_taken(self):
        for made in manifest(self.binary, self.namespace, "--appwrappers", "--kinds", "Job",
                             "--name", self.namespace):
            if "rules" in made:
                made["rules"] = [one for one in made["rules"]
                                 if one["resources"] != ["quotasubtrees"]]
            create_right(CLUSTER, made)
        token = self.kubectl("create", "token", self.namespace).strip()
        self.begin_hub(", quota: true", kubeconfig=CLUSTER.write_kubeconfig(
            f"{self.namespace}.kubeconfig", user={"token": token}))
        self.create(wrapper("left", job("left")))

        def warns():
            self.muster("aw", "list")
            return "ibm.com cannot be read, so no AppWrapper is taken" in self.said
        self.wait("the list says why", warns)
        self.assertEqual(self.status("left"), {})
        self.assertEqual(self.server.log().count("QuotaSubtrees of ibm.com cannot be read"), 1)

    def test_mcad_makes_what_it_may_make_itself(self):
        self.profile = "mcad"
        self.begin_hub()
        self.create(wrapper("role", ROLE))
        made = ["role.rbac.authorization.k8s.io/all"]
        self.wait("it is made", lambda: self.names("roles") == made)

    def test_the_api_server_refuses_what_a_creator_may_not_create(self):
        old = components("old", job("old"))
        self.create(old)
        before = self.leave_running(components("runs", job("runs", "sleep")), job("runs", "sleep"),
                                    phase="Running")
        install_crds("--creators")
        self.addCleanup(self.remove_policy)
        self.begin_hub(", creators: true")
        self.kubectl("create", "role", "wraps", "--verb=create,get",
                     "--resource=appwrappers.workload.codeflare.dev,jobs.batch")
        self.kubectl("create", "rolebinding", "wraps", "--role=wraps", "--user=alice")
        as_alice = lambda made, code: self.kubectl(
            "create", "--as=alice", "-f", "-", stdin=json.dumps(made), code=code)
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
        time.sleep(6)  # until it is in force everywhere
        for made in (wrapper("sly", job("sly"), secret), components("sly", job("sly"), secret)):
            self.assertIn("it wraps a Secret, and you may not create secrets here",
                          as_alice(made, 1))
        self.assertIn("a kind that AppWrappers may not wrap", as_alice(wrapper("sly", ROLE), 1))
        as_alice(wrapper("fine", (job("fine"), {"completionstatus": "Complete"})), 0)
        self.wait_state("fine", "Completed")
        self.wait("it is refused", lambda: self.status("old").get("phase") == "Failed")
        self.assertIn("create it again", str(self.status("old")))
        self.assertEqual(self.names("jobs"), ["job.batch/fine", "job.batch/runs"])
        self.wait("what ran is not taken, and an event says why", lambda: "what runs of it is left "
                  "alone" in self.kubectl("describe", "appwrapper", "runs"))
        self.assertEqual((self.status("runs")["phase"], self.running()), ("Running", before))
        as_alice(wrapper("waits", job("waits", "sleep", pods=1, cpu="1000")), 0)
        self.wait("it waits", lambda: self.status("waits").get("queuejobstate") == "Backoff")
        self.check_weakened(components("late", job("late")))
        self.check_changed_later("waits")

    def check_weakened(self, late):
        """Nothing is taken while the policy does not do what it is there for."""
        self.kubectl("patch", "validatingadmissionpolicybinding", "muster-appwrapper-creators",
                     "--type=merge", "-p", '{"spec": {"validationActions": ["Warn"]}}')

        def warns():
            self.muster("aw", "list")
            return "it is not as Muster installs it" in self.said
        self.wait("the list says so", warns)  # it looks every 30 s
        self.create(late)
        self.wait("it says why it waits", lambda: ("Waiting", "CreatorsNotChecked") in [
            (one["type"], one.get("reason")) for one in self.status("late").get("conditions", [])])
        self.assertEqual(self.server.log().count("it is not as Muster installs it"), 1)
        install_crds("--creators")
        self.wait("it is refused", lambda: self.status("late").get("phase") == "Failed")
        self.assertIn("create it again", str(self.status("late")))
        self.assertEqual(self.names("jobs"), ["job.batch/fine", "job.batch/runs"])
        self.muster("aw", "list")
        self.assertNotIn("Muster installs", self.said)

    def check_changed_later(self, name):
        """It was checked by the policy before, and its job stays when it is changed now."""
        known = self.status(name)["muster"]["job"]
        self.kubectl("label", "appwrapper", name, "workload.codeflare.dev/user=bob")
        self.wait("its change is ignored", lambda: "ChangeIgnored" in self.kubectl(
            "describe", "appwrapper", name))
        self.assertEqual((self.status(name)["muster"]["job"], self.status(name)["state"]),
                         (known, "Pending"))
        self.assertEqual(self.server.job(known)["state"], "Waiting")

    def remove_policy(self):
        for kind in ("validatingadmissionpolicybinding", "validatingadmissionpolicy"):
            self.kubectl("delete", kind, "muster-appwrapper-creators")


def install_crds(*more):
    done = subprocess.run([muster_test.BINARY, "aw", "install", *more, "--kubeconfig",
                           CLUSTER.file("admin.kubeconfig")],
                          capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise AssertionError(done.stdout + done.stderr)


def start(options):
    global CLUSTER, KUBECTL  # pylint: disable=global-statement
    muster_test.BINARY = options.binary
    KUBECTL = str(find_binaries(options.kubernetes, ("kubectl",), build=False) / "kubectl")
    CLUSTER = ControlPlane("real", options.kubernetes).start()
    CLUSTER.add_nodes(10, gpus=8)
    install_crds()
    return [CLUSTER]


if __name__ == "__main__":
    sys.exit(run_on(start, __doc__, workers=3, first=[SumsAlone, TakenOver]))
