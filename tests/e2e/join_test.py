#!/usr/bin/env python3
"""Clusters that join, rotate, fail and leave while the real server runs, on real control planes.

Usage: join_test.py MUSTER [--kubernetes VERSION] [--only PART_OF_A_NAME]

Two clusters, east and west. Every test has a namespace of its own in both, and a server.
"""
import base64
import json
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from clusters import start_all
from control_plane import ControlPlane
from fault_proxy import FaultProxy
from on_clusters import run_on
from pki import Pki, openssl
from processes import free_port
from rbac import grant
from with_server import Server, WithServer

BINARY = ""
EAST = None
WEST = None
IMAGE = "example.com/tool:1"
SECRET = "token-of-nobody"
PROFILES = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "clusterprofiles.multicluster.x-k8s.io", "annotations": {
        "api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements/pull/4322"}},
    "spec": {"group": "multicluster.x-k8s.io", "scope": "Namespaced",
             "names": {"kind": "ClusterProfile", "plural": "clusterprofiles"},
             "versions": [{"name": "v1alpha1", "served": True, "storage": True,
                           "subresources": {"status": {}},
                           "schema": {"openAPIV3Schema": {
                               "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


class WithClusters(WithServer):
    """A namespace of the same name in both clusters, and a server without any."""

    binary = property(lambda _: BINARY)
    clusters = ""  # of the configuration

    def setUp(self):
        self.make_namespace(EAST, WEST)
        self.folder = Path(tempfile.mkdtemp(prefix="muster-join-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def wait(self, what, condition, wait_s=None):
        try:
            return super().wait(what, condition, wait_s)
        except AssertionError as late:
            raise AssertionError(f"{late}\n{self.muster('clusters', '-o', 'wide')}") from late

    def cluster(self, name):
        """As the API has it, or None."""
        status, found, _ = self.server.api("GET", "/clusters")
        self.assertEqual(status, 200, found)
        return next((one for one in found["clusters"] if one["name"] == name), None)

    def wait_ready(self, *names):
        def is_ready(name):
            found = self.cluster(name)
            return found and found["health"] == "ready" and found["nodes"] > 0
        for name in names:
            self.wait(f"{name} is ready", lambda name=name: is_ready(name))

    def wait_running(self, job):
        self.wait_state(job, "Running")

    def run_job(self, cluster, command="true"):
        job = self.server.submit([command], pods=2, gpus=1, clusters=[cluster])
        if command == "true":
            row = self.server.wait_final(job)
            self.assertEqual(row["state"], "Succeeded", (row, self.server.log()[-3000:]))
        return job

    def join(self, kubeconfig, *more, code=0):
        return self.muster("cluster", "join", "--kubeconfig", kubeconfig, "--namespace",
                           self.namespace, "--image", IMAGE, *more, code=code)

    def both(self):
        """One file with the contexts east and west, which names the files of certificates."""
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "east", "clusters": [],
                  "users": [], "contexts": []}
        for cluster in (EAST, WEST):
            name = cluster.name
            config["clusters"].append({"name": name, "cluster": {
                "server": cluster.url(), "certificate-authority": cluster.pki.text("ca.crt")}})
            config["users"].append({"name": name, "user": {
                "client-certificate": cluster.pki.text("admin.crt"),
                "client-key": cluster.pki.text("admin.key")}})
            config["contexts"].append({"name": name, "context": {"cluster": name, "user": name}})
        path = self.folder / "both.kubeconfig"
        path.write_text(json.dumps(config))
        return path

    def assert_hidden(self, secret):
        """It is in no answer, no log and no audit; on disk only the server's user can read it."""
        for path in ("/clusters", "/config", "/audit"):
            self.assertNotIn(secret, json.dumps(self.server.api("GET", path)[1]))
        self.assertNotIn(secret, self.server.log())
        for path in Path(self.server.folder, "data").rglob("*.yaml"):
            mode = stat.S_IMODE(path.stat().st_mode)
            self.assertEqual(mode & 0o077, 0, f"{path} has mode {mode:o}")


class Joining(WithClusters):
    """`muster cluster join`, `rbac` and `leave`."""

    def test_all_contexts_join_stay_over_a_restart_and_work(self):
        self.begin()
        said = self.join(self.both(), "--all-contexts")
        for name in ("east", "west"):
            self.assertRegex(said, rf"(?m)^{name}: joined \(Kubernetes v\d.*, as ")
        self.wait_ready("east", "west")
        self.run_job("east")
        self.server.kill()
        self.server.start()
        self.wait_ready("east", "west")
        self.run_job("west")
        key = base64.b64encode(EAST.pki.path("admin.key").read_bytes()).decode()
        self.assertIn(key[:60], Path(self.server.folder, "data/joined.yaml").read_text())
        self.assert_hidden(key[:60])

    def test_what_is_joined_is_not_joined_again(self):
        self.begin()
        self.join(self.both())
        said = self.join(self.both(), code=1)
        self.assertIn("east: not joined: is joined already, as east", said)
        self.wait_ready("east")
        # Another address, another name, the same cluster: only its UID tells.
        proxy = FaultProxy(EAST.port)
        self.addCleanup(proxy.close)
        other = EAST.write_kubeconfig("other.kubeconfig", cert="admin",
                                      server=f"https://127.0.0.1:{proxy.port}")
        said = self.join(other, "--name", "other", code=1)
        self.assertIn("other: not joined: is joined already, as east", said)
        self.assertIsNone(self.cluster("other"))

    def test_of_several_contexts_those_join_that_can(self):
        self.begin()
        path = self.both()
        config = json.loads(path.read_text())
        dead = {"name": "dead", "cluster": {"server": f"https://127.0.0.1:{free_port()}"}}
        config["clusters"].append(dead)
        config["contexts"].append({"name": "dead", "context": {
            "cluster": "dead", "user": config["users"][0]["name"]}})
        path.write_text(json.dumps(config))
        said = self.join(path, "--all-contexts", code=1)
        self.assertRegex(said, r"(?m)^east: joined")
        self.assertRegex(said, r"(?m)^west: joined")
        self.assertRegex(said, r"(?m)^dead: not joined: cannot be reached: .*refused")
        self.assertIn("1 of 3 contexts were not joined", self.said)
        found = json.loads(self.join(path, "--context", "dead", "-o", "json", code=1))
        self.assertEqual([one["joined"] for one in found], [False])
        self.join(path, "--context", "dead", "--unchecked")
        self.wait("it is shown with the reason",
                  lambda: "refused" in (self.cluster("dead")["reason"] or ""))

    def test_the_printed_rules_are_enough_and_their_lack_is_said(self):
        self.begin()
        poor = EAST.write_kubeconfig("poor.kubeconfig", user={"token": SECRET})
        said = self.join(poor, "--name", "poor", code=1)
        self.assertIn("poor: not joined: permissions are missing", said)
        self.assertIn(f"needed:  create jobs.batch in namespace {self.namespace}", said)
        rules = said[said.index("---"):]
        self.assertIn("kind: Role\n", rules)
        self.assertIn('name: "nobody"', rules)
        self.assertEqual(rules, self.muster("cluster", "rbac", "--namespace", self.namespace,
                                            "--user", "nobody"))
        grant(BINARY, EAST, self.namespace, "--user", "nobody")
        said = self.join(poor, "--name", "poor")
        self.assertRegex(said, r"(?m)^poor: joined \(Kubernetes .*, as nobody\)$")
        self.assertNotIn("missing", said)
        self.wait_ready("poor")
        self.run_job("poor")
        job = self.run_job("poor", "sleep")
        self.wait_running(job)
        self.muster("cancel", job)
        self.assertEqual(self.server.wait_final(job)["state"], "Cancelled")
        self.assert_hidden(SECRET)

    def test_a_dry_run_checks_all_that_it_is_asked_for_also_of_a_joined_cluster(self):
        self.begin()
        poor = EAST.write_kubeconfig("poor.kubeconfig", user={"token": SECRET})
        grant(BINARY, EAST, self.namespace, "--user", "nobody")
        said = self.join(poor, "--name", "poor", "--dry-run")
        self.assertIn("poor: can be joined", said)
        self.assertIsNone(self.cluster("poor"), "it was only asked for")
        lists = ("--kinds", "JobSet,Service")
        said = self.join(poor, "--name", "poor", "--dry-run", *lists, code=1)
        self.assertIn("poor: not joined: permissions are missing", said)
        for needed in ("create configmaps", "create jobsets.jobset.x-k8s.io", "watch services"):
            self.assertIn(f"needed:  {needed} in namespace {self.namespace}", said)
        self.assertEqual(said[said.index("---"):], self.muster(
            "cluster", "rbac", "--namespace", self.namespace, "--user", "nobody", *lists))
        self.join(poor, "--name", "poor")
        said = self.join(poor, "--name", "poor", "--dry-run")
        self.assertIn("poor: is joined already, as poor (Kubernetes ", said)
        said = self.join(poor, "--name", "poor", "--dry-run", *lists, code=1)
        self.assertIn("poor: is joined already, as poor: permissions are missing", said)

    def test_a_service_account_of_the_manifest_can_do_the_work(self):
        grant(BINARY, EAST, self.namespace, "--name", "queue")
        token = EAST.create(
            f"/api/v1/namespaces/{self.namespace}/serviceaccounts/queue/token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
        self.begin()
        said = self.join(EAST.write_kubeconfig(
            "account.kubeconfig", user={"token": token["status"]["token"]}), "--name", "account")
        self.assertIn(f"as system:serviceaccount:{self.namespace}:queue", said)
        self.wait_ready("account")
        self.run_job("account")

    def test_programs_for_credentials_run_only_if_the_operator_allowed_them(self):
        script = self.folder / "creds"
        script.write_text('#!/bin/sh\necho \'{"apiVersion":"client.authentication.k8s.io/v1",'
                          '"kind":"ExecCredential","status":{"token":"%s"}}\'\n' % SECRET)
        script.chmod(0o755)
        kubeconfig = EAST.write_kubeconfig("exec.kubeconfig", user={"exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": str(script),
            "interactiveMode": "Never"}})
        grant(BINARY, EAST, self.namespace, "--user", "nobody")
        self.begin()
        said = self.join(kubeconfig, "--name", "exec", code=1)
        self.assertIn("exec_plugins", said)
        self.server.write_config(f"exec_plugins: [{script}]\n")
        self.server.terminate()
        self.server.start()
        self.join(kubeconfig, "--name", "exec")
        self.wait_ready("exec")
        self.run_job("exec")
        self.assert_hidden(SECRET)

    def services(self, cluster):
        return cluster.get(f"/api/v1/namespaces/{self.namespace}/services")[1]["items"]

    def left_behind(self, cluster, *namespaces):
        """What Muster made there and is still there."""
        paths = {"/api/v1": ("services", "secrets", "configmaps", "pods"),
                 "/apis/batch/v1": ("jobs",)}
        return [f"{kind}/{one['metadata']['name']} in {namespace}"
                for base, kinds in paths.items() for kind in kinds for namespace in namespaces
                for one in cluster.get(f"{base}/namespaces/{namespace}/{kind}")[1]["items"]
                if any(label.startswith("muster.dev/")
                       for label in one["metadata"].get("labels", {}))]

    def leave_nothing(self, *join):
        """Of gangs in two namespaces that ended a moment ago nothing is left when it has left."""
        own = self.namespace
        self.make_namespace(EAST)
        other, self.namespace = self.namespace, own
        self.begin()
        join = [word.format(other=other) for word in join]
        grant(BINARY, EAST, own, "--user", "nobody", "--kinds", "Job,ConfigMap", *join)
        self.join(EAST.write_kubeconfig("some.kubeconfig", user={"token": SECRET}),
                  "--name", "east", *join)
        self.wait_ready("east")
        listed = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {
            "name": "listed", "namespace": other}, "spec": {"template": {"spec": {
                "restartPolicy": "Never", "containers": [
                    {"name": "main", "image": "none", "command": ["true"]}]}}}}
        jobs = [self.server.submit(["true"], pods=2, gpus=1, clusters=["east"], namespace=namespace,
                                   files=[{"path": "data.txt", "content": "data"}])
                for namespace in (own, other)]
        beside = {"apiVersion": "v1", "kind": "ConfigMap",
                  "metadata": {"name": "beside", "namespace": other}}
        status, made, _ = self.server.api("POST", "/jobs", {"objects": [beside, listed],
                                                            "clusters": ["east"]})
        self.assertEqual(status, 201, made)
        for job in [*jobs, *made["ids"]]:
            self.assertEqual(self.server.wait_final(job)["state"], "Succeeded", self.server.log())
        left = self.left_behind(EAST, own, other)
        for kind, count in {"services": 2, "secrets": 2, "configmaps": 2, "jobs": 3}.items():
            self.assertEqual(sum(one.startswith(kind) for one in left), count, (kind, left))
        self.assertIn("cluster east left", self.muster("cluster", "leave", "east"))
        self.wait("nothing is left behind", lambda: not self.left_behind(EAST, own, other))

    def test_what_leaves_takes_what_ended_along_from_every_namespace_it_names(self):
        self.leave_nothing("--namespaces", "{other}")

    def test_what_leaves_takes_what_ended_along_from_all_namespaces_there_are(self):
        self.leave_nothing("--namespaces", "*")

    def test_what_is_left_running_keeps_what_it_needs(self):
        self.begin()
        self.join(self.both(), "--namespaces", "*")
        self.wait_ready("east")
        job = self.run_job("east", "sleep")
        self.wait_running(job)
        self.run_job("east")
        self.muster("cluster", "leave", "east", "--force")
        self.wait("what ended is gone", lambda: len(
            [one for one in self.left_behind(EAST, self.namespace) if "jobs/" in one]) == 1)
        pods = EAST.get(f"/api/v1/namespaces/{self.namespace}/pods")[1]["items"]
        self.assertEqual(len(pods), 2)
        for pod in pods:  # they find each other by it
            self.assertIn(pod["spec"]["subdomain"],
                          [service["metadata"]["name"] for service in self.services(EAST)])

    def test_leaving_waits_for_jobs_unless_told_otherwise(self):
        self.begin()
        self.join(self.both(), "--all-contexts")
        self.wait_ready("east", "west")
        job = self.run_job("east", "sleep")
        self.wait_running(job)
        self.muster("cluster", "leave", "east", "--no-wait")
        self.assertIn("takes no new jobs; 1 still runs there", self.said)
        self.assertTrue(self.cluster("east")["leaving"])
        self.assertEqual(self.cluster("east")["health"], "cordoned")
        self.server.kill()  # it is not forgotten
        self.server.start()
        self.assertTrue(self.cluster("east")["leaving"])
        self.assertEqual(self.server.job(job)["state"], "Running")
        self.assertEqual(len(self.services(EAST)), 1, "by which the pods of gangs find each other")
        self.muster("cancel", job)
        self.wait("it has left", lambda: self.cluster("east") is None)
        self.wait("nothing is left behind", lambda: not self.services(EAST))
        # One that can run elsewhere moves there.
        job = self.server.submit(["sleep"], pods=1, gpus=1)
        self.wait_running(job)
        self.join(self.both(), "--context", "east")
        self.wait_ready("east")
        said = self.muster("cluster", "leave", "west", "--now")
        self.assertIn("cluster west left", said)
        self.wait("it runs elsewhere", lambda: self.server.job(job)["cluster"] == "east"
                  and self.server.job(job)["state"] == "Running")


class Sickness(WithClusters):
    """One sick cluster never stops the rest."""

    def config(self, **kubeconfigs):
        return "clusters:\n" + "".join(
            f"- {{name: {name}, type: kubernetes, kubeconfig: {path}, "
            f"namespace: {self.namespace}, image: '{IMAGE}', grace: 2s}}\n"
            for name, path in kubeconfigs.items())

    def reason(self, name):
        return (self.cluster(name) or {}).get("reason") or ""

    def test_a_cluster_that_is_down_at_the_start_takes_work_when_it_comes_up(self):
        proxy = FaultProxy(WEST.port)
        self.addCleanup(proxy.close)
        proxy.refuse()
        self.begin(self.config(
            east=EAST.file("admin.kubeconfig"),
            west=WEST.write_kubeconfig("late.kubeconfig", cert="admin",
                                       server=f"https://127.0.0.1:{proxy.port}")))
        self.wait_ready("east")
        self.run_job("east")
        self.wait("west is unreachable", lambda: self.cluster("west")["health"] == "unreachable")
        self.assertNotEqual(self.reason("west"), "")
        self.assertRegex(self.muster("cluster", "list", "-o", "wide"),
                         r"(?m)^west .* unreachable .*127\.0\.0\.1")
        self.assertIn("warning: cluster west cannot be reached", self.said)
        listed = json.loads(self.muster("cluster", "list", "-o", "json"))
        self.assertEqual([bool(one["reason"]) for one in listed], [False, True], listed)
        self.assertRegex(self.muster("cluster", "show", "west"), r"(?m)^reason +\S")
        self.muster("nodes")
        self.assertIn("warning: cluster west cannot be reached", self.said)
        waiting = self.server.submit(["true"], pods=2, gpus=1, clusters=["west"])
        proxy.refuse(False)
        self.wait_ready("west")
        self.assertEqual(self.server.wait_final(waiting)["state"], "Succeeded")
        self.assertIsNone(self.cluster("west")["reason"])
        self.wait("it says who it is", lambda: self.cluster("west")["version"])
        self.assertRegex(self.muster("cluster", "show", "west"), r"(?m)^version +v1\.\d+\.\d")
        self.assertRegex(self.muster("cluster", "show", "west"), r"(?m)^user +\S")

    def test_the_reason_says_what_is_wrong(self):
        pki = Pki(self.folder / "other")
        pki.issue("admin", "admin", groups=["system:masters"])
        expired = Pki(self.folder / "expired")
        expired.issue("server", "127.0.0.1", addresses=["127.0.0.1"])
        openssl("x509", "-req", "-in", expired.text("server.csr"), "-CA", expired.text("ca.crt"),
                "-CAkey", expired.text("ca.key"), "-CAcreateserial", "-days", "-1", "-extfile",
                expired.text("server.ext"), "-out", expired.text("server.crt"))
        port = free_port()
        stale = subprocess.Popen(  # its certificate is no longer valid
            ["openssl", "s_server", "-quiet", "-accept", f"127.0.0.1:{port}", "-cert",
             expired.text("server.crt"), "-key", expired.text("server.key")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.PIPE)
        self.addCleanup(lambda: (stale.kill(), stale.wait(), stale.stdin.close()))
        stale_config = self.folder / "stale"
        stale_config.write_text(json.dumps({
            "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c"}}],
            "clusters": [{"name": "c", "cluster": {
                "server": f"https://127.0.0.1:{port}",
                "certificate-authority": expired.text("ca.crt")}}]}))
        self.begin(self.config(
            east=EAST.file("admin.kubeconfig"),
            refused=EAST.write_kubeconfig("refused.kubeconfig", cert="admin",
                                          server=f"https://127.0.0.1:{free_port()}"),
            stranger=EAST.write_kubeconfig("stranger.kubeconfig", user={"token": "nobody-knows"}),
            stale=stale_config,
            missing=self.folder / "missing"))
        self.wait_ready("east")
        self.run_job("east")
        for name, words in {"refused": "refused", "stranger": "Unauthorized", "stale": "expired",
                            "missing": "kubeconfig: "}.items():
            self.wait(f"{name} says {words}", lambda name=name, words=words: words.lower() in
                      self.reason(name).lower())
            self.assertEqual(self.cluster(name)["health"], "unreachable")
        # What was missing is looked for again and again.
        shutil.copy(WEST.file("admin.kubeconfig"), self.folder / "missing")
        self.wait_ready("missing")
        self.run_job("missing")

    def test_what_reran_elsewhere_is_removed_when_the_cluster_comes_back(self):
        proxy = FaultProxy(WEST.port)
        self.addCleanup(proxy.close)
        self.begin(self.config(west=WEST.write_kubeconfig(
            "cut.kubeconfig", cert="admin", server=f"https://127.0.0.1:{proxy.port}")))
        self.wait_ready("west")
        stays = self.run_job("west", "sleep")
        moves = self.server.submit(["sleep"], pods=2, gpus=1, on_cluster_loss="rerun")
        self.wait_running(stays)
        self.wait_running(moves)
        self.join(self.both(), "--context", "east")
        self.wait_ready("east")
        proxy.refuse()
        self.wait("it runs again in east", lambda: self.server.job(moves)["cluster"] == "east"
                  and self.server.job(moves)["state"] == "Running", wait_s=90)
        self.assertEqual(self.server.job(stays)["cluster"], "west")
        self.assertEqual(self.pods_of(WEST, moves), 2, "nobody could remove them")
        proxy.refuse(False)
        self.wait("the old attempt is gone", lambda: self.pods_of(WEST, moves) == 0, wait_s=90)
        self.assertEqual(self.pods_of(EAST, moves), 2)
        self.assertEqual(self.pods_of(WEST, stays), 2)
        self.wait("west is ready", lambda: self.cluster("west")["health"] == "ready")
        self.run_job("west")

    def pods_of(self, cluster, job):
        _, found = cluster.get(f"/api/v1/namespaces/{self.namespace}/pods")
        return sum(pod["metadata"].get("annotations", {}).get("muster.dev/job-id") == job
                   and not pod["metadata"].get("deletionTimestamp") for pod in found["items"])


class Sources(WithClusters):
    """Clusters that are found: in a folder, in Secrets, by ClusterProfiles."""

    def source(self, text):
        return (f"cluster_sources:\n- {text}\n  namespace: {self.namespace}\n"
                f"  image: '{IMAGE}'\n")

    def kubeconfig(self, cluster, context, **user):
        """One that needs no files."""
        ca = base64.b64encode(cluster.pki.path("ca.crt").read_bytes()).decode()
        return json.dumps({
            "current-context": context, "users": [{"name": "u", "user": user}],
            "clusters": [{"name": "k", "cluster": {
                "server": cluster.url(),
                "certificate-authority-data": ca}}],
            "contexts": [{"name": context, "context": {"cluster": "k", "user": "u"}}]})

    def test_a_file_in_the_folder_joins_rotates_and_leaves(self):
        directory = self.folder / "clusters"
        directory.mkdir()
        self.begin(self.source(f"directory: {directory}"))
        grant(BINARY, WEST, self.namespace, "--user", "nobody")
        file = directory / "west.yaml"
        file.write_text(self.kubeconfig(WEST, "found", token=SECRET))
        self.wait_ready("found")
        job = self.run_job("found", "sleep")
        self.wait_running(job)
        self.assert_hidden(SECRET)
        # Credentials that are refused, and others again.
        file.write_text(self.kubeconfig(WEST, "found", token="wrong"))
        self.wait("it is refused", lambda: "nauthorized" in (self.cluster("found")["reason"] or ""))
        file.write_text("half a file: [")
        time.sleep(2)
        self.assertIsNotNone(self.cluster("found"), "a broken file takes nothing away")
        file.write_text(self.kubeconfig(WEST, "found", token=SECRET))
        self.wait_ready("found")
        self.assertEqual(self.server.job(job)["attempt"], 1)
        file.unlink()
        self.wait("it leaves", lambda: self.cluster("found")["leaving"])
        self.server.kill()
        self.server.start()
        self.assertTrue(self.cluster("found")["leaving"], "also after a restart")
        self.muster("cancel", job)
        self.wait("it has left", lambda: self.cluster("found") is None)

    def test_another_description_of_a_found_cluster_holds_for_new_jobs(self):
        directory = self.folder / "clusters"
        directory.mkdir()
        grant(BINARY, WEST, self.namespace, "--user", "nobody")
        (directory / "west.yaml").write_text(self.kubeconfig(WEST, "found", token=SECRET))
        self.begin(self.source(f"directory: {directory}"))
        self.wait_ready("found")
        old = self.run_job("found", "sleep")
        self.wait_running(old)
        other = "example.com/tool:2"
        self.server.write_config(
            self.source(f"directory: {directory}").replace(IMAGE, other))
        self.assertNotIn("restart", self.muster("config", "reload"))
        self.wait("it is taken over", lambda: "describes it otherwise" in self.server.log())
        self.wait_ready("found")
        new = self.run_job("found", "sleep")
        self.wait_running(new)
        self.assertEqual(self.images_of(WEST, new), {other})
        self.assertEqual(self.images_of(WEST, old), {IMAGE})
        self.assertEqual(self.server.job(old)["attempt"], 1, "it went on")

    def images_of(self, cluster, job):
        _, found = cluster.get(f"/api/v1/namespaces/{self.namespace}/pods")
        return {container["image"] for pod in found["items"]
                if pod["metadata"].get("annotations", {}).get("muster.dev/job-id") == job
                for container in pod["spec"]["containers"]}

    def hub(self):
        return (f"clusters:\n- {{name: hub, type: kubernetes, namespace: {self.namespace}, "
                f"kubeconfig: {EAST.file('admin.kubeconfig')}, image: '{IMAGE}'}}\n")

    def secret(self, name, text, labels=None):
        EAST.create(f"/api/v1/namespaces/{self.namespace}/secrets", {
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": name, "labels": labels or {}},
            "data": {"kubeconfig": base64.b64encode(text.encode()).decode()}})

    def test_labelled_secrets_of_a_hub_are_clusters(self):
        self.begin(self.hub() + self.source(
            f"secrets: {{cluster: hub, namespace: {self.namespace}}}"))
        grant(BINARY, WEST, self.namespace, "--user", "nobody")
        self.secret("one", self.kubeconfig(WEST, "one", token=SECRET), {"muster.dev/cluster": ""})
        self.secret("not", self.kubeconfig(WEST, "not", token=SECRET))
        self.wait_ready("hub", "one")
        self.run_job("one")
        self.assertIsNone(self.cluster("not"))
        self.assert_hidden(SECRET)
        EAST.request("DELETE", f"/api/v1/namespaces/{self.namespace}/secrets/one")
        self.wait("it has left", lambda: self.cluster("one") is None)

    def test_a_bad_secret_keeps_no_other_from_joining_and_leaving(self):
        self.begin(self.hub() + self.source(
            f"secrets: {{cluster: hub, namespace: {self.namespace}}}"))
        grant(BINARY, WEST, self.namespace, "--user", "nobody")
        label = {"muster.dev/cluster": ""}
        EAST.create(f"/api/v1/namespaces/{self.namespace}/secrets", {
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "a-other-key", "labels": label}, "stringData": {"config": "x"}})
        self.secret("b-no-kubeconfig", "half a file: [", label)
        self.secret("good", self.kubeconfig(WEST, "good", token=SECRET), label)
        self.wait_ready("hub", "good")
        self.assertIn("has no key kubeconfig", self.server.log())
        EAST.request("DELETE", f"/api/v1/namespaces/{self.namespace}/secrets/good")
        self.wait("it has left", lambda: self.cluster("good") is None)

    def test_a_secret_names_no_files_and_runs_no_programs(self):
        self.begin(self.hub() + self.source(
            f"secrets: {{cluster: hub, namespace: {self.namespace}}}"))
        self.secret("file", self.kubeconfig(WEST, "file", tokenFile="/etc/hostname"),
                    {"muster.dev/cluster": ""})
        self.wait("it is refused", lambda: "names a file" in self.server.log())
        self.assertIsNone(self.cluster("file"))

    def test_a_kubeconfig_from_a_secret_of_another_cluster(self):
        grant(BINARY, WEST, self.namespace, "--user", "nobody")
        self.secret("west", self.kubeconfig(WEST, "west", token=SECRET))
        self.begin(self.hub() + (
            f"- {{name: west, type: kubernetes, namespace: {self.namespace}, image: '{IMAGE}', "
            f"kubeconfig_secret: {{cluster: hub, namespace: {self.namespace}, name: west}}}}\n"))
        self.wait_ready("hub", "west")
        self.run_job("west")

    @unittest.skipIf(subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"],
                                    capture_output=True, check=False).returncode, "needs root")
    def test_a_server_in_a_pod_uses_the_cluster_around_it(self):
        grant(BINARY, EAST, self.namespace, "--name", "queue")
        token = EAST.create(
            f"/api/v1/namespaces/{self.namespace}/serviceaccounts/queue/token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
        account = self.folder / "account"
        account.mkdir()
        (account / "token").write_text(token["status"]["token"])
        (account / "namespace").write_text(self.namespace)
        shutil.copy(EAST.pki.path("ca.crt"), account)
        in_pod = self.folder / "in_pod"  # only there are the files where a pod has them
        in_pod.write_text(f"""#!/bin/sh
exec unshare --mount sh -ec 'mount -t tmpfs none /var/run
mkdir -p /var/run/secrets/kubernetes.io
cp -r {account} /var/run/secrets/kubernetes.io/serviceaccount
exec {BINARY} "$@"' sh "$@"
""")
        in_pod.chmod(0o755)
        self.server = Server(in_pod, f"clusters:\n- {{name: around, type: kubernetes, "
                             f"in_cluster: true, image: '{IMAGE}'}}\n",
                             environment={"KUBERNETES_SERVICE_HOST": EAST.host,
                                          "KUBERNETES_SERVICE_PORT": str(EAST.port)})
        self.addCleanup(self.server.close)
        self.server.start()
        self.wait_ready("around")
        self.run_job("around")

    def test_cluster_profiles_of_a_hub_are_clusters(self):
        EAST.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", PROFILES)
        base = f"/apis/multicluster.x-k8s.io/v1alpha1/namespaces/{self.namespace}/clusterprofiles"
        grant(BINARY, WEST, self.namespace, "--user", "nobody")
        script = self.folder / "creds"
        script.write_text('#!/bin/sh\necho \'{"apiVersion":"client.authentication.k8s.io/v1",'
                          '"kind":"ExecCredential","status":{"token":"%s"}}\'\n' % SECRET)
        script.chmod(0o755)
        providers = self.folder / "providers.json"
        providers.write_text(json.dumps({"providers": [{"name": "ours", "execConfig": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": str(script)}}]}))
        self.begin(self.hub() + self.source(
            f"profiles: {{cluster: hub, namespace: {self.namespace}, providers: {providers}}}"))
        self.wait("the kind is served", lambda: EAST.get(base)[0] == 200)
        EAST.create(base, {
            "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
            "metadata": {"name": "profiled"},
            "spec": {"displayName": "x", "clusterManager": {"name": "tests"}}})
        ca = base64.b64encode(WEST.pki.path("ca.crt").read_bytes()).decode()
        status, answer = EAST.request("PATCH", f"{base}/profiled/status", {"status": {
            "accessProviders": [{"name": "ours", "cluster": {
                "server": WEST.url(),
                "certificate-authority-data": ca}}]}}, "application/merge-patch+json")
        self.assertEqual(status, 200, answer)
        self.wait_ready("hub", "profiled")
        self.run_job("profiled")


def start(options):
    global BINARY, EAST, WEST  # pylint: disable=global-statement
    BINARY = options.binary
    EAST, WEST = (ControlPlane(name, options.kubernetes) for name in ("east", "west"))
    start_all([EAST, WEST])
    for cluster in (EAST, WEST):
        cluster.add_nodes(4, gpus=8)
    return [EAST, WEST]


if __name__ == "__main__":
    sys.exit(run_on(start, __doc__, workers=3, first=[Sickness]))
