#!/usr/bin/env python3
"""What only a terminal shows: the screen of `muster top`, `muster exec`, completion in real shells.

Usage: terminal_test.py MUSTER [--server MUSTER] [unittest arguments]

Shells that are not installed are skipped, and the output says so: apt-get install zsh fish.
"""
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../server"))
from muster_server import Server  # noqa: E402

BINARY = ""
SERVER = ""
PATIENCE = 60
CONFIG = """clusters:
- {name: here, type: local, slots: 4, cpu: 64, memory: 64Gi}
queues:
- {name: default}
"""


class Terminal:
    """A program in a pseudo-terminal of 24 lines and 100 columns."""

    def __init__(self, words, environment):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.text = ""
        self.process = subprocess.Popen(
            words, stdin=slave, stdout=slave, stderr=slave, env=environment,
            preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)))

    def type(self, text):
        os.write(self.master, text.encode())

    def resize(self, lines, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.process.send_signal(signal.SIGWINCH)

    def read_until(self, pattern):
        """Everything since the last call, up to where the pattern is found."""
        give_up = time.time() + PATIENCE
        while True:
            found = re.search(pattern, self.text)
            if found:
                seen, self.text = self.text[:found.end()], self.text[found.end():]
                return seen
            ready, _, _ = select.select([self.master], [], [], max(0, give_up - time.time()))
            if not ready:
                raise AssertionError(f"{pattern!r} did not come: {self.text!r}")
            self.text += os.read(self.master, 65536).decode(errors="replace")

    def modes(self):
        return termios.tcgetattr(self.slave)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)


class Top(unittest.TestCase):
    """The live screen: it follows what happens and leaves the terminal as it found it."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server(SERVER, CONFIG).start()
        cls.environment = {**os.environ, "MUSTER_URL": f"http://127.0.0.1:{cls.server.port}",
                           "MUSTER_CONFIG": os.path.join(cls.server.folder, "contexts.yaml"),
                           "TERM": "xterm-256color"}

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def setUp(self):
        self.terminal = Terminal([BINARY, "top", "--interval", "200ms"], self.environment)
        self.addCleanup(self.terminal.close)

    def submit(self, name):
        return subprocess.run([BINARY, "submit", "--name", name, "--", "sleep", "300"], check=True,
                              env=self.environment, capture_output=True, text=True).stdout.strip()

    def assert_restored(self, code):
        self.assertEqual(self.terminal.process.wait(PATIENCE), code)
        self.assertEqual(self.terminal.modes(), self.terminal.before)
        last = self.terminal.text + os.read(self.terminal.master, 65536).decode(errors="replace") \
            if select.select([self.terminal.master], [], [], 0)[0] else self.terminal.text
        self.assertIn("\x1b[?1049l", last, "the screen before it is shown again")
        self.assertIn("\x1b[?25h", last, "the cursor is shown again")

    def test_it_shows_what_happens_and_q_ends_it(self):
        self.terminal.read_until("here")
        job = self.submit("seen-live")
        self.terminal.read_until("seen-live")
        self.terminal.resize(30, 120)
        subprocess.run([BINARY, "cancel", job], check=True, env=self.environment,
                       capture_output=True)
        self.terminal.type("q")
        self.assert_restored(0)

    def test_an_interrupt_ends_it_and_restores_the_terminal(self):
        self.terminal.read_until("here")
        self.terminal.type("\x03")
        self.terminal.process.wait(PATIENCE)
        self.assertIn(self.terminal.process.returncode, (0, 130, -signal.SIGINT))
        self.assert_restored(self.terminal.process.returncode)

    def test_a_kill_by_term_restores_the_terminal(self):
        self.terminal.read_until("here")
        self.terminal.process.send_signal(signal.SIGTERM)
        self.terminal.process.wait(PATIENCE)
        self.assert_restored(self.terminal.process.returncode)


class Wait(unittest.TestCase):
    """What somebody who waits at a terminal sees."""

    def test_it_tells_what_is_waited_for_until_that_has_ended(self):
        server = Server(SERVER, CONFIG).start()
        self.addCleanup(server.close)
        environment = {**os.environ, "MUSTER_URL": f"http://127.0.0.1:{server.port}",
                       "MUSTER_CONFIG": os.path.join(server.folder, "contexts.yaml")}
        job = server.submit("sleep 300", name="long")
        server.wait_state(job, "Running")
        terminal = Terminal([BINARY, "wait", job], environment)
        self.addCleanup(terminal.close)
        terminal.read_until(f"\r{job} long: running for ")
        server.api("POST", f"/jobs/{job}/cancel")
        terminal.read_until(f"\r{job} cancelled\r\n")
        self.assertEqual(terminal.process.wait(PATIENCE), 125)


class Exec(unittest.TestCase):
    """A shell in a pod of the local cluster, as somebody types into it."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server(SERVER, CONFIG).start()
        cls.environment = {**os.environ, "MUSTER_URL": f"http://127.0.0.1:{cls.server.port}",
                           "MUSTER_CONFIG": os.path.join(cls.server.folder, "contexts.yaml"),
                           "TERM": "xterm-256color"}
        cls.job = subprocess.run([BINARY, "submit", "--", "sleep", "300"], check=True,
                                 env=cls.environment, capture_output=True, text=True).stdout.strip()
        give_up = time.time() + PATIENCE
        while cls.server.job(cls.job)["state"] != "Running":
            assert time.time() < give_up, cls.server.log()
            time.sleep(0.05)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def open(self, *words):
        terminal = Terminal([BINARY, "exec", *words], self.environment)
        self.addCleanup(terminal.close)
        return terminal

    def test_a_shell_has_a_terminal_that_follows_the_window(self):
        terminal = self.open("-it", self.job, "--", "sh")
        terminal.type("test -t 0 && echo it-$((40 + 2))\r")
        terminal.read_until("it-42")
        terminal.resize(33, 111)
        terminal.type("while [ \"$(stty size)\" != '33 111' ]; do sleep 0.05; done; "
                      "echo resi''zed\r")
        terminal.read_until("resized")
        terminal.type("sh -c 'echo wa\"\"its; exec sleep 100'\r")
        terminal.read_until("waits")
        terminal.type("\x03")  # ends the sleep, not the client; what is typed before it is lost
        terminal.read_until(r"\^C")
        terminal.type("echo aft''er; exit 9\r")
        terminal.read_until("after")
        self.assertEqual(terminal.process.wait(PATIENCE), 9)
        self.assertEqual(terminal.modes(), terminal.before)

    def test_a_kill_by_term_restores_the_terminal_and_ends_the_command(self):
        terminal = self.open("-it", self.job, "--", "sh", "-c", "echo pid=$$=; exec sleep 1000")
        pid = re.search(r"pid=(\d+)=", terminal.read_until(r"pid=\d+=")).group(1)
        terminal.process.send_signal(signal.SIGTERM)
        self.assertEqual(terminal.process.wait(PATIENCE), 130)
        self.assertEqual(terminal.modes(), terminal.before)
        give_up = time.time() + PATIENCE
        while os.path.exists(f"/proc/{pid}") and time.time() < give_up:
            time.sleep(0.05)
        self.assertFalse(os.path.exists(f"/proc/{pid}"))


class Shells(unittest.TestCase):
    """The scripts of `muster completion` in the shells they are for."""

    def script(self, shell):
        if shutil.which(shell) is None:
            message = f"SKIPPED: {shell} is not installed, its completion is not tested"
            print(message, file=sys.stderr)
            self.skipTest(message)
        path = os.path.join(self.enterContext(tempfile.TemporaryDirectory()), f"completion.{shell}")
        with open(path, "w") as out:
            subprocess.run([BINARY, "completion", shell], check=True, stdout=out)
        subprocess.run([shell, "-n", path], check=True)  # it reads as a script
        return path

    def environment(self):
        folder = os.path.dirname(os.path.abspath(BINARY))
        return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "TERM": "xterm"}

    def test_bash(self):
        path = self.script("bash")
        ask = (f"source {path}; COMP_WORDS=(muster cluster cor); COMP_CWORD=2; _muster; "
               "echo ${COMPREPLY[@]}; "
               "COMP_WORDS=(muster submit --prio); _muster; echo ${COMPREPLY[@]}")
        out = subprocess.run(["bash", "-c", ask], check=True, capture_output=True, text=True,
                             env=self.environment())
        self.assertEqual((out.stdout, out.stderr), ("cordon\n--priority\n", ""))

    def test_fish(self):
        path = self.script("fish")
        ask = f"source {path}; complete -C 'muster cluster cor'; complete -C 'muster submit --prio'"
        out = subprocess.run(["fish", "--no-config", "-c", ask], check=True, capture_output=True,
                             text=True, env=self.environment())
        words = [line.split("\t")[0] for line in out.stdout.splitlines()]
        self.assertEqual((words, out.stderr), (["cordon", "--priority"], ""))

    def offered_by_fish(self, path, line):
        names = ("function muster; switch $argv[2]; case queues; echo vision; case clusters; "
                 "echo east; case jobs; echo train; end; end")
        out = subprocess.run(["fish", "--no-config", "-c",
                              f"source {path}; {names}; complete -C '{line}'"], check=True,
                             capture_output=True, text=True, env=self.environment())
        self.assertEqual(out.stderr, "")
        return [word.split("\t")[0] for word in out.stdout.splitlines()]

    def test_fish_offers_the_names_that_the_place_or_the_option_wants(self):
        path = self.script("fish")
        for line, wanted in {"muster run --queue vi": ["vision"],
                             "muster run -q vi": ["vision"],
                             "muster run --cluster ea": ["east"],
                             "muster logs tr": ["train"],
                             "muster -o json queue show vi": ["vision"],
                             "muster run --queue vision --clu": ["--cluster"]}.items():
            with self.subTest(line=line):
                self.assertEqual(self.offered_by_fish(path, line), wanted)

    def test_fish_offers_at_a_place_only_what_is_there(self):
        path = self.script("fish")
        for line in ("muster cluster list cor", "muster queue show --weig", "muster run -- can"):
            with self.subTest(line=line):
                found = self.offered_by_fish(path, line)
                self.assertFalse({"cordon", "--weight", "cancel"} & set(found), found)

    def test_zsh(self):
        path = self.script("zsh")
        shell = Terminal(["zsh", "-f", "-i"], self.environment())
        self.addCleanup(shell.close)
        # The echo of what is typed holds no "ready-1".
        shell.type("PS1=; autoload -U compinit; compinit -u -D; "
                   f"source {path}; echo ready-$((1))\n")
        shell.read_until("ready-1")
        shell.type("muster cluster cor\t")
        shell.read_until("cluster cordon")
        shell.type("\x15muster submit --prio\t")
        shell.read_until("rity")  # the rest of --priority: nobody typed it
        shell.type("\x15muster() { echo vis''ion }\n")
        shell.type("muster run --queue vi\t")
        shell.read_until("queue vision")


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv[1])
    SERVER = BINARY
    rest = sys.argv[2:]
    if rest[:1] == ["--server"]:
        SERVER, rest = os.path.abspath(rest[1]), rest[2:]
    unittest.main(argv=[sys.argv[0], *rest])
