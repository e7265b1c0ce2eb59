#!/usr/bin/env python3
"""Runs `muster bench server` with small numbers and looks at the form of what it prints, not at
times.

Usage: server_small.py MUSTER
"""
import json
import subprocess
import sys

SIZE = "--jobs 1000 --clients 200 --starts 3 --seconds 1".split()
KEYS = {"measure", "value", "unit", "limit", "ratio", "reach", "ok"}
# What every part measures, by the beginning of a row.
MEASURES = ("submits", "submit to process started", "restart with", "list page", "explain", "show",
            "decision latency with 200 event clients", "  the same without clients",
            "  clients that did not read", "  gaps")


def main():
    done = subprocess.run([sys.argv[1], "bench", "server", *SIZE, "-o", "json"], check=False,
                          text=True, stdout=subprocess.PIPE)
    print(done.stdout)
    assert done.returncode == 0, "something could not be measured"
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    for row in rows:
        assert KEYS <= row.keys(), row
    missing = [measure for measure in MEASURES
               if not any(measure in row["measure"] for row in rows)]
    assert not missing, missing
    gaps = next(row for row in rows if row["measure"].startswith("  gaps"))
    assert gaps["value"] == 0, gaps
    return 0


if __name__ == "__main__":
    sys.exit(main())
