#!/usr/bin/env python3
"""`muster serve --profile mcad` reads what MCAD's controller reads, without any cluster there.

Usage: mcad_test.py MUSTER [unittest arguments]
"""
import json
import os
import re
import sys
import unittest
import urllib.error
import urllib.request

from muster_server import Server
from ports import free_port

BINARY = ""
CONFIG_MAP = """apiVersion: v1
kind: ConfigMap
metadata: {{name: mcad-controller-configmap, namespace: kube-system}}
data:
  QUOTA_ENABLED: "{quota}"
  PREEMPTION: "true"
  BACKOFFTIME: "20"
"""


class Mcad(unittest.TestCase):
    """Nobody answers at the kubeconfig's address; the server starts all the same."""

    def make_server(self, *arguments, **environment):
        server = Server(BINARY, arguments=["--profile", "mcad", *arguments])
        self.addCleanup(server.close)
        for name in ("QUOTA_ENABLED", "PREEMPTION", "DYNAMICPRIORITY", "DISPATCHER_MODE",
                     "DISPATCHER_AGENT_CONFIGS", "KUBERNETES_SERVICE_HOST"):
            server.environment.pop(name, None)
        server.environment.update(KUBECONFIG=self.kubeconfig(server, "c"), **environment)
        return server

    def kubeconfig(self, server, name):
        return self.write(server, f"{name}.kubeconfig", json.dumps({
            "clusters": [{"name": name, "cluster": {
                "server": f"https://127.0.0.1:{free_port()}"}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": "u"}}],
            "current-context": name}))

    def write(self, server, name, text):
        path = os.path.join(server.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def refusal(self, server):
        with self.assertRaises(AssertionError):
            server.start()
        return server.log()

    def quota(self, server):
        server.start()
        return re.search(r"quota: (\w+)", server.api("GET", "/config")[1]["yaml"]).group(1)

    def test_the_manifest_of_its_config_map(self):
        server = self.make_server()
        server.arguments += ["--config-map", self.write(server, "cm.yaml",
                                                        CONFIG_MAP.format(quota="true"))]
        self.assertEqual(self.quota(server), "true")
        self.assertIn("no effect: BACKOFFTIME", server.log())

    def test_its_config_map_as_a_pod_has_it(self):
        server = self.make_server()
        self.write(server, "mounted/..2026_01/QUOTA_ENABLED", "true\n")
        folder = os.path.join(server.folder, "mounted")
        os.symlink("..2026_01", os.path.join(folder, "..data"))
        os.symlink("..data/QUOTA_ENABLED", os.path.join(folder, "QUOTA_ENABLED"))
        server.arguments += ["--config-map", folder]
        self.assertEqual(self.quota(server), "true")

    def test_the_environment_goes_before_it_and_flags_before_that(self):
        server = self.make_server(QUOTA_ENABLED="false")
        path = self.write(server, "cm.yaml", CONFIG_MAP.format(quota="true"))
        server.arguments += ["--config-map", path]
        self.assertEqual(self.quota(server), "false")
        server = self.make_server("--quotaEnabled", "true", "--config-map", path,
                                  QUOTA_ENABLED="false")
        self.assertEqual(self.quota(server), "true")

    def test_the_command_line_of_its_chart(self):
        server = self.make_server("--v", "4", "--logtostderr", "--quotaEnabled")
        self.assertEqual(self.quota(server), "true")
        for flag in ("--v", "--logtostderr"):
            self.assertIn(f"no effect: {flag}: Muster writes its own log", server.log())

    def test_its_switches_are_those_of_go(self):
        server = self.make_server("--dynamicpriority=false", "--quotaEnabled=false",
                                  "--stderrthreshold=INFO", QUOTA_ENABLED="true")
        self.assertEqual(self.quota(server), "false")
        server = self.make_server("--preemption", "--dispatcher=false")
        server.start()
        self.assertNotIn("evictions_per_round: 0", server.api("GET", "/config")[1]["yaml"])
        self.assertIn("'sometimes' is neither true nor false",
                      self.refusal(self.make_server("--preemption=sometimes")))

    def test_a_dispatcher_has_its_agents_as_clusters_and_an_agent_has_none(self):
        server = self.make_server("--dispatcher")
        agents = ",".join(f"{self.kubeconfig(server, name)}:uncordon" for name in ("east", "west"))
        server.arguments += ["--agentconfigs", agents]
        self.assertEqual(self.clusters(server), ["c", "east", "west"])
        server = self.make_server(DISPATCHER_MODE="true", DISPATCHER_AGENT_CONFIGS=agents)
        self.assertEqual(self.clusters(server), ["c", "east", "west"])
        server = self.make_server("--dispatcher=false", DISPATCHER_AGENT_CONFIGS=agents)
        self.assertEqual(self.clusters(server), ["c"])
        self.assertIn("no effect: DISPATCHER_AGENT_CONFIGS", server.log())
        server = self.make_server("--dispatcher", "--agentconfigs", "nowhere.yaml:uncordon")
        self.assertIn("kubernetes/nowhere.yaml", self.refusal(server))

    def clusters(self, server):
        server.start()
        return sorted(one["name"] for one in server.api("GET", "/clusters")[1]["clusters"])

    def test_with_dynamic_priorities_nobody_is_evicted(self):
        for given, evicts in ((["--preemption"], True), (["--preemption", "--dynamicpriority"],
                                                         False)):
            server = self.make_server(*given)
            server.start()
            yaml = server.api("GET", "/config")[1]["yaml"]
            self.assertEqual("evictions_per_round: 0" not in yaml, evicts)
        self.assertIn("no effect: DYNAMICPRIORITY: priorities do not grow", server.log())

    def test_what_is_wrong_with_it_is_said(self):
        server = self.make_server()
        path = self.write(server, "cm.yaml", CONFIG_MAP.format(quota="maybe"))
        server.arguments += ["--config-map", path]
        self.assertIn("'maybe' is neither true nor false", self.refusal(server))
        server = self.make_server("--config-map", "/nowhere/at/all")
        self.assertIn("config-map: /nowhere/at/all: ", self.refusal(server))
        server = self.make_server()
        server.arguments += ["--config-map", self.write(server, "none.yaml", "a: b\n")]
        self.assertIn("no ConfigMap with data", self.refusal(server))

    def test_its_health_has_a_port_of_its_own(self):
        port = free_port()
        server = self.make_server("--healthProbeListenAddr", f"127.0.0.1:{port}")
        server.start()
        for path, status in (("/healthz", 200), ("/readyz", 404), ("/api/muster/v1/jobs", 404)):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as one:
                    self.assertEqual(one.status, status, path)
            except urllib.error.HTTPError as answer:
                self.assertEqual(answer.code, status, path)


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main(verbosity=2)
