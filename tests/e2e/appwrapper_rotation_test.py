#!/usr/bin/env python3
"""A hub whose credentials change while the server runs, on a real Kubernetes: what takes its
AppWrappers and writes their status goes on with the new ones when the old ones are no more.

Usage: appwrapper_rotation_test.py MUSTER [--kubernetes VERSION] [--only PART_OF_A_NAME]
"""
import ssl
import sys
import urllib.error
import urllib.request

import appwrapper_test
import muster_test
from appwrapper_test import WithHub, job, start, wrapper
from on_clusters import run_on
from rbac import grant


class Rotation(WithHub):
    def setUp(self):
        self.binary = muster_test.BINARY
        self.hub = appwrapper_test.CLUSTER
        self.make_namespace(self.hub)

    def account(self, name):
        """A new service account that may do all that is needed: its path and its token."""
        name = f"{self.namespace}-{name}"
        grant(self.binary, self.hub, self.namespace, "--name", name, "--appwrappers",
              "--kinds", "Job")
        path = f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{name}"
        made = self.hub.create(f"{path}/token", {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
        return path, made["status"]["token"]

    def use(self, token):
        return self.hub.write_kubeconfig(f"{self.namespace}.kubeconfig", user={"token": token})

    def is_refused(self, token):
        context = ssl.create_default_context(cafile=self.hub.pki.text("ca.crt"))
        ask = urllib.request.Request(f"{self.hub.url()}/version",
                                     headers={"Authorization": f"Bearer {token}"})
        try:
            with urllib.request.urlopen(ask, context=context, timeout=10):
                return False
        except urllib.error.HTTPError as refusal:
            return refusal.code == 401

    def test_other_credentials_of_the_hub_are_used_at_once(self):
        old, token = self.account("old")
        self.begin_hub(kubeconfig=self.use(token))
        self.create(wrapper("before", (job("before"), {"completionstatus": "Complete"})),
                    wrapper("runs", job("runs", "serve")))
        self.wait_state("before", "Completed")
        self.wait_state("runs", "Running")
        self.use(self.account("new")[1])
        self.wait("they are used", lambda: "the hub has other credentials" in self.server.log())
        self.hub.request("DELETE", old)
        self.wait("the old ones are refused", lambda: self.is_refused(token))
        self.create(wrapper("after", (job("after"), {"completionstatus": "Complete"})))
        self.wait_state("after", "Completed")
        self.assertEqual(self.status("runs")["state"], "Running")
        self.kubectl("delete", "appwrapper", "runs")
        self.wait("its job goes", lambda: "job.batch/runs" not in self.names("jobs"))


if __name__ == "__main__":
    sys.exit(run_on(start, __doc__))
