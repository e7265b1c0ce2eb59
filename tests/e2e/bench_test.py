#!/usr/bin/env python3
"""Runs a benchmark on small fleets and looks at the form of what it prints, not at times.

Usage: bench_test.py MUSTER kube|appwrapper
"""
import json
import subprocess
import sys

from binaries import Missing, find_binaries

# name -> sizes, how many rows, and which of them are measured beside a limit
BENCHES = {
    "kube": ("--turns 1 --nodes 3 --gangs 12 --informer-nodes 20 --informer-pods 200"
             " --only gangs --only informers", 3, (0, 1)),
    "appwrapper": ("--turns 1 --nodes 3 --wrappers 12 --ended 4 --only dispatch --only writes", 3,
                   (1,)),
}
KEYS = {"measure", "value", "unit", "limit", "ratio", "reach", "ok"}


def main():
    try:
        find_binaries(build=False)
    except Missing as missing:
        print(f"NOT TESTED: {missing}")
        return 0
    muster, name = sys.argv[1:]
    size, count, beside_limit = BENCHES[name]
    done = subprocess.run([muster, "bench", name, *size.split(), "-o", "json"], check=False,
                          text=True, stdout=subprocess.PIPE)
    print(done.stdout)
    assert done.returncode == 0, "something could not be measured"
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == count, rows
    for row in rows:
        assert KEYS <= row.keys(), row
        assert row["value"] > 0, row
    for row in (rows[index] for index in beside_limit):
        assert row["limit"] > 0 and row["ratio"] > 0 and row["reach_of"] == "ratio", row
    return 0


if __name__ == "__main__":
    sys.exit(main())
