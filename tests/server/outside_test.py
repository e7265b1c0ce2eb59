#!/usr/bin/env python3
"""What README promises of `make run`, seen from outside: the demonstration is started, the commands
it prints are run as they are printed, and processes write down by themselves that they ran.

Usage: outside_test.py MUSTER [unittest arguments]
"""
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from muster_server import Server

BINARY = ""
HELLO = "sh -c 'echo hello; exit 3'"


class Demonstration(unittest.TestCase):
    def setUp(self):
        self.server = Server(BINARY, arguments=["--demo"]).start()
        self.addCleanup(self.server.close)
        self.home = tempfile.mkdtemp(prefix="muster-home-")
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.ran = os.path.join(self.home, "ran")
        open(self.ran, "w").close()
        self.environment = {**os.environ, "HOME": self.home,
                            "MUSTER_CONFIG": os.path.join(self.home, "contexts.yaml")}
        for name in ("MUSTER_URL", "MUSTER_TOKEN", "MUSTER_CA"):
            self.environment.pop(name, None)

    def printed(self):
        """The lines that the server offers to try."""
        text = self.server.wait("the greeting", lambda: self.server.log().partition(
            "Try, in another terminal:\n")[2])
        lines = text.split("\n\n")[0].split("\n")
        return [line.strip() for line in lines if line.strip()]

    def shell(self, command, code=0):
        """With the exports that the server printed."""
        exports = [line for line in self.printed() if line.startswith("export ")]
        done = subprocess.run(["sh", "-c", "\n".join([*exports, command])], cwd=self.server.folder,
                              env=self.environment, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, (command, done.stdout, done.stderr))
        return done.stdout

    def lines(self):
        with open(self.ran) as file:
            return [line.strip() for line in file]

    def gang(self, name, then):
        return self.shell(
            f"muster submit --name {name} --cluster here --pods 3 --gpus 1 --run-limit 1m -- "
            f"sh -c 'echo {name} begins >> {self.ran}; {then}; echo {name} ends >> {self.ran}'")

    def test_the_three_commands_do_what_they_say(self):
        commands = [line for line in self.printed() if not line.startswith("export ")]
        self.assertEqual(len(commands), 3, commands)
        self.assertEqual(commands[0], f"muster run -- {HELLO}")
        self.assertEqual(self.shell(commands[0], code=3), "hello\n")
        train = self.shell(commands[1]).strip()
        listed = self.shell(commands[2])
        self.assertIn(train, listed)
        self.assertIn("failed", listed)

    def test_a_followed_command_runs_here_however_busy_this_machine_is(self):
        for _ in range(3):
            self.shell("muster submit --cluster here --cpu 100m --gpus 1 -- sleep 300")
        for options in ("", "--cpu 50m ", "--gpus 1 ", "--priority 1 "):
            self.assertEqual(self.shell(f"muster run {options}-- {HELLO}", code=3), "hello\n")
        # Who asks for a simulated one by name gets it.
        job = self.shell("muster submit --cluster sim-a -- true").strip()
        self.assertEqual(self.server.wait_state(job, "Running")["cluster"], "sim-a")

    def test_two_gangs_run_one_after_the_other_and_a_kill_changes_nothing(self):
        gate = os.path.join(self.home, "gate")
        first = self.gang("first", f"until [ -e {gate} ]; do sleep 0.05; done").strip()
        second = self.gang("second", "true").strip()
        self.server.wait_state(first, "Running")
        self.server.wait("three pods", lambda: len(self.lines()) == 3)

        def reserved():
            said = self.shell("muster explain second")
            return said if "reserved" in said else None
        said = self.server.wait("a reservation", reserved)
        self.assertIn(f"{second} second is waiting\n", said)
        self.assertRegex(said, r"waits +has nodes reserved in cluster here")
        self.assertRegex(said, r"starts +in \d+s, between")
        self.assertIn(f"fits in cluster here when {first} ends", said)
        self.assertRegex(self.shell("muster when second"), r"\d+s")
        states = {"first": "running", "second": "waiting"}
        self.assertEqual(self.states(), states)
        self.server.kill()
        self.server.start()
        self.assertEqual(self.states(), states)
        self.assertEqual(self.lines(), ["first begins"] * 3)
        open(gate, "w").close()
        self.assertEqual(self.shell("muster wait first second --timeout 60s"),
                         f"{first} succeeded\n{second} succeeded\n")
        lines = self.lines()
        self.assertEqual(collections.Counter(lines), {
            "first begins": 3, "first ends": 3, "second begins": 3, "second ends": 3})
        self.assertEqual(set(lines[:6]), {"first begins", "first ends"}, lines)

    def states(self):
        jobs = json.loads(self.shell("muster list -o json"))
        return {job["name"]: job["state"].lower() for job in jobs}


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main()
