#!/usr/bin/env python3
"""Writes the tables that tools/run_bench.sh kept into docs/performance.md.

Usage: performance_page.py [--root ROOT] [--machine NAME] all | BENCHMARK

`all` writes the whole page: its beginning and the section of every benchmark that was run. The name
of one benchmark writes that section alone, if the page was made on a machine of the same kind: rows
of two machines must not stand side by side. What people wrote between a heading and its table is
kept as it is; it is printed, so that whoever ran the benchmark sees whether it still holds.
"""
import argparse
import re
import sys
from pathlib import Path

ORDER = ["plan", "growth", "fgd", "server", "kube", "appwrapper"]
BEGINNING = """# What Muster reaches

Made by `make bench` on: {machine}.
Times of the engine are processor time of the one thread that plans; the raw limits of the
machine stand below the first table, to compare with another one. The server is measured
from outside, its clients on the same machine; `limit here` is measured in the same run.
On Kubernetes the control planes run on the same cores as server and clients; limit and
server take turns, each on fresh control planes, and `ratio` is the median of the turns.
"""
HEADING = re.compile(r"^## make bench-(\w+)\n", re.M)
FENCE = "```\n"


def sections_of(page):
    """Name -> (what people wrote, the table) of each section, and the machine of the page."""
    parts = HEADING.split(page)
    machine = re.search(r"^Made by `make bench` on: (.*)\.$", parts[0], re.M)
    found = {}
    for name, text in zip(parts[1::2], parts[2::2]):
        note, _, rest = text.partition(FENCE)
        found[name] = (note.strip("\n"), rest.partition(FENCE)[0])
    return found, machine.group(1) if machine else ""


def page_of(sections, machine):
    page = BEGINNING.format(machine=machine)
    for name in ORDER:
        if name not in sections:
            continue
        note, table = sections[name]
        page += f"\n## make bench-{name}\n\n" + (f"{note}\n\n" if note else "")
        page += FENCE + table + FENCE
    return page


def table_of(root, name):
    text = (root / "out" / f"bench-{name}.txt").read_text(encoding="utf-8")
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


def this_machine():
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"),
                      re.M)
    return found.group(1) if found else "an unknown processor"


def main():
    ask = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ask.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    ask.add_argument("--machine", default=this_machine())
    ask.add_argument("what", choices=["all", *ORDER])
    given = ask.parse_args()
    path = given.root / "docs" / "performance.md"
    sections, machine = sections_of(path.read_text(encoding="utf-8") if path.exists() else "")
    if given.what != "all" and machine not in ("", given.machine):
        print(f"docs/performance.md is of another machine ({machine}) and stays as it is; "
              "`make bench` writes all of it", file=sys.stderr)
        return 0
    for name in ORDER if given.what == "all" else [given.what]:
        if not (given.root / "out" / f"bench-{name}.txt").exists():
            continue
        note = sections.get(name, ("", ""))[0]
        sections[name] = (note, table_of(given.root, name))
        if note:
            print(f"docs/performance.md keeps this note of bench-{name}; does it still hold?\n"
                  f"{note}", file=sys.stderr)
    path.write_text(page_of(sections, given.machine), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
