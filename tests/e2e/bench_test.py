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
    # gangs and fleet (each with its limit), two of starts, two of informers, idle
    "kube": ("--turns 1 --nodes 3 --gangs 12 --fleet-gangs 9 --starts 2 --rest-seconds 1"
             " --informer-nodes 20 --informer-pods 200"
             " --idle-nodes 3 --settle-seconds 1 --idle-seconds 2", 9, (1, 3, 4, 5, 6)),
    "appwrapper": ("--turns 1 --nodes 3 --wrappers 12 --ended 4 --unfit 20 --queued 200"
                   " --queued-v1beta2 200", 9, (1,)),
}
KEYS = {"measure", "value", "unit", "limit", "ratio", "reach", "ok"}


def measure(muster, name, size):
    done = subprocess.run([muster, "bench", name, *size.split(), "-o", "json"], check=False,
                          text=True, stdout=subprocess.PIPE)
    print(done.stdout)
    assert done.returncode == 0, "something could not be measured"
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    try:
        find_binaries(build=False)
    except Missing as missing:
        print(f"NOT TESTED: {missing}")
        return 0
    muster, name = sys.argv[1:]
    size, count, beside_limit = BENCHES[name]
    rows = measure(muster, name, size)
    assert len(rows) == count, rows
    for row in rows:
        assert KEYS <= row.keys(), row
        # A processor's time is counted in ticks: of two seconds it may be none.
        assert row["value"] > 0 or row["unit"] == "% of a core" and row["value"] == 0, row
    for row in (rows[index] for index in beside_limit):
        assert row["limit"] > 0 and row["ratio"] > 0 and row["reach_of"] == "ratio", row
    if name == "appwrapper":  # the longest part has a row of its own
        alone = measure(muster, name, "--nodes 1 --queued 20 --queued-v1beta2 0 --only queued")
        assert [row["unit"] for row in alone] == ["bytes each", "s"], alone
    if name == "kube":
        shares = rows[3]["note"].split("Jobs by cluster ")[1].split("+")
        assert sum(int(share) for share in shares) == 9 and len(shares) == 3, rows[3]
    return 0


if __name__ == "__main__":
    sys.exit(main())
