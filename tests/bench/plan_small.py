#!/usr/bin/env python3
"""Runs `muster bench plan` on a small fleet and looks at the form of what it prints, not at times.

Usage: plan_small.py MUSTER
"""
import json
import os
import subprocess
import sys
import tempfile

KEYS = """gangs_per_s pods_per_s first_plan_s used_gangs_per_s event_p99_us event_p50_us
event_max_us guarantees_event_p99_us nested_guarantees_event_p50_us nested_guarantees_event_p99_us
bytes_per_waiting_job growth_exponent no_verdict_ms no_counterfactuals_ms no_room_verdict_ms
no_room_counterfactuals_ms shapes pod_shapes
node_classes lines""".split()
MACHINE = ("machine_scan_ns_per_node", "machine_copy_gb_per_s", "machine_lookups_per_s")
ROW = {"measure", "value", "unit", "limit", "ratio", "reach", "ok"}
GROWTH = "--nodes 160 --jobs 2000 --queues 27 --clusters 2 --growth-events 10".split()
SIZE = "--nodes 160 --jobs 2000 --queues 27 --clusters 2 --events 40".split()


def bad_rows(path, wanted):
    with open(path, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    bad = [f"row {row}: it lacks {sorted(ROW - row.keys())}" for row in rows if ROW - row.keys()]
    found = [row for row in rows if row["measure"] == wanted]
    if len(found) != 1 or not isinstance(found[0]["value"], float) or found[0]["ok"] is None:
        bad.append(f"no row {wanted!r} with a value that is ok or not: {found}")
    return bad


def main():
    command = [sys.argv[1], "bench", "plan", *SIZE]
    found = json.loads(subprocess.run([*command, "--growth-events", "10", "-o", "json"], check=True,
                                      text=True, stdout=subprocess.PIPE).stdout)
    bad = [f"no key {key}" for key in (*KEYS, *MACHINE)
           if not isinstance(found.get(key), (int, float))]
    if found.get("jobs_without_verdict") != 0:
        bad.append(f"{found.get('jobs_without_verdict')} waiting jobs have no verdict")
    if found.get("deterministic") is not True:
        bad.append("the order of arrival changed the plan")
    for key in ("no_wrong", "no_room_wrong"):
        if found.get(key):
            bad.append(f"saying no: {found[key]}")
    if found.get("no_started") != 0:
        bad.append(f"{found.get('no_started')} gangs that fit nowhere started")
    if found.get("no_room_started", 30) == 30:
        bad.append("every gang that should have no room started")
    if not found.get("gangs_placed") or not found.get("event_placements"):
        bad.append("nothing was placed")
    with tempfile.TemporaryDirectory() as folder:
        rows = os.path.join(folder, "rows.jsonl")
        text = subprocess.run([*command, "--no-growth", "--rows", rows], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        bad += bad_rows(rows, "empty fleet: gangs placed per second")
        growth = subprocess.run([sys.argv[1], "bench", "growth", *GROWTH, "--rows", rows, "-o",
                                 "json"], check=True, text=True, stdout=subprocess.PIPE).stdout
        bad += bad_rows(rows, "growth exponent")
        keys = json.loads(growth).keys()
        bad += [f"growth: no key {key}" for key in ("growth_exponent", *MACHINE) if key not in keys]
    if "gangs placed per second" not in text:
        bad.append("the text has no line of gangs per second")
    print("\n".join(bad) if bad else "ok")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
