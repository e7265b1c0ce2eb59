#!/usr/bin/env python3
"""AppWrappers that are odd, wrong or huge, on a real Kubernetes: each ends in words that help, and
none disturbs the others.

Usage: appwrapper_odd_test.py MUSTER [--kubernetes VERSION] [--only PART_OF_A_NAME]
"""
import json
import sys

import appwrapper_test
from appwrapper_test import WithHub, components, job, start, wrapper
from on_clusters import run_on

ETCD_MOST = 1_572_864  # bytes of a request
RAY_KIND = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "rayclusters.ray.io"}, "spec": {
        "group": "ray.io", "scope": "Namespaced",
        "names": {"plural": "rayclusters", "kind": "RayCluster"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {
            "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


def ray(name):
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": name},
            "spec": {"headGroupSpec": {"template": {"spec": {"containers": [
                {"name": "ray", "image": "example.com/ray:1"}]}}}}}


def config_map(name, size=1):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
            "data": {"text": "x" * size}}


def done(name, *items):
    """Of items of which the last is a Job that completes it."""
    return wrapper(name, *items, (job(name), {"completionstatus": "Complete"}))


class Odd(WithHub):
    """In both dialects where that makes a difference."""

    def failure(self, name):
        """How it failed; nothing of it is left, and it stays so."""
        self.wait(f"{name} has failed", lambda: "Failed" in (
            self.status(name).get("state"), self.status(name).get("phase")))
        status = self.status(name)
        if "phase" in status:
            unhealthy = [one for one in status["conditions"] if one["type"] == "Unhealthy"][0]
            self.assertEqual((unhealthy["status"], unhealthy["reason"]), ("True", "CreateFailed"))
            return unhealthy["message"]
        self.assertIs(status["canrun"], False)
        failed = [one for one in status["conditions"] if one["type"] == "Failed"][0]
        self.assertEqual(failed["reason"], "ItemCreationFailure.")
        return failed["message"]

    def wait_message(self, name, words):
        self.wait(f"{name} says why", lambda: any(
            words in one.get("message", "") and one["type"] == "Waiting"
            for one in self.status(name).get("conditions", [])))

    def says(self, words):
        """True: whoever asks is told so of both."""
        for name in ("old", "new"):
            self.assertIn(words, self.muster("aw", "show", f"{self.namespace}/{name}"))
            status = self.status(name)
            self.assertEqual(status["muster"].get("reason"), "CannotBeMade", status)
            waiting = [one for one in status["conditions"] if one["type"] == "Waiting"][0]
            self.assertEqual(waiting["status"], "True", status)
            self.assertIn(words, waiting["message"])
        self.assertIn(words, self.kubectl("describe", "appwrapper", "old"))
        return True

    def check_canary(self):
        """Others go on."""
        self.create(done("canary"))
        self.wait_state("canary", "Completed")

    def test_what_the_api_server_rejects_fails_with_its_words_and_takes_the_rest_along(self):
        port = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "front"},
                "spec": {"ports": [{"port": 99999}]}}
        self.create(wrapper("old", job("a", "sleep"), port), components("new", job("b"), port))
        for name in ("old", "new"):
            self.assertRegex(self.failure(name),
                             r'Service "front" is invalid: .*spec.ports\[0\].port: Invalid value')
        self.wait("nothing is left", lambda: not self.names("jobs,services,pods"))
        self.check_canary()
        self.assertEqual(self.status("old")["state"], "Failed", "for good: it is not tried again")
        self.assertIn("Invalid value: 99999", self.kubectl("describe", "appwrapper", "old"))

    def test_an_item_needs_a_name_or_the_beginning_of_one(self):
        nameless, generated = job("x"), job("x", "sleep")
        nameless["metadata"] = {"labels": {"a": "b"}}
        generated["metadata"] = {"generateName": "made-"}
        self.create(wrapper("none", nameless), components("none2", nameless),
                    wrapper("some", generated), components("some2", generated))
        for name in ("none", "none2"):
            self.assertIn("template.metadata: needs a name or a generateName", self.failure(name))
        self.wait_state("some", "Running")
        self.wait("it runs", lambda: self.status("some2").get("phase") == "Running")
        made = self.names("jobs")
        self.assertEqual(len(made), 2)
        for name in made:
            self.assertRegex(name, r"^job.batch/made-\w+$")

    def test_an_item_of_another_namespace_fails_and_runs_when_that_is_mended(self):
        other = job("elsewhere", "sleep")
        other["metadata"]["namespace"] = "kube-system"
        self.create(wrapper("old", other), components("new", other))
        self.assertIn('resource namespace "kube-system" is different from AppWrapper namespace '
                      f'"{self.namespace}"', self.failure("old"))
        self.assertIn("'kube-system' is not that of the AppWrapper", self.failure("new"))
        self.kubectl("patch", "appwrapper", "old", "--type=json", "-p", json.dumps([
            {"op": "remove",
             "path": "/spec/resources/GenericItems/0/generictemplate/metadata/namespace"}]))
        self.wait_state("old", "Running")
        self.server.terminate()  # who starts again reads it again too
        self.kubectl("delete", "appwrapper", "old", "--cascade=foreground")
        self.server.start()
        self.kubectl("replace", "--force", "-f", "-", stdin=json.dumps(
            components("new", job("elsewhere", "sleep"))))  # its spec cannot be changed
        self.wait("it runs", lambda: self.status("new").get("phase") == "Running")

    def test_an_unknown_kind_is_refused_where_it_is_not_allowed(self):
        widget = {"apiVersion": "odd.example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
        self.create(wrapper("old", widget), components("new", widget))
        for name in ("old", "new"):
            self.assertIn("odd.example.com/Widget is not among the kinds that AppWrappers may "
                          "wrap here", self.failure(name))

    def test_one_whose_definition_is_missing_waits_for_it_says_so_and_runs_when_it_comes(self):
        self.create(wrapper("old", ray("a"), job("old", "sleep")),
                    components("new", ray("b"), job("new", "sleep")))
        words = "no cluster serves its kind ray.io/v1/RayCluster"
        for name in ("old", "new"):
            self.wait_message(name, words)
        self.assertTrue(self.says(words))
        self.assertEqual(self.server.job(self.status("old")["muster"]["job"])["attempt"], 0,
                         "it is not even tried")
        self.assertEqual(self.status("old")["state"], "Pending")
        self.wait("it waits", lambda: self.status("new")["phase"] == "Suspended")
        self.assertEqual(self.names("jobs"), [], "a gang is made whole or not at all")
        self.check_canary()
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        appwrapper_test.CLUSTER.create(definitions, RAY_KIND)
        self.addCleanup(appwrapper_test.CLUSTER.request, "DELETE",
                        f"{definitions}/rayclusters.ray.io")
        self.wait_state("old", "Running")
        self.wait("it runs", lambda: self.status("new").get("phase") == "Running")
        self.assertEqual(self.names("rayclusters"), ["raycluster.ray.io/a", "raycluster.ray.io/b"])
        self.assertNotIn("numberOfRequeueings", self.status("old"))
        self.assertNotIn("resettingCount", self.status("new"))

    def test_as_much_as_etcd_holds_runs_and_more_is_refused_by_the_api_server_itself(self):
        self.create(done("large", config_map("a", 690_000), config_map("b", 690_000)))
        self.wait_state("large", "Completed")
        self.assertEqual(len(self.get("b", "configmap")["data"]["text"]), 690_000)
        self.assertRegex(self.kubectl(
            "create", "-f", "-", code=1, stdin=json.dumps(
                done("larger", config_map("c", 1_000_000), config_map("d", 1_000_000)))),
            "too large")
        self.check_canary()

    def test_one_that_leaves_no_room_for_its_status_disturbs_nobody(self):
        def full(size):
            return done("full", config_map("a", 700_000), config_map("b", size))
        least = len(json.dumps(full(0), separators=(",", ":")))
        for size in range(ETCD_MOST - least, ETCD_MOST - least - 6000, -300):
            if "created" in self.kubectl("create", "-f", "-", stdin=json.dumps(full(size)),
                                         code=None):
                break
        else:
            self.fail("the API server takes none of them")
        self.wait("its Job ran", lambda: self.names("jobs") == ["job.batch/full"])
        self.check_canary()
        said = [line for line in self.server.log().split("\n")
                if "/full: its status cannot be written" in line]
        self.assertLessEqual(len(said), 1, said)
        self.kubectl("delete", "appwrapper", "full")
        self.wait("nothing of it is left",
                  lambda: self.names("jobs") == ["job.batch/canary"])

    def test_a_thousand_objects_are_made_and_one_more_is_too_many(self):
        items = [config_map(f"c-{index}") for index in range(1000)]
        self.create(done("most", *items[:999]))
        self.create(done("more", *items))
        self.assertIn("more than 1000 objects", self.failure("more"))
        self.check_canary()
        self.wait_state("most", "Completed", wait_s=120)
        self.assertEqual(sum("/c-" in name for name in self.names("configmaps")), 999)

    def test_appwrappers_in_appwrappers_are_refused_however_deep_and_in_circles(self):
        inner = wrapper("inner", job("inner"))
        listed = {"apiVersion": "v1", "kind": "List", "items": [components("d", job("d"))]}
        old = {**inner, "apiVersion": "mcad.ibm.com/v1beta1"}
        self.create(wrapper("a", wrapper("b", wrapper("a", job("a")))), wrapper("old", old),
                    wrapper("listed", listed), components("new", inner),
                    components("self", components("self", job("self"))))
        for name in ("a", "old", "listed", "new", "self"):
            self.assertIn("an AppWrapper in an AppWrapper; wrap what that one wraps",
                          self.failure(name))
        self.assertEqual(len(self.names("appwrappers")), 5, "none of the inner ones is made")
        self.assertEqual(self.names("jobs"), [])

    def test_deleted_in_the_background_and_the_foreground_and_made_again_at_once(self):
        for cascade in ("background", "foreground"):
            self.create(wrapper(cascade, job(cascade, "sleep")),
                        components(f"new-{cascade}", job(f"new-{cascade}", "sleep")))
            self.wait("it runs", lambda name=cascade: self.status(name).get("running") == 2)
            self.kubectl("wait", "--for=condition=PodsReady", "--timeout=60s",
                         f"appwrapper/new-{cascade}")
            self.kubectl("delete", "appwrapper", cascade, f"new-{cascade}",
                         f"--cascade={cascade}", "--timeout=60s")
            if cascade == "foreground":
                self.assertEqual(self.names("jobs,pods"), [])
            self.wait("nothing is left", lambda: not self.names("jobs,pods"))
        self.create(wrapper("twice", job("twice", "sleep")))
        self.wait_state("twice", "Running")
        first = self.get("twice", "job")["metadata"]["uid"]
        self.kubectl("replace", "--force", "-f", "-",
                     stdin=json.dumps(wrapper("twice", job("twice", "sleep"))))
        self.wait("the second one runs", lambda: self.status("twice").get("running") == 2)
        self.assertNotEqual(self.get("twice", "job")["metadata"]["uid"], first)

    def test_what_comes_and_goes_within_moments_leaves_nothing(self):
        for index in range(10):
            self.create(wrapper(f"brief-{index}", job(f"brief-{index}", "sleep")))
            if index % 2:
                self.kubectl("delete", "appwrapper", f"brief-{index}", "--wait=false")
        self.kubectl("delete", "appwrappers", "--all", "--wait=false")
        self.wait("nothing is left", lambda: not self.names("appwrappers,jobs,pods"))
        self.wait("no job is open", lambda: {"Cancelled"} >= {
            one["state"] for one in self.server.api("GET", "/jobs?limit=20")[1]["jobs"]})

    def test_kubectl_waits_for_the_conditions_of_both_dialects(self):
        port = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "front"},
                "spec": {"ports": [{"port": 99999}]}}
        self.create(done("ends"), components("runs", job("runs", "sleep")),
                    wrapper("waits", job("waits", "sleep", pods=1, cpu="1000")),
                    wrapper("fails", port))
        for condition, name in (("Queueing", "ends"), ("Dispatched", "ends"),
                                ("Completed", "ends"), ("PodsReady", "runs"),
                                ("QuotaReserved", "runs"), ("Backoff", "waits"),
                                ("Waiting", "waits"), ("Failed", "fails")):
            self.kubectl("wait", f"--for=condition={condition}", "--timeout=60s",
                         f"appwrapper/{name}")
        self.kubectl("wait", "--for=jsonpath={.status.phase}=Running", "--timeout=60s",
                     "appwrapper/runs")
        self.kubectl("delete", "appwrapper", "waits", "--wait=false")
        self.kubectl("wait", "--for=delete", "--timeout=60s", "appwrapper/waits")
        self.assertRegex(self.kubectl("get", "aw"), r"\nends +Completed")


if __name__ == "__main__":
    sys.exit(run_on(start, __doc__, workers=3))
