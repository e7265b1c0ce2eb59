#!/usr/bin/env python3
"""One seed of the FGD placement experiment on the published trace, with the engine's own policy.

Usage: fgd_one_seed.py MUSTER     exits with 77 where the trace is not there
"""
import json
import subprocess
import sys
from pathlib import Path

TRACE = Path(__file__).resolve().parents[2].parent / "shared" / "traces" / "openb"
NODES = TRACE / "openb_node_list_gpu_node.csv"
PODS = TRACE / "openb_pod_list_default.csv"
# Means of ten seeds: published FGD allocates 95.23 at 100 % asked and 95.39 at 130 %; ours must be
# better by 0.7 at 130 %. A single seed is allowed 0.3 below that.
ALLOCATED_100 = 95.23 - 0.3
ALLOCATED_130 = 95.39 + 0.7 - 0.3


def main():
    if not (NODES.exists() and PODS.exists()):
        print(f"SKIPPED: no trace in {TRACE}")
        return 77
    output = subprocess.run(
        [sys.argv[1], "sim", "fgd", "--nodes", str(NODES), "--pods", str(PODS), "--policy",
         "default", "--seeds", "42..42", "-o", "json"], check=True, text=True,
        stdout=subprocess.PIPE).stdout
    found = json.loads(output)
    print(output, end="")
    if missing := {"machine_scan_ns_per_node", "machine_copy_gb_per_s",
                   "machine_lookups_per_s"} - found.keys():
        print(f"no raw limits of the machine: {sorted(missing)}")
        return 1
    if found["allocated_100_pct"] < ALLOCATED_100:
        print(f"allocated at 100 %: below {ALLOCATED_100:.2f}")
        return 1
    if 100 - found["unallocated_130_pct"] < ALLOCATED_130:
        print(f"allocated at 130 %: below {ALLOCATED_130:.2f}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
