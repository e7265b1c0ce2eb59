"""A control plane with one real node: a kubelet and a containerd that run real containers.

The node lives in network, mount and process namespaces of its own, joined to the machine by a veth
pair; all its files are in the cluster's folder. When its first process ends, the kernel ends all
others in there, containers included: nothing is left. Needs root. Standard library only.
"""
import errno
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from binaries import CONTROL_PLANE, KUBERNETES, Missing
from control_plane import ControlPlane
from images import PAUSE_IMAGE, write_images

NODE = "real-1"
PROGRAMS = {"containerd": "containerd", "ctr": "containerd", "runc": "runc",
            "busybox": "busybox-static", "ip": "iproute2", "unshare": "util-linux",
            "nsenter": "util-linux"}
CNI = "/usr/lib/cni"
PODS = "10.214.0"  # the network of the pods, inside of the node
INTERFACES_MAX = 200  # nodes side by side on one machine
CGROUPS = Path("/sys/fs/cgroup")


def check_possible():
    """Missing says what a node would need that is not here."""
    if os.geteuid() != 0:
        raise Missing("a real node needs root")
    missing = sorted({package for program, package in PROGRAMS.items()
                      if not shutil.which(program)})
    if not os.path.exists(f"{CNI}/bridge"):
        missing.append("containernetworking-plugins")
    if missing:
        raise Missing(f"a real node needs {' '.join(missing)} (`make setup`)")
    probe = subprocess.run(["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "ip",
                            "link", "add", "probe0", "type", "veth", "peer", "name", "probe1"],
                           capture_output=True, text=True, check=False)
    if probe.returncode:
        raise Missing(f"a real node cannot have its namespaces here: {probe.stderr.strip()}")


def snapshotter_for_large_images():
    """One whose containers share the files of their image, where the kernel can; with `native`,
    which always works, each has a copy of its own."""
    with tempfile.TemporaryDirectory(prefix="muster-overlay-") as folder:
        for name in ("lower", "upper", "work", "merged"):
            os.mkdir(f"{folder}/{name}")
        options = f"lowerdir={folder}/lower,upperdir={folder}/upper,workdir={folder}/work"
        probe = subprocess.run(["unshare", "--mount", "mount", "-t", "overlay", "none", "-o",
                                options, f"{folder}/merged"], capture_output=True, check=False)
    return "native" if probe.returncode else "overlayfs"


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Link:
    """The machine's end of a veth pair, with a network of four addresses that nobody else has."""

    def __init__(self):
        for number in range(INTERFACES_MAX):
            self.name = f"muster-e2e{number}"
            done = subprocess.run(["ip", "link", "add", self.name, "type", "veth", "peer", "name",
                                   f"{self.name}p"], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                break
            if "exists" not in done.stderr:
                raise Missing(f"no veth pair can be made: {done.stderr.strip()}")
        else:
            raise Missing("no interface name is free")
        self.network = f"10.213.{number}"
        self.outside, self.inside = f"{self.network}.1", f"{self.network}.2"
        ip("addr", "add", f"{self.outside}/30", "dev", self.name)
        ip("link", "set", self.name, "up")

    def move_into(self, pid):
        """Gives the other end to the network namespace of a process."""
        ip("link", "set", f"{self.name}p", "netns", str(pid))
        for words in (("link", "set", "lo", "up"), ("link", "set", f"{self.name}p", "name", "eth0"),
                      ("addr", "add", f"{self.inside}/30", "dev", "eth0"),
                      ("link", "set", "eth0", "up"),
                      ("route", "add", "default", "via", self.outside)):
            # Not `ip netns exec`: it mounts a new /sys, and the kubelet finds no cgroups there.
            subprocess.run(["nsenter", f"--net=/proc/{pid}/ns/net", "ip", *words], check=True,
                           capture_output=True, text=True)

    def remove(self):
        subprocess.run(["ip", "link", "del", self.name], capture_output=True, check=False)


# Runs as the first process of the node's namespaces, in a mount namespace where all that containerd
# and the kubelet keep outside of their folders is covered by empty ones.
NODE_SCRIPT = """set -eu
for covered in /run /var/log /var/lib/cni /etc/cni; do
  mkdir -p $covered
  mount -t tmpfs none $covered
done
mount --make-rshared /
until [ -e {folder}/linked ]; do sleep 0.02; done
containerd --config {folder}/containerd.toml > {folder}/containerd.log 2>&1 &
containerd=$!
until ctr --address {socket} version > /dev/null 2>&1; do
  kill -0 $containerd || {{ tail -n 20 {folder}/containerd.log; exit 1; }}
  sleep 0.05
done
python3 {names} {url} {folder}/pki/ca.crt {folder}/pki/admin.crt {folder}/pki/admin.key {domain} \\
  > {folder}/names.log 2>&1 &
for archive in {archives}; do
  ctr --address {socket} -n k8s.io images import --snapshotter {snapshotter} $archive
done
{kubelet} --config {folder}/kubelet.json --kubeconfig {folder}/kubelet.kubeconfig \\
  --root-dir {folder}/kubelet --cert-dir {folder}/kubelet-pki --node-ip {address} \\
  --hostname-override {node} > {folder}/kubelet.log 2>&1 &
wait -n
tail -n 30 {folder}/kubelet.log {folder}/containerd.log {folder}/names.log
exit 1
"""

CONTAINERD_CONFIG = """version = 2
root = "{folder}/containerd"
state = "/run/containerd"
[grpc]
  address = "{socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "{snapshotter}"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{cni}"
    conf_dir = "{folder}/cni"
"""


class RealNodeCluster(ControlPlane):
    """start() returns when the node is ready; its pods run for real."""
    domain = "cluster"

    def __init__(self, name="real", version=KUBERNETES, folder=None, api_flags=(), programs=(),
                 archives=(), snapshotter="native"):
        """With programs beside those that it runs itself, and images beside those of images.py."""
        check_possible()
        super().__init__(name, version, folder, api_flags=api_flags,
                         programs=(*CONTROL_PLANE, "kubelet", *programs))
        self.archives = [self.file("images.tar"), *archives]
        self.snapshotter = snapshotter
        self.link = Link()
        self.host = self.link.outside
        self.socket = "/run/containerd/containerd.sock"  # of the node's own /run
        self.api_flags += [
            "--kubelet-preferred-address-types", "InternalIP",
            "--kubelet-client-certificate", self.pki.text("kubelet-client.crt"),
            "--kubelet-client-key", self.pki.text("kubelet-client.key")]

    def make_files(self):
        super().make_files()
        self.pki.issue("kubelet-client", "kube-apiserver-kubelet-client",
                       groups=["system:masters"])
        self.pki.issue("kubelet", f"system:node:{NODE}", groups=["system:nodes"])
        self.write_kubeconfig("kubelet.kubeconfig", cert="kubelet")
        words = {"folder": self.folder, "socket": self.socket, "cni": CNI, "pause": PAUSE_IMAGE,
                 "kubelet": self.binaries / "kubelet", "address": self.link.inside, "node": NODE,
                 "names": Path(__file__).resolve().parent / "peer_names.py", "url": self.url(),
                 "domain": self.domain, "archives": " ".join(map(str, self.archives)),
                 "snapshotter": self.snapshotter}
        write_images(self.archives[0])
        self.write("containerd.toml", CONTAINERD_CONFIG.format(**words))
        self.write("node.sh", NODE_SCRIPT.format(**words))
        self.write("kubelet.json", json.dumps(self.kubelet_config(), indent=1))
        Path(self.file("cni")).mkdir(exist_ok=True)
        self.write("cni/10-pods.conflist", json.dumps({
            "cniVersion": "0.4.0", "name": "pods", "plugins": [{
                "type": "bridge", "bridge": "pods0", "isGateway": True,
                "ipam": {"type": "host-local", "dataDir": self.file("addresses"),
                         "ranges": [[{"subnet": f"{PODS}.0/24", "gateway": f"{PODS}.1"}]],
                         "routes": [{"dst": "0.0.0.0/0"}]}}]}))
        self.write("resolv.conf", "nameserver 127.0.0.1\n")

    def write(self, name, text):
        Path(self.file(name)).write_text(text, encoding="utf-8")

    def inside(self, *command):
        """In the node's network, with its names."""
        network = f"/proc/{self.first_process(self.daemons['node'])}/ns/net"
        return ["nsenter", f"--net={network}", "unshare", "--mount", "sh", "-c",
                f'mount --bind {self.file("resolv.conf")} /etc/resolv.conf && exec "$@"', "sh",
                *command]

    def kubelet_config(self):
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
            "address": self.link.inside,
            "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True},
                               "x509": {"clientCAFile": self.pki.text("ca.crt")}},
            "authorization": {"mode": "Webhook"},
            "containerRuntimeEndpoint": f"unix://{self.socket}",
            "failCgroupV1": False, "cgroupDriver": "cgroupfs", "cgroupsPerQOS": False,
            "enforceNodeAllocatable": [], "failSwapOn": False,
            "localStorageCapacityIsolation": False, "evictionHard": {},
            "makeIPTablesUtilChains": False, "podLogsDir": self.file("pod-logs"),
            "volumePluginDir": self.file("volume-plugins"), "registerNode": True,
            "nodeStatusUpdateFrequency": "5s", "syncFrequency": "5s", "clusterDomain": self.domain,
            "clusterDNS": [f"{PODS}.1"],
            "shutdownGracePeriod": "0s", "serializeImagePulls": False,
        }

    def start(self):
        super().start()
        self.start_node()
        return self

    def start_node(self):
        """Also after kill_node(), as a machine that comes back after a power failure."""
        Path(self.file("linked")).unlink(missing_ok=True)
        node = self.daemon("node", [
            "unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child",
            "bash", self.file("node.sh")]).start()
        self.wait("the node's namespaces", lambda: self.first_process(node) is not None)
        self.link.move_into(self.first_process(node))
        self.write("linked", "")
        self.wait("the node", self.is_node_ready, wait_s=300)  # large images take their time

    @staticmethod
    def first_process(node):
        """The child of unshare, once it is in its own network."""
        pid = node.process.pid
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
            own = os.readlink("/proc/self/ns/net")
            if children and os.readlink(f"/proc/{children[0]}/ns/net") != own:
                return int(children[0])
        except OSError:
            pass
        return None

    def is_node_ready(self):
        status, node = self.get(f"/api/v1/nodes/{NODE}")
        return status == 200 and not node["spec"].get("taints") and any(
            condition["type"] == "Ready" and condition["status"] == "True"
            for condition in node["status"].get("conditions", []))

    def add_gpus(self, count):
        """GPUs that do not exist: the kubelet keeps what stands in its node's status."""
        status, answer = self.request(
            "PATCH", f"/api/v1/nodes/{NODE}/status",
            {"status": {"capacity": {"nvidia.com/gpu": str(count)}}},
            content_type="application/strategic-merge-patch+json")
        assert status == 200, answer
        self.wait("its GPUs", lambda: self.get(f"/api/v1/nodes/{NODE}")[1]["status"][
            "allocatable"].get("nvidia.com/gpu") == str(count))

    def kill_node(self):
        """As if the power failed."""
        self.daemons["node"].kill()

    def stop(self):
        if "node" in self.daemons:
            self.kill_node()
        self.remove_cgroups()
        super().stop()
        self.link.remove()

    def remove_cgroups(self):
        """Those of the containers that were killed with the node."""
        kept = Path(self.file("containerd")) / "io.containerd.grpc.v1.cri"
        names = [path.name for path in kept.glob("*/*")]
        end = time.monotonic() + 5  # the kernel needs a moment after the last process
        for top in (CGROUPS / "k8s.io", *CGROUPS.glob("*/k8s.io")):
            for folder in (*(top / name for name in names), top):
                while folder.exists():
                    try:
                        folder.rmdir()
                    except OSError as error:
                        is_others = error.errno == errno.ENOTEMPTY or folder == top
                        if is_others or time.monotonic() > end:
                            break
                        time.sleep(0.05)
