#!/usr/bin/env python3
"""QuotaSubtrees of a hub as queues, on a real Kubernetes: what is promised, borrowed and reclaimed,
and MCAD's own tests of it, step by step from its module.

Usage: appwrapper_quota_test.py MUSTER [--kubernetes VERSION] [--only PART_OF_A_NAME]
"""
import json
import re
import sys

import appwrapper_test
import muster_test
from appwrapper_test import WithHub, components, job, start, wrapper
from binaries import module_folder
from http_faults import Answer, HttpFaults
from on_clusters import run_on

MCAD = ("github.com/project-codeflare/multi-cluster-app-dispatcher", "1.40.0")


def subtree(tree, name, parent="", **nodes):
    """Of nodes name=(requests, more quotas) or name=requests."""
    children = []
    for node, quotas in nodes.items():
        requests, more = quotas if isinstance(quotas, tuple) else (quotas, {})
        children.append({"name": node, "quotas": {"requests": requests, **more}})
    spec = {"children": children}
    if parent:
        spec["parent"] = parent
    return {"apiVersion": "quota.codeflare.dev/v1alpha1", "kind": "QuotaSubtree",
            "metadata": {"name": name, "labels": {"tree": tree}}, "spec": spec}


def cpu(cores):
    return {"cpu": str(cores)}


HARD = {"hardLimit": True}


def of(made, **labels):
    """With the labels that say where it belongs."""
    made["metadata"]["labels"] = labels
    return made


class WithQuota(WithHub):
    """Each test plants its trees and takes them out again before the next one looks."""
    profile = "mcad"

    def setUp(self):
        self.binary = muster_test.BINARY
        self.make_namespace(appwrapper_test.CLUSTER)

    def plant(self, *trees, kubeconfig=""):
        self.create(*trees)
        self.addCleanup(self.uproot)
        self.begin_hub(", quota: true", kubeconfig=kubeconfig)

    def uproot(self):
        for namespace in (self.namespace, "kube-system"):  # where they are planted
            for group in ("quota.codeflare.dev", "ibm.com"):
                self.kubectl("delete", f"quotasubtrees.{group}", "--all", "-n", namespace)

    def runs(self, name):
        self.wait_state(name, "Running")

    def waits(self, name):
        """For quota, and says so in MCAD's words; what Muster adds to them."""
        self.wait(f"{name} waits for quota", lambda: any(
            one["type"] == "Waiting" and one.get("reason") == "InsufficientQuota"
            for one in self.status(name).get("conditions", [])))
        conditions = self.status(name)["conditions"]
        self.assertIn(("Backoff", "quota limit exceeded",
                       "Insufficient quota and/or resources to dispatch AppWrapper."),
                      [(one["type"], one.get("reason"), one.get("message"))
                       for one in conditions])
        return [one["message"] for one in conditions if one["type"] == "Waiting"][0]

    def labels(self, name):
        return self.get(name)["metadata"].get("labels", {})


class Forest(WithQuota):
    """cpu in one tree, unless a test says otherwise."""

    def plant_team(self, kubeconfig=""):
        self.plant(subtree("team", "top", all=cpu(8)),
                   subtree("team", "leaves", parent="all", soft=cpu(2), hard=(cpu(2), HARD),
                           owner=cpu(4), default=cpu(0)), kubeconfig=kubeconfig)

    def test_hard_nodes_keep_to_their_own_and_soft_ones_borrow_until_the_owner_comes(self):
        self.plant_team()
        self.create(of(wrapper("hard", job("hard", "sleep", pods=2, cpu="1")), team="hard"))
        self.runs("hard")
        self.create(of(wrapper("more", job("more", "sleep", pods=1, cpu="1")), team="hard"))
        self.assertIn("team.hard", self.waits("more"))
        self.create(of(wrapper("borrows", job("borrows", "sleep", pods=5, cpu="1")), team="soft"))
        self.runs("borrows")
        self.create(of(wrapper("beyond", job("beyond", "sleep", pods=2, cpu="1")), team="soft"))
        self.assertIn("team.all", self.waits("beyond"), "the root has 8, of which 7 are used")
        # What is promised to the owner of a node is given back to it, whole gangs at a time.
        self.create(of(wrapper("owner", job("owner", "sleep", pods=4, cpu="1")), team="owner"))
        self.runs("owner")
        self.wait("the borrower was requeued",
                  lambda: self.status("borrows").get("state") == "Pending")
        self.assertIn(("PreemptCandidate", "QuotaReclaimed"), self.conditions("borrows"))
        self.runs("beyond")  # which fits now: 2 + 4 + 2
        self.assertEqual(self.names("jobs"), [f"job.batch/{name}" for name in (
            "beyond", "hard", "owner")])
        self.kubectl("delete", "appwrapper", "owner", "beyond")
        self.runs("borrows")

    def test_a_label_that_is_missing_is_written_and_unknown_nodes_are_waited_for(self):
        self.plant_team()
        self.create(wrapper("plain", job("plain", "sleep", pods=1, cpu="1")),
                    components("plain2", job("plain2", "sleep", pods=1, cpu="1")),
                    of(wrapper("early", job("early", "sleep", pods=1, cpu="1")), team="later"))
        self.runs("plain")
        self.wait("it runs", lambda: self.status("plain2").get("phase") == "Running")
        for name in ("plain", "plain2"):
            self.wait("the label is there", lambda one=name: self.labels(one) == {
                "team": "default"})
        self.assertIn("its quota designation names team.later, which is not there",
                      self.waits("early"))
        self.create(subtree("team", "more", parent="all", later=cpu(1)))
        self.runs("early")

    def test_a_label_that_could_not_be_written_at_once_is_written_later(self):
        faults = HttpFaults(appwrapper_test.CLUSTER)
        self.addCleanup(faults.close)

        def refuse(asked):
            is_label = (asked.method == "PATCH"
                        and asked.path.split("?")[0].endswith("/appwrappers/plain"))
            return Answer(403, "Forbidden") if is_label and faults.counts["Answer"] < 1 else None
        faults.fault = refuse
        self.plant_team(kubeconfig=faults.write_kubeconfig())
        self.create(wrapper("plain", job("plain", "sleep", pods=1, cpu="1")))
        self.wait("the label is there", lambda: self.labels("plain") == {"team": "default"})
        self.assertEqual(faults.counts["Answer"], 1)

    def test_many_that_wait_for_the_same_node_are_all_placed_when_it_comes(self):
        self.plant_team()
        names = [f"early-{index}" for index in range(30)]
        self.create(*(of(wrapper(name, job(name, "sleep", pods=1, cpu="1")), team="later")
                      for name in names))
        for name in names:
            self.waits(name)
        self.create(subtree("team", "more", parent="all", later=cpu(1)))
        self.wait("all of them are jobs",
                  lambda: len(self.server.api("GET", "/jobs")[1]["jobs"]) == len(names))

    def test_trees_are_added_live_and_all_of_them_have_to_agree(self):
        self.plant_team()
        # A tree whose name comes first: those of the older one stay where they are.
        self.create(of(wrapper("before", job("before", "sleep", pods=2, cpu="1")), team="owner"))
        self.runs("before")
        self.create(subtree("area", "area-top", all=cpu(4)),
                    subtree("area", "area-leaves", parent="all", default=(cpu(1), HARD),
                            east=cpu(3)))
        self.wait("the tree is there",
                  lambda: "area.default" in self.muster("queue", "list"))
        self.create(of(wrapper("fits", job("fits", "sleep", pods=1, cpu="1")), team="owner"),
                    of(wrapper("both", job("both", "sleep", pods=2, cpu="1")), team="soft",
                       area="east"))
        self.runs("fits")
        self.runs("both")
        self.wait("the label is there", lambda: self.labels("fits") == {
            "team": "owner", "area": "default"})
        self.create(of(wrapper("over", job("over", "sleep", pods=1, cpu="1")), team="owner"))
        self.assertIn("area.default", self.waits("over"), "its team has room, its area has none")
        self.kubectl("delete", "appwrapper", "fits")
        self.runs("over")
        self.assertEqual(self.status("before")["state"], "Running")

    def test_a_node_that_goes_while_no_server_runs_is_no_queue_any_more(self):
        self.plant_team()
        self.create(subtree("team", "more", parent="all", later=cpu(1)))
        self.wait("it is a queue", lambda: "team.later" in self.muster("queue", "list"))
        self.server.kill()
        self.kubectl("delete", "quotasubtrees.quota.codeflare.dev", "more")
        self.server.start()
        self.wait("it is none", lambda: "team.later" not in self.muster("queue", "list"))
        self.assertIn("team.soft", self.muster("queue", "list"))

    def fell(self, *names):
        self.kubectl("delete", "quotasubtrees.quota.codeflare.dev", *names)

    def test_who_waits_in_a_tree_that_goes_moves_to_the_queue_that_it_has_then(self):
        self.plant_team()
        self.create(of(wrapper("much", job("much", "sleep", pods=3, cpu="1")), team="hard"))
        self.assertIn("team.hard", self.waits("much"))
        first = self.status("much")["muster"]["job"]
        self.fell("top", "leaves")
        self.runs("much")
        self.assertEqual(self.status("much")["muster"]["job"], first, "it keeps its place")

    def test_who_waits_in_a_tree_that_is_planted_anew_waits_in_the_oldest_one(self):
        self.plant_team()
        self.create(subtree("area", "area-top", all=cpu(9)),
                    subtree("area", "area-leaves", parent="all", east=cpu(8), default=cpu(1)))
        self.wait("the tree is there", lambda: "area.east" in self.muster("queue", "list"))
        self.create(of(wrapper("much", job("much", "sleep", pods=3, cpu="1")),
                       team="hard", area="east"))
        self.assertIn("team.hard", self.waits("much"))
        self.fell("top", "leaves")
        self.create(subtree("team", "top", all=cpu(8)),
                    subtree("team", "leaves", parent="all", hard=(cpu(4), HARD)))
        self.runs("much")
        self.assertEqual(self.status("much")["muster"]["queue"], "area.east")

    def test_trees_of_the_old_group_count_too(self):
        trees = (subtree("old", "old-top", all=cpu(2)),
                 subtree("old", "old-leaves", parent="all", mine=(cpu(2), HARD)))
        for tree in trees:
            tree["apiVersion"] = "ibm.com/v1"
        self.plant(*trees)
        self.create(of(wrapper("fits", job("fits", "sleep", pods=2, cpu="1")), old="mine"),
                    of(wrapper("over", job("over", "sleep", pods=1, cpu="1")), old="mine"))
        self.runs("fits")
        self.assertIn("old.mine", self.waits("over"))

    def test_a_label_that_is_changed_while_it_waits_is_followed(self):
        self.plant_team()
        self.create(of(wrapper("lost", job("lost", "sleep", pods=1, cpu="1")), team="nowhere"),
                    of(wrapper("much", job("much", "sleep", pods=3, cpu="1")), team="hard"))
        self.assertIn("team.nowhere", self.waits("lost"))
        self.assertIn("team.hard", self.waits("much"))
        self.kubectl("label", "appwrapper", "lost", "much", "--overwrite", "team=owner")
        self.runs("lost")
        self.runs("much")

    def test_gpus_are_counted_in_both_profiles(self):
        for self.profile in ("mcad", "default"):
            with self.subTest(self.profile):
                self.plant(subtree("gpus", "gpu-top", all={"nvidia.com/gpu": 16}),
                           subtree("gpus", "gpu-leaves", parent="all",
                                   mine=({"nvidia.com/gpu": 4}, HARD)))
                for name in ("one", "two"):
                    made = job(f"{name}-{self.profile}", "sleep", pods=2)
                    main_one = made["spec"]["template"]["spec"]["containers"][0]
                    main_one["resources"] = {"limits": {"nvidia.com/gpu": 2}}
                    self.create(of(wrapper(f"{name}-{self.profile}", made), gpus="mine"))
                    if name == "one":
                        self.runs(f"one-{self.profile}")
                self.assertIn("gpu", self.waits(f"two-{self.profile}"))
                self.kubectl("delete", "appwrappers", "--all")
                self.server.close()
                self.uproot()


class OfMcad(WithQuota):
    """Steps of MCAD's own kuttl suites, read from its module: what is installed, and what has to
    come of it. Jobs that sleep for a while never end here, so steps that wait for them are left
    out."""

    def plant_file(self, path):
        self.kubectl("apply", "-n", "kube-system", "-f", path)
        self.addCleanup(self.uproot)
        self.begin_hub(", quota: true")

    def objects(self, path):
        """Of a file of theirs, in this test's namespace."""
        text = re.sub(r"namespace: test\b", f"namespace: {self.namespace}", path.read_text())
        text = self.kubectl("create", "-f", "-", "--dry-run=client", "--validate=false", "-o",
                            "json", stdin=text)
        found = []
        while text.strip():
            made, end = json.JSONDecoder().raw_decode(text.lstrip())
            found.append(made)
            text = text.lstrip()[end:]
        return found

    def walk(self, steps, *numbers):
        for number in numbers:
            for path in sorted(steps.glob(f"{number}-install.yaml")):
                for made in self.objects(path):
                    self.create(made)
            for wanted in self.objects(next(steps.glob(f"{number}-assert.yaml"))):
                self.check(number, wanted)

    def check(self, number, wanted):
        kind, name = wanted["kind"].lower(), wanted["metadata"]["name"]
        if kind == "pod":
            return self.wait(f"{number}: pod {name}", lambda: f"pod/{name}" in self.names("pods"))
        state = wanted["status"]["state"]
        self.wait(f"{number}: {name} is {state}",
                  lambda: self.status(name).get("state") == state)
        self.assertGreaterEqual(self.labels(name).items(),
                                wanted["metadata"].get("labels", {}).items())

    def test_the_forest(self):
        suites = module_folder(*MCAD) / "test"
        self.plant_file(suites / "e2e-kuttl/install-quota-subtree.yaml")
        self.walk(suites / "e2e-kuttl/quota-forest", "04", "05", "06", "07", "08")

    def test_borrowing(self):
        suites = module_folder(*MCAD) / "test"
        self.plant_file(suites / "e2e-kuttl-borrowing/install-quota-subtree.yaml")
        self.walk(suites / "e2e-kuttl-borrowing/steps", "03", "04")


if __name__ == "__main__":
    sys.exit(run_on(start, __doc__))
