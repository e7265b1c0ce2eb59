#!/usr/bin/env python3
"""The real `muster serve` with a real node: what pods print, how they end, commands in them.

Usage: node_test.py MUSTER [--kubernetes VERSION] [--only PART_OF_A_NAME]

The node is a kubelet with containerd (real_node.py). `NOT TESTED` on its own line means that it
cannot run here, and why.
"""
import json
import os
import subprocess
import sys
import time

from images import SHELL_IMAGE
from on_clusters import run_on
from real_node import RealNodeCluster
from side_by_side import alone
from with_server import WithServer

BINARY = ""
CLUSTER = None


class WithNode(WithServer):
    """Each test has a namespace and a server of its own."""
    binary = property(lambda _: BINARY)

    def setUp(self):
        self.make_namespace(CLUSTER)
        CLUSTER.wait("the namespace's account", lambda: CLUSTER.get(
            f"/api/v1/namespaces/{self.namespace}/serviceaccounts/default")[0] == 200)
        self.begin(f"""clusters:
- {{name: real, type: kubernetes, kubeconfig: {CLUSTER.file("admin.kubeconfig")}, context: real,
   namespace: {self.namespace}, image: {SHELL_IMAGE}}}
""")

    def wait_running(self, job):
        self.wait_state(job, "Running")

    def submit(self, script, **more):
        return self.server.submit(["sh", "-c", script], **more)

    def wait_output(self, job, part):
        self.wait(f"{part!r} in the output", lambda: part in self.muster("logs", job))


class Output(WithNode):
    """What pods print reaches `muster logs`."""

    def test_run_prints_what_the_pod_prints_and_ends_with_its_code(self):
        out = self.muster("run", "--", "sh", "-c",
                          "echo hello; echo errors >&2; sleep 0.5; printf 'no end'; exit 7", code=7)
        self.assertEqual(sorted(out.splitlines()), ["errors", "hello", "no end"])
        out = self.muster("run", "--", "cat", "/etc/passwd")
        self.assertIn("root:x:0:0", out)

    def test_the_pods_of_a_gang_print_under_their_ranks(self):
        job = self.submit("echo rank $RANK of $WORLD_SIZE", pods=3)
        self.assertEqual(self.server.wait_final(job)["state"], "Succeeded", self.server.log())
        lines = sorted(self.muster("logs", job).splitlines())
        self.assertEqual(len(lines), 3, lines)
        for rank, line in enumerate(lines):
            self.assertRegex(line, rf"^{rank}\b.*rank {rank} of 3$")

    def test_the_pods_of_a_gang_reach_each_other_by_name(self):
        # busybox is linked statically: of all its programs only nslookup asks for names.
        job = self.submit(
            'if [ "$RANK" = 0 ]; then echo hello from rank 0 | nc -l -p 29500; exit; fi; '
            'for i in $(seq 100); do at=$(nslookup -type=a "$MASTER_ADDR.cluster" | '
            "awk '/^Address/ && !/:53$/ {print $NF}'); "
            'test -n "$at" && nc "$at" 29500 < /dev/null && exit; sleep 0.2; done; '
            'nslookup "$MASTER_ADDR.cluster"; exit 1', pods=2)
        row = self.server.wait_final(job)
        said = self.muster("logs", job)
        self.assertEqual(row["state"], "Succeeded", (row, said))
        self.assertRegex(said, r"(?m)^1\b.*hello from rank 0$")

    def test_a_job_whose_program_is_not_there_says_so(self):
        job = self.server.submit(["no-such-program"])
        row = self.server.wait_final(job)
        self.assertEqual(row["state"], "Failed", row)
        self.assertIn("no-such-program", str(row))

    def numbered(self, count, pause):
        job = self.submit(f"i=0; while [ $i -lt {count} ]; do i=$((i+1)); echo line $i; "
                          f"sleep {pause}; done; echo the end")
        self.wait_output(job, "line 3\n")
        return job

    def assert_all_lines(self, job, count):
        self.assertEqual(self.server.wait_final(job)["state"], "Succeeded", self.server.log())
        lines = self.muster("logs", job).splitlines()
        self.assertEqual(lines, [f"line {i + 1}" for i in range(count)] + ["the end"])

    def test_a_server_that_was_killed_goes_on_with_the_output(self):
        job = self.numbered(150, 0.05)
        for _ in range(3):
            self.server.kill()
            time.sleep(0.5)
            self.server.start()
            time.sleep(0.8)
        self.assert_all_lines(job, 150)

    @alone
    def test_no_line_is_lost_or_doubled_when_the_api_server_restarts(self):
        job = self.numbered(300, 0.05)
        CLUSTER.restart_api()
        time.sleep(1)
        CLUSTER.restart_api()
        self.assert_all_lines(job, 300)

    @alone  # with the node to itself
    def test_much_output_arrives_whole(self):
        # The runtime itself drops what is in the pipe when a program ends in the middle of a flood.
        job = self.submit("seq 1 300000; sleep 2")
        self.assertEqual(self.server.wait_final(job)["state"], "Succeeded", self.server.log())
        numbers = [int(line) for line in self.muster("logs", job).split()]
        self.assertEqual(numbers, list(range(1, 300001)))

    def test_the_output_of_a_cancelled_job_stays(self):
        job = self.submit("trap 'echo told to go; exit 0' TERM; echo up; "
                          "while true; do sleep 0.1; done")
        self.wait_output(job, "up\n")
        self.muster("cancel", job)
        self.assertEqual(self.server.wait_final(job)["state"], "Cancelled")
        self.wait_output(job, "told to go\n")


class Commands(WithNode):
    """`muster exec` in real containers."""

    def refusal(self, *words, code=1):
        """What a command that is refused says."""
        environment = {**os.environ, "MUSTER_URL": f"http://127.0.0.1:{self.server.port}"}
        done = subprocess.run([BINARY, "exec", *words], env=environment, capture_output=True,
                              text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(done.returncode, code, (done.stdout, done.stderr))
        return done.stderr

    def test_a_command_has_its_streams_its_input_its_terminal_and_its_exit_code(self):
        job = self.submit("echo $RANK > /tmp/rank; sleep 1000", pods=2)
        self.wait_running(job)
        out = self.muster("exec", job, "--pod", "1", "--", "sh", "-c",
                          "cat /tmp/rank; echo $MUSTER_JOB_ID; exit 7", code=7)
        self.assertEqual(out.split("\n")[0], "1")
        self.assertEqual(self.refusal(job, "--", "sh", "-c", "echo wrong >&2; exit 3", code=3),
                         "wrong\n")
        text = "".join(f"line {i}\n" for i in range(100_000))
        self.assertEqual(self.muster("exec", "-i", job, "--", "cat", given=text), text)
        self.assertEqual(self.muster("exec", "-i", job, "--", "wc", "-c", given="").strip(), "0")
        out = self.muster("exec", "-it", job, "--", "sh", given="test -t 0 && echo it-$((40+2))\n"
                          "exit 5\n", code=5)
        self.assertIn("it-42", out)
        self.assertIn("exec", self.muster("audit"))

    def test_much_output_to_a_slow_reader_arrives_whole(self):
        job = self.submit("sleep 1000")
        self.wait_running(job)
        environment = {**os.environ, "MUSTER_URL": f"http://127.0.0.1:{self.server.port}"}
        before_kib = self.server_kib()
        with subprocess.Popen([BINARY, "exec", job, "--", "seq", "1", "8000000"], env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as reader:
            time.sleep(2)  # 60 MB in all; far less waits in the server
            self.assertLess(self.server_kib() - before_kib, 40 << 10)
            text = reader.stdout.read()
        self.assertEqual(reader.returncode, 0)
        self.assertEqual(text.count(b"\n"), 8_000_000)
        self.assertTrue(text.endswith(b"\n8000000\n"))

    def server_kib(self):
        with open(f"/proc/{self.server.process.pid}/status", encoding="utf-8") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

    def test_what_cannot_be_is_said(self):
        job = self.submit("sleep 1000", stop_grace="1s")  # it does not hear TERM
        self.wait_running(job)
        self.assertIn("no pod 4", self.refusal(job, "--pod", "4", "--", "ls"))
        self.assertIn("no-such-program", self.refusal(job, "--", "no-such-program"))
        self.muster("cancel", job)
        self.assertEqual(self.server.wait_final(job)["state"], "Cancelled")
        self.assertIn("is cancelled", self.refusal(job, "--", "ls"))


class Notes(WithNode):
    """What the cluster says about the pods reaches those who ask for the job."""

    def notes(self, job):
        return self.server.api("GET", f"/jobs/{job}/notes?limit=1000")[1]["notes"]

    def test_an_image_that_is_not_there_is_told_once_also_over_a_restart(self):
        job = self.submit("true", image="no-such-registry.invalid/tool:1")
        self.wait("the cluster says so", lambda: any(
            note["warning"] and "no-such-registry" in note["text"] for note in self.notes(job)))
        self.wait("it is tried again", lambda: any(
            note["reason"] == "BackOff" for note in self.notes(job)))
        for words in (["events", job], ["show", job], ["explain", job]):
            self.assertIn("no-such-registry", self.muster(*words), words)
        listed = json.loads(self.muster("events", job, "-o", "json"))
        self.assertEqual([event["at_ms"] for event in listed],
                         sorted(event["at_ms"] for event in listed))
        before = [note["key"] for note in self.notes(job)]
        self.assertEqual(len(before), len(set(before)), before)
        self.server.kill()
        self.server.start()
        self.wait_any_new(job, before)
        after = [note["key"] for note in self.notes(job)]
        self.assertEqual(len(after), len(set(after)), after)
        self.assertEqual(after[:len(before)], before)
        self.muster("cancel", job)

    def wait_any_new(self, job, before):
        """Until an Event that comes after the restart was heard of, or none came for a while."""
        end = time.monotonic() + 10
        while time.monotonic() < end and len(self.notes(job)) == len(before):
            time.sleep(0.2)

    def test_a_pod_that_does_not_go_is_told(self):
        job = self.submit("sleep 1000", stop_grace="1s")
        self.wait_running(job)
        path = f"/api/v1/namespaces/{self.namespace}/pods"
        name = CLUSTER.get(path)[1]["items"][0]["metadata"]["name"]

        def finalizers(value):
            status, answer = CLUSTER.request(
                "PATCH", f"{path}/{name}", {"metadata": {"finalizers": value}},
                content_type="application/merge-patch+json")
            self.assertEqual(status, 200, answer)
        finalizers(["example.com/stay"])
        self.muster("cancel", job)
        self.wait("it is told", lambda: "StuckTerminating" in self.muster("show", job), 90)
        self.assertEqual(self.server.job(job)["state"], "Stopping")
        self.assertIn("StuckTerminating", self.muster("events", job))
        finalizers(None)
        self.assertEqual(self.server.wait_final(job)["state"], "Cancelled")


class TakenAway(WithNode):
    """While no server runs, by somebody else. Here and not among simulated nodes: those take the
    mark off a pod by which its Job counts it."""

    def objects(self, path):
        return CLUSTER.get(f"{path}/namespaces/{self.namespace}/" + (
            "jobs" if "batch" in path else "pods"))[1]["items"]

    def test_a_gang_whose_pod_goes_while_the_server_is_down_starts_again(self):
        job = self.submit("sleep 1000", pods=2)
        self.wait_running(job)
        self.server.kill()
        name = self.objects("/api/v1")[0]["metadata"]["name"]
        status, answer = CLUSTER.request(
            "DELETE", f"/api/v1/namespaces/{self.namespace}/pods/{name}?gracePeriodSeconds=1")
        self.assertEqual(status, 200, answer)

        def has_failed():
            conditions = self.objects("/apis/batch/v1")[0]["status"].get("conditions", [])
            return any(one["type"] == "Failed" for one in conditions)
        self.wait("its Job has failed, and no pod is left",
                  lambda: has_failed() and not self.objects("/api/v1"), 120)
        self.server.start()
        self.wait("it says so", lambda: "taken away by somebody else" in str(self.server.job(job)))
        self.wait("it starts again", lambda: self.server.job(job)["attempt"] == 2, 90)
        self.wait_running(job)


def start(options):
    global BINARY, CLUSTER  # pylint: disable=global-statement
    BINARY = options.binary
    # Memory is measured: a sanitizer must not keep what was freed.
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
    CLUSTER = RealNodeCluster("real", options.kubernetes)
    CLUSTER.start()
    CLUSTER.add_gpus(4)
    return [CLUSTER]


if __name__ == "__main__":
    sys.exit(run_on(start, __doc__, workers=3, first=[Notes]))
