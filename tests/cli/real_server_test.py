#!/usr/bin/env python3
"""The command line with a real server and processes that really run.

Usage: real_server_test.py MUSTER [--server MUSTER] [unittest arguments]
"""
import json
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../server"))
from muster_server import Server  # noqa: E402

BINARY = ""
SERVER = ""
CONFIG = """clusters:
- {name: here, type: local, slots: 4, cpu: 64, memory: 64Gi}
- {name: sim, type: simulated, nodes: [{count: 2, cpu: 96, memory: 1Ti, gpu: {A100: 8}}]}
queues:
- {name: default}
- {name: other}
"""


class WithServer(unittest.TestCase):
    """One server for all of its tests: they use jobs of their own."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server(SERVER, CONFIG).start()
        cls.environment = {**os.environ, "MUSTER_URL": f"http://127.0.0.1:{cls.server.port}",
                           "MUSTER_CONFIG": os.path.join(cls.server.folder, "contexts.yaml")}
        cls.environment.pop("MUSTER_TOKEN", None)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def muster(self, *words, code=0, given=""):
        done = subprocess.run([BINARY, *words], env=self.environment, capture_output=True,
                              text=True, timeout=60, input=given)
        self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        return done

    def here(self, *words, **kw):
        return self.muster("run", "--cluster", "here", *words, **kw)

    def show(self, job):
        return json.loads(self.muster("show", job, "-o", "json").stdout)

    def running(self, *words):
        job = self.muster("submit", *words).stdout.strip()
        give_up = time.monotonic() + 60
        while self.show(job)["state"] != "Running":
            self.assertLess(time.monotonic(), give_up, self.server.log())
            time.sleep(0.05)
        return job


class Exec(WithServer):
    """Commands in the pods of running jobs."""

    def test_a_command_has_its_output_input_and_exit_code(self):
        job = self.running("--cluster", "here", "-e", "COLOR=blue", "--pods", "2", "--",
                           "sleep", "300")
        done = self.muster("exec", job, "--pod", "1", "--", "sh", "-c",
                           "echo $RANK $COLOR; echo wrong >&2; exit 3", code=3)
        self.assertEqual((done.stdout, done.stderr), ("1 blue\n", "wrong\n"))
        text = "".join(f"line {i}\n" for i in range(200_000))
        done = self.muster("exec", "-i", job, "--", "cat", given=text)
        self.assertEqual(len(done.stdout), len(text))
        self.assertEqual(done.stdout, text)
        self.assertEqual(self.muster("exec", job, "--", "cat", given="unread").stdout, "")
        audit = self.muster("audit").stdout
        self.assertIn("exec", audit)
        self.muster("cancel", job)

    def test_what_cannot_be_is_said(self):
        job = self.running("--cluster", "here", "--", "sleep", "300")
        self.assertIn("no pod 7; its pods are 0 to 0",
                      self.muster("exec", job, "--pod", "7", "--", "ls", code=1).stderr)
        self.assertIn("no such program",
                      self.muster("exec", job, "--", "no-such-program", code=1).stderr)
        self.muster("cancel", job)
        self.muster("wait", job, "--timeout", "50s", code=125)
        self.assertIn("cancelled", self.muster("exec", job, "--", "ls", code=1).stderr)
        self.muster("exec", "no-such-job", "--", "ls", code=1)
        job = self.running("--cluster", "sim", "--", "sleep", "300")
        self.assertIn("simulated", self.muster("exec", job, "--", "ls", code=1).stderr)
        self.muster("cancel", job)

    def test_the_end_of_the_job_ends_its_commands(self):
        job = self.running("--cluster", "here", "--", "sleep", "300")
        inside = subprocess.Popen([BINARY, "exec", job, "--", "sh", "-c", "echo up; sleep 300"],
                                  env=self.environment, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.assertEqual(inside.stdout.readline(), "up\n")
        self.muster("cancel", job)
        _, said = inside.communicate(timeout=60)
        self.assertNotEqual(inside.returncode, 0, said)


class CommandLine(WithServer):
    """Jobs, from submit to their end."""

    def test_run_prints_what_the_job_prints_and_ends_as_it_ends(self):
        done = self.here("--", "sh", "-c", "echo hello; echo wrong >&2; exit 3", code=3)
        self.assertEqual((done.stdout, done.stderr), ("hello\n", "wrong\n"))

    def test_run_passes_on_words_as_they_are(self):
        done = self.here("-e", "A=b c", "--", "sh", "-c", 'echo "$A" "$@"', "x", "[1,2]", "--all",
                         "")
        self.assertEqual(done.stdout, "b c [1,2] --all \n")

    def test_run_shows_the_pods_of_a_gang(self):
        done = self.here("--pods", "2", "--", "echo", "hi")
        lines = sorted(line.split(" | ") for line in done.stdout.splitlines())
        self.assertEqual([line[1] for line in lines], ["hi", "hi"])
        self.assertNotEqual(lines[0][0], lines[1][0])

    def test_an_interrupted_run_cancels_its_job(self):
        run = subprocess.Popen([BINARY, "run", "--name", "stopped", "--cluster", "here", "--", "sh",
                                "-c", "echo up; sleep 60"], env=self.environment, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               stdin=subprocess.DEVNULL)
        self.assertEqual(run.stdout.readline(), "up\n")
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 130, said)
        self.assertEqual(self.show("stopped")["state"], "Cancelled")

    def test_the_life_of_a_job(self):
        job = self.muster("submit", "--name", "life", "--cluster", "here", "--hold", "--",
                          "echo", "ran").stdout.strip()
        self.assertEqual(self.show(job)["state"], "Held")
        self.assertIn("life", self.muster("list").stdout)
        self.muster("set", "priority", job, "70")
        self.muster("set", "queue", job, "other")
        self.muster("release", "life")
        self.assertIn("succeeded", self.muster("wait", job, "--timeout", "50s").stdout)
        shown = self.show(job)
        self.assertEqual((shown["priority"], shown["queue"], shown["exit_code"]), (70, "other", 0))
        self.assertEqual(self.muster("logs", job).stdout, "ran\n")
        self.assertEqual(self.muster("logs", job, "-f").stdout, "ran\n")
        kinds = [event["kind"] for event in
                 json.loads(self.muster("events", job, "-o", "json").stdout)]
        self.assertEqual((kinds[0], kinds[-1]), ("submitted", "finished"))
        self.assertIn("placed", kinds)
        self.muster("cancel", "no-such-job", code=1)

    def test_run_says_why_when_the_output_does_not(self):
        done = self.here("--", "/no/such/program", code=127)
        self.assertIn("/no/such/program", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("signal 9", self.here("--", "sh", "-c", "kill -9 $$", code=137).stderr)

    def test_what_is_not_there_is_told_with_the_list_of_what_is(self):
        for words in (["queue", "show", "nope"], ["submit", "--queue", "nope", "--", "true"],
                      ["set", "queue", self.muster("submit", "--hold", "--", "true").stdout.strip(),
                       "nope"]):
            said = self.muster(*words, code=2 if words[0] != "queue" else 1).stderr
            self.assertIn("`muster queue list` shows", said)

    def test_logs_gives_as_many_lines_as_are_asked_for(self):
        job = self.muster("submit", "--cluster", "here", "--", "seq", "12000").stdout.strip()
        self.muster("wait", job, "--timeout", "50s")
        wanted = [str(n) for n in range(501, 12001)]
        self.assertEqual(self.muster("logs", job, "--tail", "11500").stdout.split(), wanted)
        self.assertEqual(self.muster("logs", job, "-f", "--tail", "11500").stdout.split(), wanted)
        self.assertEqual(len(self.muster("logs", job, "--tail", "1000000").stdout.split()), 12000)
        self.assertEqual(self.muster("logs", job, "--tail", "1").stdout, "12000\n")
        self.assertEqual(len(json.loads(self.muster("logs", job, "-o", "json").stdout)), 12000)

    def test_a_line_that_is_written_in_parts_is_one_line(self):
        script = ("for i in 1 2 3 4 5 6 7 8; do printf 'from %s' $i; sleep 0.07; echo \" to $i\";"
                  " done; printf 'the end'")
        job = self.muster("submit", "--cluster", "here", "--", "sh", "-c", script).stdout.strip()
        self.muster("wait", job, "--timeout", "50s")
        wanted = [f"from {i} to {i}" for i in range(1, 9)] + ["the end"]
        self.assertEqual(self.muster("logs", job).stdout, "\n".join(wanted))
        self.assertEqual(self.muster("logs", job, "--tail", "3").stdout, "\n".join(wanted[-3:]))
        lines = json.loads(self.muster("logs", job, "-o", "json").stdout)
        # One whose end was long in coming, on a busy machine, is in parts that say so.
        self.assertEqual(len([line for line in lines if not line.get("continues")]), 9)

    def test_a_long_line_is_one_line(self):
        script = "echo first; head -c 200000 /dev/zero | tr '\\0' x; echo; echo last"
        job = self.muster("submit", "--cluster", "here", "--", "sh", "-c", script).stdout.strip()
        self.muster("wait", job, "--timeout", "50s")
        self.assertEqual(self.muster("logs", job, "--tail", "2").stdout, "x" * 200000 + "\nlast\n")
        self.assertEqual(self.muster("logs", job, "-f", "--tail", "1").stdout, "last\n")

    def test_a_prompt_is_seen_before_its_line_ends(self):
        go = os.path.join(self.server.folder, "answer")
        script = f"printf 'name? '; until [ -e {go} ]; do sleep 0.05; done; echo Ada"
        job = self.running("--cluster", "here", "--", "sh", "-c", script)
        follow = subprocess.Popen([BINARY, "logs", "-f", job], env=self.environment,
                                  stdout=subprocess.PIPE)
        self.assertEqual(os.read(follow.stdout.fileno(), 100), b"name? ")
        open(go, "w").close()
        self.assertEqual(follow.communicate(timeout=60)[0], b"Ada\n")
        self.assertEqual(self.muster("logs", job, "--tail", "1").stdout, "name? Ada\n")

    def test_what_is_followed_is_for_programs_too(self):
        job = self.running("--cluster", "here", "--", "sh", "-c", "echo one; echo two; sleep 300")
        words = {"logs": ["text: ", "text: "], "events": ["kind: submitted"]}
        for command, wanted in words.items():
            follow = subprocess.Popen([BINARY, command, job, "-f", "-o", "yaml"], text=True,
                                      env=self.environment, stdout=subprocess.PIPE)
            self.addCleanup(follow.stdout.close)
            self.assertEqual(follow.stdout.readline(), "---\n", command)
            for line in wanted:
                while not follow.stdout.readline().startswith(line):
                    self.assertIsNone(follow.poll(), command)
            follow.kill()
            follow.wait()
        self.muster("cancel", job)
        lines = self.muster("logs", job, "-f", "-o", "json").stdout.splitlines()
        self.assertEqual([json.loads(line)["text"] for line in lines], ["one\n", "two\n"])

    def test_labels_are_shown_and_looked_for(self):
        job = self.muster("submit", "--hold", "-l", "team=vision", "-l", "run=1", "--",
                          "true").stdout.strip()
        other = self.muster("submit", "--hold", "-l", "team=vision", "--", "true").stdout.strip()
        self.assertIn("run=1, team=vision", self.muster("show", job).stdout)
        listed = self.muster("list", "--label", "team=vision", "-l", "run=1").stdout
        self.assertIn(job, listed)
        self.assertNotIn(other, listed)
        self.assertIn("run=1, team=vision", self.muster("list", "-o", "wide").stdout)
        self.assertIn("NAME=VALUE", self.muster("list", "--label", "team", code=2).stderr)
        self.muster("cancel", job, other)

    def test_a_job_file_is_submitted_whole(self):
        path = os.path.join(self.server.folder, "jobs.yaml")
        with open(path, "w") as out:
            out.write("name: part\ncommand: echo part ${index}\nclusters: here\narray: {count: 3}\n"
                      "---\nname: whole\ncommand: echo whole\nclusters: here\ndepends_on: part\n")
        ids = self.muster("submit", "-f", path).stdout.split()
        self.assertEqual(len(ids), 4)
        self.muster("wait", *ids, "--timeout", "50s")
        self.assertEqual(self.muster("logs", ids[3]).stdout, "whole\n")
        self.assertEqual(self.muster("submit", "-f", path, "--dry-run").stdout.count("name:"), 4)

    def test_a_retry_is_a_new_job(self):
        self.here("--name", "again", "--", "echo", "again")
        said = self.muster("retry", "again").stdout
        new = said.split()[-1]
        self.muster("wait", new, "--timeout", "50s")
        self.assertEqual(self.muster("logs", new).stdout, "again\n")

    def test_a_wait_outlives_a_restart_of_the_server(self):
        job = self.muster("submit", "--cluster", "here", "--", "sh", "-c",
                          "sleep 3; exit 4").stdout.strip()
        waits = subprocess.Popen([BINARY, "wait", job, "--timeout", "50s"], text=True,
                                 env=self.environment, stdout=subprocess.PIPE)
        time.sleep(0.5)
        self.server.kill()
        self.server.start()
        self.assertEqual(waits.communicate(timeout=60)[0], f"{job} failed\n")
        self.assertEqual(waits.returncode, 4)

    def test_nobody_on_that_port(self):
        done = self.muster("list", "--url", "http://127.0.0.1:1", code=3)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("muster serve", done.stderr)

    def test_contexts_name_servers(self):
        url = self.environment["MUSTER_URL"]
        kept = json.loads(self.muster("context", "set", "mine", "--url", url, "-o", "json").stdout)
        self.assertEqual((kept["name"], kept["url"], kept["has_token"]), ("mine", url, False))
        self.assertIn("current: true", self.muster("context", "use", "mine", "-o", "yaml").stdout)
        without = {k: v for k, v in self.environment.items() if k != "MUSTER_URL"}
        done = subprocess.run([BINARY, "list", "--all"], env=without, capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.muster("list", "--context", "other", code=1)


class Fleet(WithServer):
    """What the server says about clusters, queues and nodes."""

    def test_lists_show_what_is_configured(self):
        self.assertIn("sim", self.muster("cluster", "list").stdout)
        self.assertIn("other", self.muster("queues").stdout)
        nodes = self.muster("node", "list", "--cluster", "sim", "-o", "json").stdout
        self.assertEqual(len(json.loads(nodes)), 2)
        self.assertIn("sim", self.muster("top").stdout)

    def test_explain_says_why_a_job_waits(self):
        job = self.muster("submit", "--cluster", "sim", "--gpus", "8", "--pods", "3", "--",
                          "true").stdout.strip()
        time.sleep(0.3)
        self.assertIn("waits", self.muster("explain", job).stdout)
        self.muster("when", job)
        self.muster("cancel", job)

    def test_a_reload_says_what_changes_and_whose_jobs_that_affects(self):
        self.assertEqual(self.muster("config", "reload").stdout, "nothing changed\n")
        job = self.running("--cluster", "here", "--queue", "other", "--", "sleep", "300")
        changed = CONFIG.replace("{name: other}", "{name: other, weight: 3}")
        self.server.write_config(changed)
        self.addCleanup(self.server.write_config, CONFIG)
        said = self.muster("config", "reload", "--dry-run").stdout
        self.assertIn("would change:\n- queue other: weight 1 -> 3\naffects 1 job of ", said)
        self.assertIn("changed:\n", self.muster("config", "reload").stdout)
        self.server.write_config(changed + "nonsense: 1\n")
        self.assertIn("nonsense", self.muster("config", "reload", "--dry-run", code=2).stderr)
        self.muster("cancel", job)

    def test_whatif_asks_without_submitting(self):
        self.muster("whatif", "job", "--cluster", "sim", "--gpus", "8")
        self.assertNotIn("true", self.muster("list", "--all", "--state", "waiting").stdout)


if __name__ == "__main__":
    BINARY = SERVER = os.path.abspath(sys.argv.pop(1))
    if "--server" in sys.argv:
        at = sys.argv.index("--server")
        SERVER = os.path.abspath(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    unittest.main()
