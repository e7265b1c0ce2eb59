#!/usr/bin/env python3
"""Checks that the documents speak of what exists: relative links, `make` targets, paths, and that
docs/server.md has every key of the configuration, as the schema has it, and every metric, and the
map of README.md every folder of src/. (What metrics mean is compared with a real server, by
tests/server/contract_test.py.)

Prints `file:line: message` per mistake; the exit code is 1 if there is any. With --write the tables
of keys are put right first.
"""
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)\s#]+)(?:#[^)]*)?\)")
MAKE = re.compile(r"(?:`|^)make ([a-z][a-z0-9-]*)", re.M)
GENERATED = {"docs/performance.md"}  # by `make bench`
PATH = re.compile(r"`((?:tools|cmake|docs|\.ci)/[\w./-]+)`")

KEYS_PAGE = ROOT / "docs/server.md"
KEYS = re.compile(r"<!-- keys: (\w+) -->\n((?:\|.*\n)*)")

MAP_ROW = re.compile(r"^\| `(src/[\w-]+)/` \| \S", re.M)

METRIC = re.compile(r'"(muster_[a-z_]+)"')
METRIC_ROW = re.compile(r"^\| `(muster_[a-z_]+)` \|", re.M)


def key_table(section):
    """Of one object of the schema."""
    lines = ["| key | default | meaning |", "|---|---|---|"]
    for key, value in section["properties"].items():
        default = value.get("default", "")
        if isinstance(default, bool):
            default = str(default).lower()
        if default != "":
            default = f"`{default}`"
        if key in section.get("required", []):
            default = "required"
        meaning = value["description"]
        if "enum" in value:
            meaning += ": " + ", ".join(f"`{word}`" for word in value["enum"])
        inner = value.get("$ref") or (value.get("items") or {}).get("$ref")
        if inner:
            name = inner.rsplit("/", 1)[1]
            meaning += f" ([{name}](#{name}))"
        lines.append(f"| `{key}` | {default} | {meaning} |")
    return "".join(line + "\n" for line in lines)


def check_keys(write):
    """What is wrong with the tables of keys: (line, message) each."""
    sections = json.loads((ROOT / "docs/config.schema.json").read_text())["$defs"]
    text = KEYS_PAGE.read_text()
    if write:
        text = KEYS.sub(
            lambda found: f"<!-- keys: {found[1]} -->\n" + key_table(sections[found[1]]), text)
        KEYS_PAGE.write_text(text)
    found = {match[1]: match for match in KEYS.finditer(text)}
    wrong = [(1, f"no table of keys: {name}") for name in sections if name not in found]
    for name, match in found.items():
        if name not in sections or match[2] != key_table(sections[name]):
            wrong.append((text.count("\n", 0, match.start()) + 1,
                          f"the keys of {name} are others; run tools/check_docs.py --write"))
    return wrong


def check_metrics():
    places = (ROOT / "src/api/metrics.cc", ROOT / "apps/muster/serve/server.cc")
    made = {name for place in places for name in METRIC.findall(place.read_text())}
    told = set(METRIC_ROW.findall(KEYS_PAGE.read_text()))
    return ([(1, f"no such metric: {name}") for name in sorted(told - made)]
            + [(1, f"a metric is missing: {name}") for name in sorted(made - told)])


def check_map():
    """What is wrong with the map of README.md."""
    there = {f"src/{folder.name}" for folder in (ROOT / "src").iterdir() if folder.is_dir()}
    told = set(MAP_ROW.findall((ROOT / "README.md").read_text()))
    return ([f"no such folder: {folder}/" for folder in sorted(told - there)]
            + [f"the map has no row for {folder}/" for folder in sorted(there - told)])


def main():
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(), re.M))
    mistakes = 0
    for number, message in check_keys("--write" in sys.argv[1:]) + check_metrics():
        print(f"{KEYS_PAGE.relative_to(ROOT)}:{number}: {message}")
        mistakes += 1
    for message in check_map():
        print(f"README.md:1: {message}")
        mistakes += 1
    places = ("*.md", "docs/**/*.md", "src/**/*.md")
    for document in sorted(found for place in places for found in ROOT.glob(place)):
        for number, line in enumerate(document.read_text().split("\n"), 1):
            found = [f"no such file: {link}" for link in LINK.findall(line)
                     if "://" not in link and not (document.parent / link).exists()]
            found += [f"no such make target: {name}" for name in MAKE.findall(line)
                      if name not in targets]
            found += [f"no such file: {path}" for path in PATH.findall(line)
                      if path not in GENERATED and not (ROOT / path).exists()]
            for message in found:
                print(f"{document.relative_to(ROOT)}:{number}: {message}")
            mistakes += len(found)
    print(f"check_docs: {mistakes} mistakes", file=sys.stderr)
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
