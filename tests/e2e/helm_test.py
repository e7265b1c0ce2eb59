#!/usr/bin/env python3
"""The Helm chart on a real Kubernetes: what it renders is accepted, understands the values of
MCAD's chart, and is enough for a server that takes AppWrappers.

Usage: helm_test.py MUSTER [--kubernetes VERSION] [--only PART_OF_A_NAME]
"""
import base64
import json
import os
import re
import shlex
import subprocess
import sys
import urllib.request
from pathlib import Path

import appwrapper_test
import muster_test
from appwrapper_test import WithHub, job, start, wrapper
from binaries import find_binaries
from muster_server import Server
from on_clusters import run_on
from processes import free_port

CHART = Path(__file__).resolve().parents[2] / "deploy/helm/muster"
HELM = ""
# As MCAD's own tests install its chart.
OF_MCAD = ["--set", "loglevel=4", "--set", "resources.requests.cpu=1000m",
           "--set", "resources.limits.memory=4096Mi",
           "--set", "image.repository=example.com/muster", "--set", "image.tag=v9",
           "--set", "image.pullPolicy=Always",
           "--set", 'configMap.quotaEnabled="true"', "--set", "configMap.name=mcad-configmap",
           "--set", 'configMap.preemptionEnabled="true"',
           "--set", "quotaManagement.rbac.apiGroup=quota.codeflare.dev",
           "--set", "quotaManagement.rbac.resource=quotasubtrees"]
OWN = ["--set-json", 'config={"clusters": [{"name": "hub", "type": "kubernetes", '
       '"in_cluster": true, "namespaces": ["*"]}], "appwrappers": {"cluster": "hub"}}',
       "--set", "persistence.enabled=false"]
SECRET = ["--set", "imagePullSecret.name=pull", "--set", "imagePullSecret.password=p",
          "--set", "imagePullSecret.registry=example.com", "--set", "imagePullSecret.username=u"]
AGENTS = ["--set", "volumes.hostPath=/agents", "--set", "configMap.dispatcherMode=true",
          "--set", "configMap.agentConfigs=east:uncordon", "--set", "nodeSelector.hostname=n"]


class Chart(WithHub):
    """In a namespace of its own, which is that of the release."""

    def setUp(self):
        self.binary = muster_test.BINARY
        self.make_namespace(appwrapper_test.CLUSTER)

    def render(self, *options):
        """The YAML, and its objects by kind."""
        done = subprocess.run([HELM, "template", "muster", CHART, "-n", self.namespace, *options],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = self.kubectl("create", "-f", "-", "--dry-run=client", "-o", "json",
                            stdin=done.stdout)
        found = {}
        while text.strip():
            made, end = json.JSONDecoder().raw_decode(text.lstrip())
            found[made["kind"]] = made
            text = text.lstrip()[end:]
        return done.stdout, found

    def test_the_api_server_takes_what_is_rendered(self):
        usual = {"ConfigMap", "Deployment", "Service", "ServiceAccount", "ClusterRole",
                 "ClusterRoleBinding", "PersistentVolumeClaim"}
        for options, kinds in (([], usual), (OF_MCAD, usual), (SECRET + AGENTS, {*usual, "Secret"}),
                               (OWN, usual - {"PersistentVolumeClaim"})):
            with self.subTest(" ".join(options)):
                text, found = self.render(*options)
                self.assertEqual(set(found), kinds)
                self.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=text)
                for made in found.values():
                    self.assertEqual(made["metadata"].get("namespace", self.namespace),
                                     self.namespace)

    def test_the_values_of_mcads_chart_are_understood(self):
        _, found = self.render(*OF_MCAD)
        self.assertEqual(found["ConfigMap"]["metadata"]["name"], "mcad-configmap")
        self.assertEqual(found["ConfigMap"]["data"], {
            "QUOTA_ENABLED": "true", "PREEMPTION": "true", "DISPATCHER_MODE": "false"})
        container = found["Deployment"]["spec"]["template"]["spec"]["containers"][0]
        self.assertEqual(container["image"], "example.com/muster:v9")
        self.assertEqual(container["imagePullPolicy"], "Always")
        self.assertEqual(container["resources"]["requests"]["cpu"], "1000m")
        self.assertEqual(found["ClusterRole"]["rules"][-1]["resources"], ["quotasubtrees"])
        _, found = self.render(*AGENTS)
        self.assertEqual(found["ConfigMap"]["data"]["DISPATCHER_AGENT_CONFIGS"], "east:uncordon")
        pod = found["Deployment"]["spec"]["template"]["spec"]
        self.assertEqual(pod["nodeSelector"], {"kubernetes.io/hostname": "n"})
        self.assertIn({"name": "agents", "mountPath": "/root/kubernetes", "readOnly": True},
                      pod["containers"][0]["volumeMounts"])

    def test_a_configuration_in_the_values_is_one(self):
        _, found = self.render(*OWN)
        path = Path(appwrapper_test.CLUSTER.file(f"config-{self.namespace}.yaml"))
        path.write_text(found["ConfigMap"]["data"]["muster.yaml"])
        done = subprocess.run([self.binary, "config", "check", path], capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        args = found["Deployment"]["spec"]["template"]["spec"]["containers"][0]["args"]
        self.assertIn("--config=/etc/muster/muster.yaml", args)

    def test_its_rules_are_those_that_muster_prints(self):
        _, found = self.render()
        command = (CHART / "files/rules.yaml").read_text().splitlines()[0]
        words = shlex.split(re.fullmatch(r"# muster (cluster rbac .*)", command).group(1))
        done = subprocess.run([self.binary, *words, "-o", "json"], capture_output=True, text=True,
                              timeout=60, check=True)
        printed = [one for one in json.loads(done.stdout)["items"] if "rules" in one]
        self.assertEqual([one["kind"] for one in printed], ["ClusterRole"])
        self.assertEqual(found["ClusterRole"]["rules"], printed[0]["rules"],
                         f"{CHART}/files/rules.yaml: its first line says what makes it")

    def in_the_pod(self, found):
        """The server as its container is started, with the account's token and the ConfigMap in
        files, as a node mounts them."""
        token = self.kubectl("create", "token", found["ServiceAccount"]["metadata"]["name"])
        files = Path(appwrapper_test.CLUSTER.file(f"pod-{self.namespace}"))
        files.mkdir()
        (files / "token").write_text(token)
        admin = json.loads(Path(appwrapper_test.CLUSTER.file("admin.kubeconfig")).read_text())
        cluster = admin["clusters"][0]["cluster"]
        (files / "ca.crt").write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
        (files / "kubeconfig").write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "hub",
            "clusters": [{"name": "hub", "cluster": {
                "server": cluster["server"], "certificate-authority": "ca.crt"}}],
            "users": [{"name": "muster", "user": {"tokenFile": "token"}}],
            "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "muster"}}]}))
        (files / "mounted/..data").mkdir(parents=True)
        for key, value in found["ConfigMap"]["data"].items():
            (files / "mounted/..data" / key).write_text(value)
            os.symlink(f"..data/{key}", files / "mounted" / key)
        health = free_port()
        instead = {"--config-map": files / "mounted",
                   "--healthProbeListenAddr": f"127.0.0.1:{health}"}
        args = found["Deployment"]["spec"]["template"]["spec"]["containers"][0]["args"]
        words = [re.sub(r"=.*", f"={instead[name]}", one) if (name := one.split("=")[0]) in instead
                 else one for one in args if not one.startswith(("--listen", "--data-dir"))]
        self.server = Server(self.binary, arguments=words,
                             environment={"KUBECONFIG": str(files / "kubeconfig")})
        self.addCleanup(self.server.close)
        self.server.start()
        return health

    def test_a_server_with_the_charts_account_takes_appwrappers(self):
        text, found = self.render(*OF_MCAD)
        self.kubectl("apply", "--server-side", "-f", "-", stdin=text)
        for kind in ("ClusterRole", "ClusterRoleBinding"):
            self.addCleanup(self.kubectl, "delete", kind, found[kind]["metadata"]["name"])
        health = self.in_the_pod(found)
        with urllib.request.urlopen(f"http://127.0.0.1:{health}/healthz", timeout=10) as answer:
            self.assertEqual(answer.status, 200)
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "front"},
                   "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}}
        self.create(wrapper("first", service, (job("first"), {"completionstatus": "Complete"})))
        self.wait_state("first", "Completed")
        self.assertNotIn("orbidden", self.server.log())


def start_with_helm(options):
    global HELM  # pylint: disable=global-statement
    HELM = str(find_binaries(names=("helm",), build=False) / "helm")
    return start(options)


if __name__ == "__main__":
    sys.exit(run_on(start_with_helm, __doc__))
