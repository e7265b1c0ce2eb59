"""What was made and deleted in a cluster, counted from its API server's own audit log."""
import collections
import json
import re
import urllib.parse
from datetime import datetime

MINE = [{"group": "", "resources": ["pods"]}, {"group": "batch", "resources": ["jobs"]}]
POLICY = {
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
    "rules": [{"level": "RequestResponse", "verbs": ["create"], "resources": MINE},
              {"level": "Metadata", "verbs": ["deletecollection"], "resources": MINE},
              {"level": "None"}]}
# Every write of MUSTER, whatever it is of; of others only what a benchmark compares with it.
MUSTER = "token-admin"
WRITE_VERBS = ["create", "update", "patch", "delete", "deletecollection"]
WRITES = {
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "verbs": WRITE_VERBS, "users": [MUSTER]},
              {"level": "Metadata", "verbs": ["create", "patch"], "users": ["admin"],
               "resources": [{"group": "batch", "resources": ["jobs"]},
                             {"group": "workload.codeflare.dev"}]},
              {"level": "None"}]}
BEGINNING = '{"kind":"Event","apiVersion":"audit.k8s.io/v1"'


def keep_audit_log(cluster, policy=None):
    """Of a control plane that is not started yet."""
    with open(cluster.file("audit-policy.json"), "w", encoding="utf-8") as out:
        json.dump(policy or POLICY, out)
    cluster.api_flags += ["--audit-policy-file", cluster.file("audit-policy.json"),
                          "--audit-log-path", cluster.file("audit.log")]
    return cluster


def events(cluster, namespace):
    """In the order in which they were answered. A server that was killed leaves half a line."""
    with open(cluster.file("audit.log"), encoding="utf-8", errors="replace") as log:
        for line in log:
            for text in re.split(f"(?={re.escape(BEGINNING)})", line):
                try:
                    event = json.loads(text)
                except ValueError:
                    continue
                if event.get("objectRef", {}).get("namespace") == namespace:
                    yield event


def is_success(event):
    return event.get("responseStatus", {}).get("code") in (200, 201)


def time_of(event):
    return datetime.fromisoformat(event["stageTimestamp"].replace("Z", "+00:00"))


def attempts_deleted(event):
    """[(Muster job, attempt)] of a deletecollection, as its selector names them."""
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(event["requestURI"]).query)
    selector = ",".join(query.get("labelSelector", []))
    jobs = re.search(r"muster\.dev/job(?:=([^,]+)| in \(([^)]*)\))", selector)
    attempt = re.search(r"muster\.dev/attempt=([^,]+)", selector)
    if not jobs or not attempt:
        return []
    return [(job, attempt.group(1)) for job in (jobs.group(1) or jobs.group(2)).split(",")]


def creations(cluster, namespace, seen=()):
    """{(resource, Muster job, attempt, index in its Job): how many were created}.

    Of a create whose client was killed the log says 504 (context canceled), also when it was done:
    such Jobs are known by their pods, which name their owner. Of a create during which the server
    itself was killed it says nothing: `seen` has (resource, object) of what is there now."""
    made = collections.defaultdict(set)

    def add(resource, meta):
        notes = meta.get("annotations", {})
        index = notes.get("batch.kubernetes.io/job-completion-index", "")
        attempt = (notes.get("muster.dev/job-id"),
                   meta.get("labels", {}).get("muster.dev/attempt"))
        made[(resource, *attempt, index)].add(meta["uid"])
        for owner in meta.get("ownerReferences", []):
            if owner["kind"] == "Job":
                made[("jobs", *attempt, "")].add(owner["uid"])

    for event in events(cluster, namespace):
        where = event["objectRef"]
        if event["verb"] == "create" and not where.get("subresource") and is_success(event):
            add(where["resource"], event["responseObject"]["metadata"])
    for resource, found in seen:
        add(resource, found["metadata"])
    return collections.Counter({what: len(uids) for what, uids in made.items()})
