"""Grants what `muster cluster rbac` prints, as `kubectl apply` would. Standard library only."""
import json
import subprocess

PLURALS = {"ServiceAccount": "serviceaccounts", "Role": "roles", "RoleBinding": "rolebindings",
           "ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings"}


def manifest(binary, namespace, *options):
    """Its objects."""
    done = subprocess.run(
        [binary, "cluster", "rbac", "--namespace", namespace, "-o", "json", *options],
        capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)["items"]


def create(cluster, made):
    version, meta = made["apiVersion"], made["metadata"]
    base = f"/api/{version}" if version == "v1" else f"/apis/{version}"
    where = f"/namespaces/{meta['namespace']}" if "namespace" in meta else ""
    cluster.create(f"{base}{where}/{PLURALS[made['kind']]}", made)


def grant(binary, cluster, namespace, *options):
    for made in manifest(binary, namespace, *options):
        create(cluster, made)
