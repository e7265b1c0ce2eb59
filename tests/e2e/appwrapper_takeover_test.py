#!/usr/bin/env python3
"""AppWrappers and their definitions that MCAD 1.40 and AppWrapper 1.1.2 left behind, taken over in
place: the definitions are the originals, from their Go modules.

Usage: appwrapper_takeover_test.py MUSTER [--kubernetes VERSION] [--only PART_OF_A_NAME]
"""
import json
import os
import shutil
import sys
import time

import appwrapper_test
from appwrapper_test import (
    FINALIZER, LeftBehind, components, deployment, install_crds, job, start, wrapper)
from binaries import module_folder
from on_clusters import run_on
from side_by_side import alone
from with_server import Server

MCAD = ("github.com/project-codeflare/multi-cluster-app-dispatcher", "1.40.0")
APPWRAPPER = ("github.com/project-codeflare/appwrapper", "1.1.2")
CRD = "appwrappers.workload.codeflare.dev"


def original(module):
    """The file of its definition of AppWrapper."""
    return str(module_folder(*module) / "config/crd/bases/workload.codeflare.dev_appwrappers.yaml")


@alone
class Definitions(LeftBehind):
    """One after the other: both have the same name."""

    def kubectl(self, *words, **more):
        """Without what it remembers of the definitions: they change under its feet."""
        return super().kubectl("--cache-dir=/dev/null/none", *words, **more)

    def install(self, module):
        self.kubectl("delete", "crd", CRD, "--ignore-not-found", "--timeout=60s")
        self.kubectl("apply", "--server-side", "-f", original(module))
        self.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", CRD)

    def setUp(self):
        super().setUp()
        self.addCleanup(install_crds)

    def stored(self):
        return self.get(CRD, "crd")["status"]["storedVersions"]

    def test_those_of_mcad(self):
        self.install(MCAD)
        self.create(wrapper("old", (job("old"), {"completionstatus": "Complete"})))
        uid = self.get("old")["metadata"]["uid"]
        install_crds()
        self.assertEqual(self.stored(), ["v1beta1"], "as MCAD's own tests want it")
        self.begin_hub()
        self.wait_state("old", "Completed")
        self.assertEqual(self.get("old")["metadata"]["uid"], uid)
        self.create(components("new", job("new")))
        self.wait("it succeeded", lambda: self.status("new").get("phase") == "Succeeded")

    def test_those_of_its_successor(self):
        self.install(APPWRAPPER)
        self.create(components("new", job("new")))
        uid = self.get("new")["metadata"]["uid"]
        install_crds()
        self.assertEqual(self.stored(), ["v1beta2", "v1beta1"], "what is stored stays readable")
        self.begin_hub()
        self.wait("it succeeded", lambda: self.status("new").get("phase") == "Succeeded")
        made = self.get("new")
        self.assertEqual(made["metadata"]["uid"], uid)
        self.assertEqual(len(made["spec"]["components"]), 1)
        self.create(wrapper("old", (job("old"), {"completionstatus": "Complete"})))
        self.wait_state("old", "Completed")


    def test_the_profile_of_mcad_puts_them_there_if_they_are_missing(self):
        self.kubectl("delete", "crd", CRD, "--ignore-not-found", "--timeout=60s")
        self.server = Server(self.binary, arguments=["--profile", "mcad"], environment={
            "KUBECONFIG": appwrapper_test.CLUSTER.file("admin.kubeconfig")})
        self.addCleanup(self.server.close)
        self.server.start()
        self.wait("the definition is there", lambda: CRD in self.kubectl("get", "crd"))
        self.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", CRD)
        self.create(wrapper("one", (job("one"), {"completionstatus": "Complete"})))
        self.wait_state("one", "Completed")
        self.assertIn(f"installed definition {CRD}", self.server.log())

    def test_one_that_does_not_serve_v1beta1_stops_nothing(self):
        install_crds()
        self.begin_hub()
        self.create(wrapper("runs", job("runs", "sleep")))
        self.wait_state("runs", "Running")
        self.wait("its pods run", lambda: len(self.running()) == 2)
        before = self.running()
        self.server.terminate()
        versions = self.get(CRD, "crd")["spec"]["versions"]
        index = [one["name"] for one in versions].index("v1beta1")
        self.kubectl("patch", "crd", CRD, "--type=json", "-p", json.dumps([
            {"op": "replace", "path": f"/spec/versions/{index}/served", "value": False}]))
        self.server.start()
        words = "serves no AppWrappers of workload.codeflare.dev/v1beta1"
        self.wait("it is said", lambda: words in self.server.log())
        self.muster("aw", "list")
        self.assertIn(words, self.said)
        time.sleep(2)
        jobs = lambda: [one["state"] for one in self.server.api("GET", "/jobs")[1]["jobs"]]
        self.assertEqual(jobs(), ["Running"])
        self.assertEqual(self.running(), before)
        install_crds()
        self.wait("it is found again", lambda: "runs" in self.muster("aw", "list"))
        self.assertNotIn(words, self.said)
        self.assertEqual(self.running(), before)
        self.kubectl("delete", "appwrapper", "runs", "--timeout=60s")
        self.wait("nothing is left", lambda: not self.names("jobs,pods"))


class States(LeftBehind):
    """Each state that they may have been in."""

    def finalized(self, name, *templates, **spec):
        made = components(name, *templates, **spec)
        made["metadata"]["finalizers"] = [FINALIZER]
        return made

    def phase(self, name):
        return self.status(name).get("phase")

    def wait_phase(self, name, phase):
        self.wait(f"{name} is {phase}", lambda: self.phase(name) == phase)

    def suspend(self, name, value):
        self.kubectl("patch", "appwrapper", name, "--type=merge", "-p",
                     '{"spec": {"suspend": %s}}' % str(value).lower())

    def test_one_that_held_its_completion_runs_on(self):
        made = wrapper("hold", (job("hold", "sleep"), {"completionstatus": "Complete"}))
        before = self.leave_running(made, job("hold", "sleep"),
                                    **self.dispatched("RunningHoldCompletion"))
        self.begin_hub()
        self.check_taken_over("hold", before)

    def test_one_that_was_suspended_stays_so_until_it_is_not(self):
        self.leave(components("held", job("held", "sleep"), suspend=True), phase="Suspended")
        self.begin_hub()
        time.sleep(2)
        self.assertEqual((self.phase("held"), self.names("jobs")), ("Suspended", []))
        self.suspend("held", False)
        self.wait_phase("held", "Running")

    def test_one_that_was_resuming_keeps_what_there_is(self):
        made = self.finalized("half", job("half", "sleep"), job("rest", "sleep"))
        before = self.leave_running(made, job("half", "sleep"), phase="Resuming")
        self.begin_hub()
        self.wait("the rest is made", lambda: self.names("jobs") == [
            "job.batch/half", "job.batch/rest"])
        self.wait("all run", lambda: len(self.running()) == 4)
        self.assertLessEqual(set(before), set(self.running()))
        self.kubectl("delete", "appwrapper", "half", "--timeout=60s")
        self.wait("nothing is left", lambda: not self.names("jobs,pods"))

    def test_what_was_to_be_stopped_is_stopped(self):
        """It was suspended while nobody looked after it, or was on its way to be."""
        for name, phase in (("runs", "Running"), ("stops", "Suspending")):
            made = self.finalized(name, job(name, "sleep"), suspend=True)
            self.leave_running(made, job(name, "sleep"), phase=phase)
            if phase == "Running":
                self.begin_hub()
            else:
                self.server.start()
            self.wait("it is stopped", lambda: not self.names("jobs,pods"))
            self.wait_phase(name, "Suspended")
            self.suspend(name, False)
            self.wait_phase(name, "Running")
            self.kubectl("delete", "appwrapper", name, "--timeout=60s")
            self.wait("nothing is left", lambda: not self.names("jobs,pods"))
            self.server.terminate()

    def test_one_that_was_reset_starts_over(self):
        made = self.finalized("again", job("again", "sleep"))
        before = self.leave_running(made, job("again", "sleep"), phase="Resetting",
                                    resettingCount=1)
        self.begin_hub()
        self.wait_phase("again", "Running")
        self.wait("other pods run", lambda: len(self.running()) == 2
                  and not set(before) & set(self.running()))

    def test_those_that_ended_are_left_alone_and_can_be_deleted(self):
        left = {}
        for phase in ("Succeeded", "Failed"):
            self.leave(self.finalized(phase.lower(), job(phase.lower())), phase=phase)
            left[phase.lower()] = self.status(phase.lower())
        self.begin_hub()
        self.create(components("canary", job("canary")))
        self.wait_phase("canary", "Succeeded")
        self.assertEqual({name: self.status(name) for name in left}, left)
        self.assertEqual(self.names("jobs"), ["job.batch/canary"])
        self.kubectl("delete", "appwrapper", *left, "--timeout=60s")

    def test_one_that_was_being_deleted_goes(self):
        made = self.finalized("gone", job("gone", "sleep"))
        self.leave_running(made, job("gone", "sleep"), phase="Terminating")
        self.kubectl("delete", "appwrapper", "gone", "--wait=false")
        self.begin_hub()
        self.wait("nothing is left", lambda: not self.names("appwrappers,jobs,pods"))

    def test_one_that_another_controller_manages_keeps_its_finalizer(self):
        self.leave(self.finalized("theirs", job("theirs"), managedBy="example.com/other"),
                   phase="Succeeded")
        self.begin_hub()
        self.kubectl("delete", "appwrapper", "theirs", "--wait=false")
        self.create(components("canary", job("canary")))
        self.wait_phase("canary", "Succeeded")
        self.assertEqual(self.get("theirs")["metadata"]["finalizers"], [FINALIZER])
        self.kubectl("patch", "appwrapper", "theirs", "--type=merge", "-p",
                     '{"metadata": {"finalizers": null}}')


class LostBooks(LeftBehind):
    """What a server of which the data folder is gone left behind."""

    def lose_books(self):
        self.server.kill()
        shutil.rmtree(os.path.join(self.server.folder, "data"))
        self.server.start()

    def uids(self):
        made = json.loads(self.kubectl("get", "jobs,deployments,configmaps", "-o", "json"))
        return sorted((one["kind"], one["metadata"]["name"], one["metadata"]["uid"])
                      for one in made["items"])

    def generated(self):
        """A Job of which only the beginning of the name is given."""
        made = job("x", "sleep")
        made["metadata"] = {"generateName": "made-"}
        return made

    def servers(self):
        """That the pods which are there belong to."""
        return {pod["metadata"]["labels"].get("muster.dev/server") for pod in self.pods()}

    def test_what_runs_runs_on_and_nothing_is_made_again(self):
        self.begin_hub()
        self.create(wrapper("old", job("old", "sleep"), self.generated()),
                    components("new", job("new", "sleep"), deployment("web"), self.generated()))
        self.wait("all run", lambda: len(self.running()) == 10)
        self.wait_state("old", "Running")
        before, made, old_server = self.running(), self.uids(), self.servers()
        self.lose_books()
        self.wait("they run as they did", lambda: [
            one["state"] for one in self.server.api("GET", "/jobs")[1]["jobs"]] == ["Running"] * 2)
        self.wait("all pods are of the new server",
                  lambda: len(self.servers()) == 1 and self.servers() != old_server)
        self.assertEqual((self.running(), self.uids()), (before, made))
        self.assertEqual(self.status("old")["state"], "Running")
        self.assertEqual(self.status("new")["phase"], "Running")
        # By then the Deployment's annotations are on its ReplicaSet, and the server asks anew.
        self.server.kill()
        self.server.start()
        self.kubectl("delete", "pods", "-l", "app=web")
        self.wait("others came in their place", lambda: len(self.running()) == 10
                  and len(set(before) & set(self.running())) == 8)
        self.wait("and belong to the job", lambda: len(self.servers()) == 1)
        self.kubectl("delete", "appwrapper", "old", "new", "--timeout=60s")
        self.wait("nothing is left", lambda: self.names("jobs,deployments,pods,configmaps")
                  == ["configmap/kube-root-ca.crt"])

    def test_what_runs_and_has_to_wait_for_its_queue_is_not_made_again(self):
        def make_queue():
            status, body, _ = self.server.api("POST", "/queues", {"name": "later"})
            self.assertIn(status, (200, 201), body)

        def say_why(name):
            found = self.server.api("GET", f"/appwrappers/{self.namespace}/{name}")[1]
            return "later" in json.dumps(found)
        self.begin_hub()
        make_queue()
        made = [wrapper("old", job("old", "sleep")), components("new", job("new", "sleep"))]
        for one in made:
            one["metadata"]["labels"] = {"muster.dev/queue": "later"}
        self.create(*made)
        self.wait("all run", lambda: len(self.running()) == 4)
        self.wait_state("old", "Running")
        self.wait("the other too", lambda: self.status("new").get("phase") == "Running")
        before, there = self.running(), self.uids()
        self.lose_books()
        self.wait("they wait for their queue", lambda: say_why("old") and say_why("new"))
        time.sleep(3)  # a status is written within one
        self.assertEqual(self.status("old")["state"], "Running")
        self.assertEqual(self.status("new")["phase"], "Running")
        make_queue()
        self.wait("they run as they did", lambda: [
            one["state"] for one in self.server.api("GET", "/jobs")[1]["jobs"]] == ["Running"] * 2)
        self.assertEqual((self.running(), self.uids()), (before, there))

    def test_what_another_controller_made_up_a_name_for_is_taken_over_and_not_made_again(self):
        """As the controller of v1beta2 does: the API server names it."""
        named = self.generated()
        named["metadata"] = {"name": "made-x7q2z"}
        before = self.leave_running(components("theirs", self.generated()), named, phase="Running")
        self.begin_hub()
        self.wait("all pods are of the server",
                  lambda: len(self.servers()) == 1 and None not in self.servers())
        self.wait("it runs as it did", lambda: [
            one["state"] for one in self.server.api("GET", "/jobs")[1]["jobs"]] == ["Running"])
        self.assertEqual((self.running(), self.names("jobs")), (before, ["job.batch/made-x7q2z"]))

    def test_what_is_suspended_meanwhile_is_stopped(self):
        self.begin_hub()
        self.create(components("new", job("new", "sleep"), deployment("web"), self.generated()))
        self.wait("all run", lambda: len(self.running()) == 6)
        self.server.kill()
        self.kubectl("patch", "appwrapper", "new", "--type=merge", "-p",
                     '{"spec": {"suspend": true}}')
        self.lose_books()
        self.wait("it is stopped", lambda: not self.names("jobs,deployments,pods"))
        self.kubectl("patch", "appwrapper", "new", "--type=merge", "-p",
                     '{"spec": {"suspend": false}}')
        self.wait("it runs again", lambda: len(self.running()) == 6)


if __name__ == "__main__":
    sys.exit(run_on(start, __doc__, workers=3))
