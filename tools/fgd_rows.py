#!/usr/bin/env python3
"""Rows of `run_bench.sh fgd` for one pod list, and whether its default policy reaches what it must.

Usage: fgd_rows.py LIST [FILE] < one line of `muster sim fgd -o json` a policy

The rows are added to FILE as JSON lines, too: measure, value, unit, limit, ratio, reach, ok.
"""
import json
import sys

# At 130 % arrival: the published FGD row of the paper (allocated GPU %) and by how many points less
# the default policy must leave unallocated.
REACH_130 = {
    "default": (95.39, 0.7),
    "cpu050": (95.21, 0.7),
    "cpu200": (95.05, 0.7),
    "gpushare40": (94.15, 0.7),
    "gpushare100": (86.90, 1.5),
    "gpuspec10": (94.95, 0.7),
    "multigpu20": (95.65, 0.8),
    "multigpu50": (97.18, 0.3),
}
# At 100 % arrival: allocated at least this, on other lists at least our own `--policy fgd`.
REACH_100 = {"default": 95.23}


def row(name, run):
    at_100 = "%.2f ± %.2f" % (run["allocated_100_pct"], run["allocated_100_sd"])
    at_130 = "%.2f ± %.2f" % (run["allocated_130_pct"], run["unallocated_130_sd"])
    return "%-12s %-9s %16s %16s %16.2f %8.2f" % (
        name, run["policy"], at_100, at_130, run["unallocated_130_pct"], run["seconds_per_run"])


def reaches(name, runs):
    """(allocated at 100 % at least, unallocated at 130 % at most) of the default policy."""
    published, less = REACH_130[name]
    return REACH_100.get(name, runs["fgd"]["allocated_100_pct"]), 100 - published - less


def reach(name, runs):
    least, most = reaches(name, runs)
    ok = (runs["default"]["unallocated_130_pct"] <= most and
          runs["default"]["allocated_100_pct"] >= least)
    return "%-12s %-9s %16s %16s %16s %8s" % (
        name, "reach", ">= %.2f" % least, "", "<= %.2f" % most, "yes" if ok else "NO")


def machine(name, run):
    return "%-12s %-9s scan %.1f ns/node, copy %.1f GB/s, %.1f million lookups/s" % (
        name, "machine", run["machine_scan_ns_per_node"], run["machine_copy_gb_per_s"],
        run["machine_lookups_per_s"] / 1e6)


def lines(name, runs):
    for policy, run in runs.items():
        least, most = reaches(name, runs) if policy == "default" and name in REACH_130 else (
            None, None)
        for what, key, wanted, is_ok in (
                ("allocated at 100 %", "allocated_100_pct", least,
                 lambda v, least=least: v >= least),
                ("allocated at 130 %", "allocated_130_pct", None, None),
                ("unallocated at 130 %", "unallocated_130_pct", most,
                 lambda v, most=most: v <= most)):
            yield {"measure": f"{name}, {policy}: {what}", "value": run[key], "unit": "%",
                   "limit": None, "ratio": None, "reach": wanted,
                   "ok": None if wanted is None else is_ok(run[key])}


def main():
    name = sys.argv[1]
    runs = {}
    for line in sys.stdin:
        run = json.loads(line)
        runs[run["policy"]] = run
        print(row(name, run), flush=True)
    if name in REACH_130:
        print(reach(name, runs))
    if "default" in runs:
        print(machine(name, runs["default"]))
    if len(sys.argv) > 2:
        with open(sys.argv[2], "a", encoding="utf-8") as out:
            out.writelines(json.dumps(line) + "\n" for line in lines(name, runs))


if __name__ == "__main__":
    main()
