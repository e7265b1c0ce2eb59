#!/usr/bin/env python3
"""`make cluster` and `make cluster-stop`: the playground starts, takes a job, and leaves nothing.

Usage: playground_test.py MUSTER [--kubernetes VERSION]
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from binaries import CONTROL_PLANE, KUBERNETES, Missing, find_binaries
from processes import wait_until

PLAYGROUND = Path(__file__).resolve().parent / "playground.py"


def playground(*words):
    done = subprocess.run([sys.executable, PLAYGROUND, *map(str, words)], check=False, text=True,
                          stdout=subprocess.PIPE, timeout=400)
    print(done.stdout)
    assert done.returncode == 0, f"playground.py {words[0]} ended with {done.returncode}"
    return done.stdout


def processes_of(folder):
    """Command lines that name the folder, but for our own."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in line and int(path.parent.name) != os.getpid():
            found.append(line)
    return found


def use(binary, said):
    url = re.search(r"^export MUSTER_URL=(\S+)$", said, re.MULTILINE).group(1)

    def muster(*words):
        return subprocess.run([binary, *words], env={**os.environ, "MUSTER_URL": url}, check=True,
                              text=True, stdout=subprocess.PIPE, timeout=60).stdout
    wait_until("both clusters are ready", lambda: len(re.findall(
        r"^(?:east|west)\s.*\bready\b", muster("clusters"), re.MULTILINE | re.IGNORECASE)) == 2)
    muster("submit", "--name", "played", "--pods", "2", "--gpus", "1", "--", "sleep", "600")
    wait_until("the job runs",
               lambda: re.search(r"played\s.*running", muster("list"), re.IGNORECASE))
    if "run --cluster node" in said:
        hello = muster("run", "--cluster", "node", "--", "sh", "-c", "echo hello from $(hostname)")
        assert "hello from" in hello, hello


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("binary")
    parser.add_argument("--kubernetes", default=KUBERNETES, metavar="VERSION")
    options = parser.parse_args()
    try:
        find_binaries(options.kubernetes, CONTROL_PLANE, build=False)
    except Missing as missing:
        print(f"NOT TESTED: {missing}")
        return 0
    binary = os.path.abspath(options.binary)
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base).resolve() / "cluster"
        start = ("start", binary, "--folder", folder, "--nodes", 2, "--gpus", 2,
                 "--kubernetes", options.kubernetes)
        try:
            said = playground(*start)
            use(binary, said)
            again = playground(*start)
            assert again.strip() in said, "a second start says how to use the first"
        finally:
            stopped = playground("stop", "--folder", folder)
        assert "stopped" in stopped, stopped
        wait_until("who held them all ends last", lambda: not processes_of(folder), wait_s=5)
        assert "nothing runs" in playground("stop", "--folder", folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
