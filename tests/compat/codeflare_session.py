"""What a user of codeflare-sdk does in a notebook, run by the Python that has the SDK.

Usage: codeflare_session.py API NAMESPACE        API: v1beta1 (0.14.1) or v1beta2 (0.30.0)

The SDK finds the cluster in ~/.kube/config. One node of 8 cores is expected.
"""
import sys
import time

import codeflare_sdk
from codeflare_sdk import AppWrapperStatus, Cluster, ClusterConfiguration, CodeFlareClusterStatus

WAIT_S = 120


def settings_v1beta1(cores, memory, **more):
    """Of one pod, in the words of this version."""
    return {"head_cpus": 1, "head_memory": 2, "min_cpus": cores, "max_cpus": cores,
            "min_memory": memory, "max_memory": memory, "num_gpus": 0, "mcad": True,
            "ingress_domain": "apps.local", **more}


def settings_v1beta2(cores, memory, **more):
    return {"head_cpu_requests": 1, "head_cpu_limits": 1, "head_memory_requests": 2,
            "head_memory_limits": 2, "worker_cpu_requests": cores, "worker_cpu_limits": cores,
            "worker_memory_requests": memory, "worker_memory_limits": memory,
            "appwrapper": True, **more}


class Version:
    """What differs between the two."""

    def __init__(self, api, namespace):
        self.namespace = namespace
        self.is_first = api == "v1beta1"
        self.settings = settings_v1beta1 if self.is_first else settings_v1beta2
        self.waiting = AppWrapperStatus.PENDING if self.is_first else AppWrapperStatus.SUSPENDED
        if self.is_first:
            from codeflare_sdk.cluster import cluster as module
        else:
            module = codeflare_sdk
        self.get_cluster = module.get_cluster
        self.list_all_clusters = module.list_all_clusters
        self.list_all_queued_of = module.list_all_queued

    def cluster(self, name, workers, cores):
        return Cluster(ClusterConfiguration(
            name=name, namespace=self.namespace, image="example.com/ray:1", num_workers=workers,
            **self.settings(cores, 2)))

    def queued(self):
        """Name and status of each AppWrapper."""
        more = {} if self.is_first else {"appwrapper": True}
        return {one.name: one.status for one in self.list_all_queued_of(self.namespace, **more)}


def wait_status(cluster, *wanted):
    end = time.monotonic() + WAIT_S
    while (found := cluster.status()[0]) not in wanted:
        assert time.monotonic() < end, f"{cluster.config.name}: {found}, not {wanted}"
        time.sleep(0.5)


def session(version):
    small = version.cluster("small", workers=1, cores=1)
    small.up()
    small.wait_ready(WAIT_S, dashboard_check=False)
    status, is_ready = small.status()
    assert is_ready and status == CodeFlareClusterStatus.READY, status
    assert version.queued() == {"small": AppWrapperStatus.RUNNING}, version.queued()

    big = version.cluster("big", workers=3, cores=2)
    if version.is_first:
        big.up()
    else:
        big.apply()
    wait_status(big, CodeFlareClusterStatus.QUEUED)
    assert not big.status()[1]
    assert version.queued() == {"small": AppWrapperStatus.RUNNING, "big": version.waiting}
    assert [one.name for one in version.list_all_clusters(version.namespace)] == ["small"]
    # 0.14.1 takes any volume of the workers for its local client, and misses an Ingress for it.
    again = small if version.is_first else version.get_cluster("small", version.namespace)
    assert again.config.num_workers == 1 and again.status()[1]

    again.down()
    big.wait_ready(WAIT_S, dashboard_check=False)
    assert version.queued() == {"big": AppWrapperStatus.RUNNING}, version.queued()
    big.down()
    wait_status(big, CodeFlareClusterStatus.UNKNOWN)
    assert version.queued() == {}


if __name__ == "__main__":
    session(Version(*sys.argv[1:]))
    print("the session is done")
