"""Child processes that do not outlive the test, whatever ends it. Standard library only."""
import ctypes
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../server"))
from ports import free_port  # noqa: E402, F401  for those who start daemons

PR_SET_PDEATHSIG = 1
# The kernel's "parent" is the thread that started the child: one that lives as long as we do.
SPAWNER = ThreadPoolExecutor(max_workers=1)


def end_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def spawn(command, **options):
    """A child that ends with this process."""
    return SPAWNER.submit(subprocess.Popen, command, preexec_fn=end_with_parent,
                          **options).result()


class Daemon:
    """A program that runs until it is stopped, with its output in a file."""

    def __init__(self, name, command, log_path, environment=None):
        self.name = name
        self.command = [str(word) for word in command]
        self.log_path = str(log_path)
        self.environment = {**os.environ, **(environment or {})}
        self.process = None

    def start(self):
        with open(self.log_path, "ab") as log:
            self.process = spawn(self.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                 env=self.environment)
        return self

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self, wait_s=20):
        if not self.is_running():
            return
        self.process.send_signal(signal.SIGCONT)  # a stopped one hears nothing else
        self.process.terminate()
        try:
            self.process.wait(wait_s)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self):
        if self.is_running():
            self.process.kill()
            self.process.wait()

    def log_tail(self, lines=25):
        with open(self.log_path, errors="replace", encoding="utf-8") as log:
            return "".join(log.readlines()[-lines:])


def wait_until(what, condition, daemons=(), wait_s=60, pause_s=0.05):
    """Waits for a condition; says what it waited for, and shows the log of a daemon that died."""
    end = time.monotonic() + wait_s
    while time.monotonic() < end:
        for daemon in daemons:
            if not daemon.is_running():
                raise AssertionError(f"{daemon.name} ended:\n{daemon.log_tail()}")
        if condition():
            return
        time.sleep(pause_s)
    tails = "\n".join(f"--- {d.name}\n{d.log_tail()}" for d in daemons)
    raise AssertionError(f"{what}: not within {wait_s} s\n{tails}")
