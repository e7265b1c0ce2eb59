#!/usr/bin/env python3
"""kill -9 of the real server at random moments, on both stores.

Jobs are submitted all the while, each under an idempotency key; each appends one line to a file
when it runs. After the last kill every job that was answered, and every one whose submit was sent
again after a kill, must have run exactly once: nothing lost, nothing twice.

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


class Client(threading.Thread):
    """Submits until it is told to stop; what got no answer is sent again, as it was."""

    def __init__(self, server, ran, number, stop):
        super().__init__()
        self.server, self.ran, self.number, self.stop = server, ran, number, stop
        self.answered = {}  # token -> id
        self.wrong = []

    def run(self):
        count = 0
        while not self.stop.is_set():
            token = f"c{self.number}-{count}"
            count += 1
            body = {"command": f"echo {token} >> {self.ran}"}
            while True:
                try:
                    status, answer, _ = self.server.api(
                        "POST", "/jobs", body, headers={"Idempotency-Key": token}, timeout=20)
                except (OSError, http.client.HTTPException):
                    time.sleep(0.02)
                    continue
                if status in (200, 201):
                    self.answered[token] = answer["ids"][0]
                    break
                if status not in (429, 503):
                    self.wrong.append((status, answer))
                    return
                time.sleep(0.05)
            time.sleep(0.01)


def wait_all_final(server, jobs, wait_s):
    end = time.monotonic() + wait_s
    for job in jobs:
        left = max(1.0, end - time.monotonic())
        row = server.wait_final(job, wait_s=left)
        if row["state"] != "Succeeded":
            return f"job {job} is {row['state']}: {row.get('reason')}"
    return ""


def check(server, ran, clients):
    answered = {}
    for client in clients:
        if client.wrong:
            return f"a submit was refused: {client.wrong[0]}"
        answered.update(client.answered)
    problem = wait_all_final(server, answered.values(), 120)
    if problem:
        return problem
    with open(ran) as file:
        counts = collections.Counter(line.strip() for line in file)
    lost = [token for token in answered if counts[token] == 0]
    twice = [token for token, count in counts.items() if count > 1]
    unknown = [token for token in counts if token not in answered]
    print(f"{len(answered)} jobs answered, {sum(counts.values())} runs", flush=True)
    if lost or twice or unknown:
        return f"lost {lost[:5]}, twice {twice[:5]}, unknown {unknown[:5]}"
    return "" if answered else "nothing was submitted"


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
