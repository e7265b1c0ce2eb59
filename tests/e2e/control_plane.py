"""Real Kubernetes control planes on loopback: etcd, API server, controllers, scheduler and kwok.

Each one has a folder and ports of its own; any number run side by side. Nothing outlives the
process that started them. Standard library only.
"""
import base64
import http.client
import json
import os
import shutil
import ssl
import tempfile
import time
from pathlib import Path

from binaries import BARE, CONTROL_PLANE, KUBERNETES, find_binaries, number_of
from pki import Pki
from processes import Daemon, free_port, wait_until

TOKENS = {  # token -> user, groups
    "token-of-admin": ("token-admin", "system:masters"),
    "token-of-nobody": ("nobody", "strangers"),
}


class ControlPlane:
    """One cluster. start() returns when it is healthy; stop() when all its processes are gone."""
    domain = "cluster.local"  # of the names of its Services

    def __init__(self, name="one", version=KUBERNETES, folder=None, is_bare=False, api_flags=(),
                 programs=CONTROL_PLANE):
        """Bare: only etcd and the API server, without controllers and nodes."""
        self.name = name
        self.version = number_of(version)
        self.host = "127.0.0.1"  # where the API server listens
        self.is_bare = is_bare
        self.binaries = find_binaries(version, BARE if is_bare else programs, build=False)
        self.owns_folder = folder is None
        self.folder = Path(folder or tempfile.mkdtemp(prefix=f"muster-kube-{name}-"))
        self.folder.mkdir(parents=True, exist_ok=True)
        self.api_flags = list(api_flags)
        self.etcd_port, self.peer_port = free_port(), free_port()
        self.port, self.controller_port = free_port(), free_port()
        self.scheduler_port = free_port()
        self.pki = Pki(self.folder / "pki")
        self.daemons = {}
        self.tls = None

    # --- files

    def file(self, name):
        return str(self.folder / name)

    def make_files(self):
        pki = self.pki
        addresses = sorted({"127.0.0.1", self.host, "10.96.0.1"})
        pki.issue("apiserver", "kube-apiserver", addresses=addresses,
                  names=["localhost", "kubernetes", "kubernetes.default.svc", "apiserver.test"])
        pki.issue("admin", "admin", groups=["system:masters"])
        pki.issue("controllers", "system:kube-controller-manager")
        pki.issue("scheduler", "system:kube-scheduler")
        pki.issue_signer("accounts")
        rows = [f'{token},{user},{user},"{groups}"' for token, (user, groups) in TOKENS.items()]
        Path(self.file("tokens.csv")).write_text("\n".join(rows) + "\n")
        self.write_kubeconfig("admin.kubeconfig", cert="admin")
        self.write_kubeconfig("controllers.kubeconfig", cert="controllers")
        self.write_kubeconfig("scheduler.kubeconfig", cert="scheduler")
        self.tls = ssl.create_default_context(cafile=pki.text("ca.crt"))
        self.tls.load_cert_chain(pki.text("admin.crt"), pki.text("admin.key"))

    def write_kubeconfig(self, name, cert=None, user=None, server=None, context=None):
        """With a client certificate of the pki, or any user entry; JSON, which is YAML."""
        data = {key: base64.b64encode(self.pki.path(file).read_bytes()).decode()
                for key, file in (("ca", "ca.crt"),
                                  *((("cert", cert + ".crt"), ("key", cert + ".key"))
                                    if cert else ()))}
        entry = user or {"client-certificate-data": data["cert"], "client-key-data": data["key"]}
        context = context or self.name
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": context,
            "clusters": [{"name": context, "cluster": {
                "server": server or self.url(), "certificate-authority-data": data["ca"]}}],
            "users": [{"name": context + "-user", "user": entry}],
            "contexts": [{"name": context, "context": {
                "cluster": context, "user": context + "-user"}}]}
        Path(self.file(name)).write_text(json.dumps(config, indent=1))
        return self.file(name)

    def url(self):
        return f"https://{self.host}:{self.port}"

    # --- processes

    def start(self):
        self.make_files()
        self.start_etcd()
        self.start_api()
        if not self.is_bare:
            self.start_controllers()
            self.start_scheduler()
            self.start_kwok()
            self.wait("the default service account", lambda: self.get(
                "/api/v1/namespaces/default/serviceaccounts/default")[0] == 200)
        return self

    def start_controllers(self):
        self.daemon("controllers", [
            self.binaries / "kube-controller-manager",
            "--kubeconfig", self.file("controllers.kubeconfig"),
            "--authentication-kubeconfig", self.file("controllers.kubeconfig"),
            "--authorization-kubeconfig", self.file("controllers.kubeconfig"),
            "--bind-address", "127.0.0.1", "--secure-port", self.controller_port,
            "--leader-elect=false", "--use-service-account-credentials=true",
            "--service-account-private-key-file", self.pki.text("accounts.key"),
            "--root-ca-file", self.pki.text("ca.crt"), "--cert-dir", self.file("controllers"),
            # No node is lost because its kwok, or the whole machine, was busy: leases are renewed
            # every 50 s (start_kwok), and Kubernetes bears no more by default (40 s before 1.32).
            # Its pods would be marked as not ready, which kwok never sets back. Patience costs
            # nothing, shorter leases cost every idle cluster writes. Tests of lost nodes delete or
            # taint them.
            "--node-monitor-grace-period=300s",
            # node-lifecycle stays on: it removes the not-ready taint that each new node gets.
            "--controllers=*,-node-ipam-controller,-node-route-controller,-service-lb-controller",
        ]).start()

    def start_scheduler(self):
        self.daemon("scheduler", [
            self.binaries / "kube-scheduler",
            "--kubeconfig", self.file("scheduler.kubeconfig"),
            "--authentication-kubeconfig", self.file("scheduler.kubeconfig"),
            "--authorization-kubeconfig", self.file("scheduler.kubeconfig"),
            "--bind-address", "127.0.0.1", "--secure-port", self.scheduler_port,
            "--leader-elect=false", "--cert-dir", self.file("scheduler"),
        ]).start()

    def start_kwok(self):
        self.daemon("kwok", [
            self.binaries / "kwok", "--kubeconfig", self.file("admin.kubeconfig"),
            "--manage-all-nodes=false",
            "--manage-nodes-with-annotation-selector", "kwok.x-k8s.io/node=fake",
            "--node-lease-duration-seconds", "200",  # renewed four times in that
            "--config", Path(__file__).resolve().parent / "stages.yaml",
        ], {"HOME": self.file("kwok-home")}).start()

    def inside(self, *command):
        """The command, so that it runs where it reaches the pods."""
        return list(command)

    def daemon(self, name, command, environment=None):
        made = Daemon(f"{self.name}/{name}", command, self.file(name + ".log"), environment)
        self.daemons[name] = made
        return made

    def start_etcd(self):
        urls = f"http://127.0.0.1:{self.etcd_port}", f"http://127.0.0.1:{self.peer_port}"
        self.daemon("etcd", [
            self.binaries / "etcd", "--name", "one", "--data-dir", self.file("etcd"),
            "--listen-client-urls", urls[0], "--advertise-client-urls", urls[0],
            "--listen-peer-urls", urls[1], "--initial-advertise-peer-urls", urls[1],
            "--initial-cluster", f"one={urls[1]}", "--unsafe-no-fsync", "--log-level", "warn",
            "--quota-backend-bytes", str(8 << 30),
        ]).start()
        self.wait("etcd", lambda: self.etcd("/health", method="GET")[0] == 200)

    def start_api(self):
        pki = self.pki
        self.daemon("apiserver", [
            self.binaries / "kube-apiserver",
            "--etcd-servers", f"http://127.0.0.1:{self.etcd_port}",
            "--bind-address", self.host, "--secure-port", self.port,
            "--advertise-address", self.host,
            "--tls-cert-file", pki.text("apiserver.crt"),
            "--tls-private-key-file", pki.text("apiserver.key"),
            "--client-ca-file", pki.text("ca.crt"), "--token-auth-file", self.file("tokens.csv"),
            "--service-account-issuer", "https://kubernetes.default.svc",
            "--service-account-key-file", pki.text("accounts.pub"),
            "--service-account-signing-key-file", pki.text("accounts.key"),
            "--authorization-mode", "Node,RBAC", "--service-cluster-ip-range", "10.96.0.0/16",
            "--endpoint-reconciler-type", "none", "--etcd-compaction-interval", "0",
            *self.api_flags,
        ]).start()
        self.wait_ready()

    def wait_ready(self):
        self.wait("the API server", lambda: self.get("/readyz")[0] == 200)

    def wait(self, what, condition, wait_s=120, among=None):
        """Fails at once when a daemon has ended, of all or `among` those of the names."""
        def calm():
            try:
                return condition()
            except (OSError, http.client.HTTPException):
                return False
        daemons = [self.daemons[name] for name in among or self.daemons]
        wait_until(f"{self.name}: {what}", calm, daemons, wait_s)

    def restart_api(self, pause_s=0.0):
        """Kills it and starts it again; the port is the same."""
        self.daemons["apiserver"].kill()
        time.sleep(pause_s)
        self.daemons["apiserver"].start()
        self.wait_ready()

    def kill(self, whole=False):
        """Its memory and its voice, at once; those who only talk to them stay and try again, or
        die as well when it is the whole machine."""
        others = ("scheduler", "controllers", "kwok") if whole else ()
        for name in ("apiserver", "etcd", *others):
            self.daemons[name].kill()

    def revive(self):
        """After kill(): with the same data, at the same place."""
        for name in ("etcd", "apiserver"):
            self.daemons[name].start()
        self.wait("the API server", lambda: self.get("/readyz")[0] == 200, among=("apiserver",))
        if not self.daemons["kwok"].is_running():
            self.drop_leases()
        for name, daemon in self.daemons.items():
            if not daemon.is_running():
                daemon.start()

    def drop_leases(self):
        """Of the nodes that a kwok played which is no more. A kubelet knows its own lease; another
        kwok has another name, and leaves the nodes and the pods that are there already alone until
        the leases have run out: minutes."""
        where = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        for lease in self.get(where)[1]["items"]:
            self.request("DELETE", f"{where}/{lease['metadata']['name']}")

    def stop(self):
        """At once: what they would tidy up goes with the folder."""
        for daemon in reversed(self.daemons.values()):  # those who talk before those they talk to
            daemon.kill()
        if self.owns_folder and not os.environ.get("MUSTER_E2E_KEEP"):
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_):
        self.stop()

    # --- talking to it, as administrator

    def request(self, method, path, body=None, content_type="application/json", timeout=30):
        """(status, parsed body)."""
        connection = http.client.HTTPSConnection(self.host, self.port, timeout=timeout,
                                                 context=self.tls)
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, {"Content-Type": content_type})
            answer = connection.getresponse()
            text = answer.read().decode()
            is_json = "json" in answer.headers.get("Content-Type", "")
            return answer.status, json.loads(text) if is_json else text
        finally:
            connection.close()

    def get(self, path):
        return self.request("GET", path)

    def create(self, path, body):
        status, made = self.request("POST", path, body)
        assert status in (200, 201), (status, made)
        return made

    def etcd(self, path, body=None, method="POST"):
        connection = http.client.HTTPConnection("127.0.0.1", self.etcd_port, timeout=30)
        try:
            connection.request(method, path, json.dumps(body or {}))
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"{}")
        finally:
            connection.close()

    def compact(self):
        """Makes etcd forget all revisions but the newest."""
        _, found = self.etcd("/v3/kv/range", {"key": base64.b64encode(b"x").decode()})
        revision = found["header"]["revision"]
        status, answer = self.etcd("/v3/kv/compaction", {"revision": revision, "physical": True})
        assert status == 200, answer
        return int(revision)

    def add_nodes(self, count, prefix="node", gpus=0, labels=None):
        """Nodes that kwok keeps ready."""
        amounts = {"cpu": "32", "memory": "256Gi", "pods": "110"}
        if gpus:
            amounts["nvidia.com/gpu"] = str(gpus)
        for index in range(count):
            self.add_node(f"{prefix}-{index}", amounts, labels)

    def add_node(self, name, amounts, labels=None, taints=()):
        self.create("/api/v1/nodes", {
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "annotations": {"kwok.x-k8s.io/node": "fake"},
                         "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
            "spec": {"taints": list(taints)},
            "status": {"capacity": amounts, "allocatable": amounts}})

    def wait_nodes_ready(self, wait_s=300):
        """Until pods may go to every node: each is ready, and without the taint of a new one."""
        def is_usable(node):
            return not node["spec"].get("taints") and any(
                one["type"] == "Ready" and one["status"] == "True"
                for one in node["status"].get("conditions", []))
        self.wait("all nodes are ready",
                  lambda: all(map(is_usable, self.get("/api/v1/nodes")[1]["items"])), wait_s)
