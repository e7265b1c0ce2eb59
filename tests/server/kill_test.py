#!/usr/bin/env python3
"""kill -9 of the real server at random moments, on both stores.

Jobs are submitted all the while, each under an idempotency key; each pod appends one line to a
file when it runs. After the last kill every job that was answered, and every one whose submit was
sent again after a kill, must have run exactly once: nothing lost, nothing twice. Some are gangs, of
which every pod counts; some would run for ever and are cancelled at once: these have run at most
once, and nothing of them is left.

Usage: kill_test.py MUSTER [--store sqlite|postgres] [--kills N] [--seed N]
"""
import argparse
import collections
import http.client
import os
import random
import sys
import threading
import time

from muster_server import Server
from postgres import Postgres

# Snapshots all the time, and a journal that is trimmed behind them.
CONFIG = ("clusters:\n- {name: here, type: local, cpu: 64, memory: 64Gi}\n"
          "queues:\n- {name: default}\nretention: {journal: 1s}\n")
STORE = "store: {snapshot_every: 25}\n"


GANG = 2
FOREVER = str(31536000 + os.getpid())  # seconds; others test another store at the same time


class Client(threading.Thread):
    """Submits until it is told to stop; what got no answer is sent again, as it was."""

    def __init__(self, server, ran, number, stop):
        super().__init__()
        self.server, self.ran, self.number, self.stop = server, ran, number, stop
        self.answered = {}  # token -> id
        self.cancelled = {}  # the same of those that were cancelled
        self.expected = []  # lines, each of which is there once
        self.wrong = []

    def ask(self, path, body=None, headers=None, good=(200, 201)):
        """The answer, however often it has to be asked for; none after one that is wrong."""
        while True:
            try:
                status, answer, _ = self.server.api("POST", path, body, headers=headers, timeout=20)
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)
                continue
            if status in good:
                return answer
            if status not in (429, 503):
                self.wrong.append((path, status, answer))
                return None
            time.sleep(0.05)

    def submit(self, token, body):
        answer = self.ask("/jobs", body, {"Idempotency-Key": token})
        return answer["ids"][0] if answer else None

    def run_one(self, count):
        token = f"c{self.number}-{count}"
        if count % 5 == 4:
            job = self.submit(token, {"command": f"echo {token} >> {self.ran}; "
                                                 f"exec sleep {FOREVER}", "stop_grace": "1s"})
            if job and self.ask(f"/jobs/{job}/cancel", good=(200, 202, 409)) is not None:
                self.cancelled[token] = job
            return
        pods = GANG if count % 5 == 2 else 1
        job = self.submit(token, {"command": f"echo {token}.$RANK >> {self.ran}", "pods": pods})
        if job:
            self.answered[token] = job
            self.expected += [f"{token}.{rank}" for rank in range(pods)]

    def run(self):
        count = 0
        while not self.stop.is_set() and not self.wrong:
            self.run_one(count)
            count += 1
            time.sleep(0.01)


def wait_all(server, jobs, state, wait_s):
    end = time.monotonic() + wait_s
    for job in jobs:
        left = max(1.0, end - time.monotonic())
        row = server.wait_final(job, wait_s=left)
        if row["state"] != state:
            return f"job {job} is {row['state']}: {row.get('reason')}"
    return ""


def sleepers():
    """Processes of jobs that would run for ever."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if f"sleep\0{FOREVER}\0".encode() in file.read():
                    found.append(int(name))
        except OSError:
            continue
    return found


def check(server, ran, clients):
    expected, answered, cancelled = [], {}, {}
    for client in clients:
        if client.wrong:
            return f"refused: {client.wrong[0]}"
        expected += client.expected
        answered.update(client.answered)
        cancelled.update(client.cancelled)
    problem = (wait_all(server, answered.values(), "Succeeded", 120)
               or wait_all(server, cancelled.values(), "Cancelled", 60))
    if problem:
        return problem
    with open(ran) as file:
        counts = collections.Counter(line.strip() for line in file)
    lost = [line for line in expected if counts[line] == 0]
    twice = [line for line, count in counts.items() if count > 1]
    unknown = set(counts) - set(expected) - set(cancelled)
    print(f"{len(answered)} jobs answered, {len(cancelled)} cancelled, {sum(counts.values())} runs",
          flush=True)
    if lost or twice or unknown:
        return f"lost {lost[:5]}, twice {twice[:5]}, unknown {sorted(unknown)[:5]}"
    if sleepers():
        return f"processes of cancelled jobs still run: {sleepers()}"
    return "" if answered and cancelled else "nothing was submitted"


def check_restart(server):
    """With nothing under way the books are the same after one more kill."""
    before = server.world()
    server.kill()
    server.start()
    after = server.world()
    snapshots = server.metric("muster_snapshot_sequence")
    print(f"world {before}, snapshot of entry {snapshots:.0f}", flush=True)
    if before != after:
        return f"the world was {before}, is {after}"
    return "" if snapshots > 0 else "no snapshot was written"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--store", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    prng = random.Random(options.seed)
    print(f"seed {options.seed}, {options.kills} kills, {options.store}", flush=True)

    postgres = None
    config = CONFIG + STORE
    if options.store == "postgres":
        why = Postgres.missing()
        if why:
            print(f"NOT TESTED: {why}")
            return 0
        postgres = Postgres()
        config = CONFIG + STORE.replace("{", f"{{postgres: \"{postgres.url}\", ")
    server = Server(options.binary, config)
    ran = os.path.join(server.folder, "ran")
    open(ran, "w").close()
    stop = threading.Event()
    clients = [Client(server, ran, i, stop) for i in range(4)]
    try:
        server.start()
        for client in clients:
            client.start()
        for _ in range(options.kills):
            time.sleep(prng.uniform(0.05, 1.0))
            server.kill()
            server.start()
        time.sleep(0.5)
        stop.set()
        for client in clients:
            client.join()
        problem = check(server, ran, clients) or check_restart(server)
        if problem:
            print(f"FAILED: {problem}\n{server.log()}")
        return 1 if problem else 0
    finally:
        stop.set()
        server.close()
        if postgres:
            postgres.close()


if __name__ == "__main__":
    sys.exit(main())
