#!/usr/bin/env python3
"""What MCAD 1.40 does wrong and shows from outside, as tests that Muster passes in MCAD's profile.

Usage: appwrapper_defects_test.py MUSTER [--kubernetes VERSION] [--only PART_OF_A_NAME]

Of MCAD's defects, as docs/appwrappers.md lists them:
  a, b, d, e, f, h, i, j, k, l, n   here, each in the test that begins with its letter
  c   here: what a queue of AppWrappers asks of the API server
  g   kuberay_test.py: a cluster's pods are counted once
  m   does not show from outside
"""
import json
import re
import sys
import time

import appwrapper_test
from appwrapper_test import WithHub, deployment, job, start, wrapper
from on_clusters import run_on
from side_by_side import alone


class Defects(WithHub):
    """In the profile that stands for MCAD: the sum of the cluster's nodes counts."""
    profile = "mcad"

    def add_node(self, name, amounts):
        appwrapper_test.CLUSTER.add_node(name, {"memory": "256Gi", "pods": "110", **amounts})
        self.addCleanup(appwrapper_test.CLUSTER.request, "DELETE", f"/api/v1/nodes/{name}")
        appwrapper_test.CLUSTER.wait_nodes_ready()

    def wait_backoff(self, *names):
        for name in names:
            self.wait(f"{name} backs off", lambda one=name:
                      self.status(one).get("queuejobstate") == "Backoff")

    def huge(self, name, **more):
        return wrapper(name, job(name, "sleep", pods=1, cpu="100000"), **more)

    def test_a_one_that_fits_does_not_wait_for_those_before_it_that_do_not(self):
        names = [f"huge-{index}" for index in range(20)]
        self.create(*map(self.huge, names))
        self.wait_backoff(*names)
        begin = time.monotonic()
        self.create(wrapper("small", job("small", "sleep")))
        self.wait("it is dispatched", lambda: self.names("jobs") == ["job.batch/small"], 10)
        self.assertLess(time.monotonic() - begin, 5, "MCAD: 20 s for each before it")

    @alone  # nodes with slots
    def test_b_priority_orders_the_queue(self):
        self.add_node(f"only-{self.namespace}", {"example.com/slot": "1"})

        def one(name, **spec):
            made = job(name, "sleep", pods=1)
            made["spec"]["template"]["spec"]["containers"][0]["resources"] = {
                "limits": {"example.com/slot": "1"}}
            return wrapper(name, made, **spec)
        self.create(one("first"))
        self.wait_state("first", "Running")
        self.create(one("low", priority=1))
        self.wait_backoff("low")
        self.create(one("high", priority=9))
        self.wait_backoff("high")
        self.kubectl("delete", "appwrapper", "first")
        self.wait_state("high", "Running")
        self.assertEqual(self.status("low")["state"], "Pending")

    def requests(self, verb):
        """That the API server has answered so far."""
        text = self.kubectl("get", "--raw", "/metrics")
        return sum(float(line.split()[-1]) for line in text.split("\n")
                   if line.startswith("apiserver_request_total{") and f'verb="{verb}"' in line
                   and re.search(r'resource="(pods|nodes|appwrappers)"', line))

    def test_c_what_waits_asks_nothing_of_the_api_server(self):
        names = [f"huge-{index}" for index in range(20)]
        self.create(*map(self.huge, names))
        self.wait_backoff(*names)
        before = self.requests("LIST")
        time.sleep(3)
        listed = self.requests("LIST") - before
        self.assertLess(listed, 20, "MCAD: 1 + nodes + AppWrappers for each try")

    def test_d_what_failed_stays_failed(self):
        port = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "front"},
                "spec": {"ports": [{"port": 99999}]}}
        self.create(wrapper("bad", port))
        self.wait_state("bad", "Failed")
        version = self.get("bad")["metadata"]["resourceVersion"]
        time.sleep(3)
        self.assertEqual(self.get("bad")["metadata"]["resourceVersion"], version)
        self.server.terminate()
        self.server.start()
        self.create(wrapper("canary", (job("canary"), {"completionstatus": "Complete"})))
        self.wait_state("canary", "Completed")
        self.assertEqual(self.get("bad")["metadata"]["resourceVersion"], version)

    def lame(self, name, **requeuing):
        """Nobody schedules its pods."""
        made = job(name, "sleep", pods=2)
        made["spec"]["template"]["spec"]["schedulerName"] = "nobody"
        return wrapper(name, made, schedulingSpec={"minAvailable": 2, "requeuing": {
            "timeInSeconds": 1, "growthType": "none", "pauseTimeInSeconds": 1, **requeuing}})

    def test_e_the_most_requeuings_are_the_most_also_over_a_restart_n(self):
        def stands(requeues, state):
            status = self.status("lame")
            return (status.get("numberOfRequeueings") == requeues
                    and status.get("queuejobstate") == state)
        # Killed in the pause between two tries, when nothing of it is out; and while it is out.
        self.create(self.lame("lame", maxNumRequeuings=2, timeInSeconds=4, pauseTimeInSeconds=5))
        for state in ("Backoff", "Dispatched"):
            self.wait(f"it was requeued once, and is {state}", lambda one=state: stands(1, one))
            self.server.kill()
            if state == "Backoff":
                self.assertEqual(self.names("jobs"), [])
            self.server.start()
        self.wait_state("lame", "Deleted")
        self.assertEqual(self.server.job(self.status("lame")["muster"]["job"])["attempt"], 3)
        self.assertEqual(self.status("lame")["numberOfRequeueings"], 2)
        self.assertIn(("Deleted", "MaxNumRequeuingsReached"), self.conditions("lame"))
        self.wait("nothing is left", lambda: not self.names("jobs,pods"))

    def test_f_gigabytes_do_not_overflow(self):
        made = job("large", "sleep", pods=2)
        made["spec"]["template"]["spec"]["containers"][0]["resources"] = {
            "requests": {"memory": "5Gi", "cpu": "1"}}
        self.create(wrapper("large", (made, {"custompodresources": [
            {"replicas": 2, "requests": {"cpu": 1, "memory": "5Gi"}}]})))
        self.wait_state("large", "Running")
        self.assertEqual(self.status("large")["totalmemory"], 2 ** 31 - 1, "the most that fits")
        self.assertEqual(self.status("large")["totalcpu"], 2000)

    @alone  # nodes with seats, which no pod of another test has
    def test_h_nodes_that_take_no_pods_do_not_count(self):
        name = f"tainted-{self.namespace}"
        self.add_node(name, {"example.com/seat": "1", "cpu": "4"})
        self.kubectl("taint", "node", name, "keep=out:NoSchedule")
        time.sleep(1)
        made = job("slot", "sleep", pods=1)
        made["spec"]["template"]["spec"]["containers"][0]["resources"] = {
            "limits": {"example.com/seat": "1"}}
        self.create(wrapper("slot", made))
        self.wait_backoff("slot")
        self.assertEqual(self.names("jobs"), [])
        self.kubectl("taint", "node", name, "keep=out:NoSchedule-")
        self.wait_state("slot", "Running")

    def test_i_a_dispatch_duration_is_as_long_as_it_says(self):
        self.create(wrapper("brief", job("brief", "sleep"), schedulingSpec={
            "dispatchDuration": {"limit": 5}}))
        self.wait_state("brief", "Running")
        begin = time.monotonic()
        self.wait_state("brief", "Failed")
        self.assertGreater(time.monotonic() - begin, 2)
        self.assertIn(("PreemptCandidate", "DispatchDeadlineExceeded"), self.conditions("brief"))

    @alone  # its server takes all AppWrappers there are
    def test_j_names_in_other_namespaces_are_others(self):
        self.add_node(f"pair-{self.namespace}", {"example.com/pair": "3", "cpu": "4"})
        first = self.namespace
        self.server.close()
        self.make_namespace(appwrapper_test.CLUSTER)
        kubeconfig = appwrapper_test.CLUSTER.file("admin.kubeconfig")
        self.begin(f"""clusters:
- {{name: real, type: kubernetes, kubeconfig: {kubeconfig}, context: real, namespaces: ['*']}}
appwrappers: {{cluster: real, profile: mcad}}
""")

        def same():
            made = job("same", "sleep", pods=2)
            made["spec"]["template"]["spec"]["containers"][0]["resources"] = {
                "limits": {"example.com/pair": "1"}}
            return wrapper("same", made)
        self.create(same())
        self.wait("both pods run", lambda: self.status("same").get("running") == 2)
        self.namespace, second = first, self.namespace
        self.create(same())
        self.wait_backoff("same")
        self.assertNotIn("running", self.status("same"), "they are of the other one")
        self.namespace, first = second, self.namespace
        self.kubectl("delete", "appwrapper", "same")
        self.namespace = first
        self.wait("both pods run", lambda: self.status("same").get("running") == 2)

    def test_k_a_condition_that_is_false_completes_nothing(self):
        web = deployment("web")
        web["spec"]["template"]["spec"]["schedulerName"] = "nobody"  # Available=False
        self.create(wrapper("web", (web, {"completionstatus": "Available"})))
        self.wait_state("web", "Running")
        self.wait("it is not available", lambda: any(
            (one["type"], one["status"]) == ("Available", "False") for one in
            json.loads(self.kubectl("get", "deployment", "web", "-o", "json",
                                    "--ignore-not-found") or "{}")
            .get("status", {}).get("conditions", [])))
        time.sleep(1)
        self.assertEqual(self.status("web")["state"], "Running")

    def test_l_the_pods_are_counted_while_it_runs(self):
        self.create(wrapper("web", deployment("web")))
        self.wait("both pods run", lambda: self.status("web").get("running") == 2)
        self.kubectl("scale", "deployment", "web", "--replicas=3")
        self.wait("all three run", lambda: self.status("web").get("running") == 3)

    def test_n_what_waited_waits_on_after_a_restart_in_the_same_order(self):
        self.create(self.huge("one"), self.huge("two", priority=5))
        self.wait_backoff("one", "two")
        before = {name: self.get(name) for name in ("one", "two")}
        self.server.kill()
        self.server.start()
        self.create(wrapper("canary", (job("canary"), {"completionstatus": "Complete"})))
        self.wait_state("canary", "Completed")
        for name, was in before.items():
            self.assertEqual(self.get(name)["status"], was["status"])
        jobs = [one["id"] for one in self.waiting_jobs()]
        self.assertEqual(sorted(jobs), sorted(
            was["status"]["muster"]["job"] for was in before.values()))


if __name__ == "__main__":
    sys.exit(run_on(start, __doc__, workers=3))
