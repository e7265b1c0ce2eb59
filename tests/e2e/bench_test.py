#!/usr/bin/env python3
"""Runs `muster bench kube` on small fleets and looks at the form of what it prints, not at times.

Usage: bench_test.py MUSTER
"""
import json
import subprocess
import sys

from binaries import Missing, find_binaries

SIZE = ("--turns 1 --nodes 3 --gangs 12 --informer-nodes 20 --informer-pods 200"
        " --only gangs --only informers").split()
KEYS = {"measure", "value", "unit", "limit", "ratio", "reach", "ok"}


def main():
    try:
        find_binaries(build=False)
    except Missing as missing:
        print(f"NOT TESTED: {missing}")
        return 0
    done = subprocess.run([sys.argv[1], "bench", "kube", *SIZE, "-o", "json"], check=False,
                          text=True, stdout=subprocess.PIPE)
    print(done.stdout)
    assert done.returncode == 0, "something could not be measured"
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == 3, rows
    for row in rows:
        assert KEYS <= row.keys(), row
        assert row["value"] > 0, row
    for row in rows[:2]:
        assert row["limit"] > 0 and row["ratio"] > 0 and row["reach_of"] == "ratio", row
    return 0


if __name__ == "__main__":
    sys.exit(main())
