#!/usr/bin/env python3
"""Checks that the documents speak of what exists: relative links, `make` targets, paths.

Prints `file:line: message` per mistake; the exit code is 1 if there is any.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)\s#]+)(?:#[^)]*)?\)")
MAKE = re.compile(r"(?:`|^)make ([a-z][a-z0-9-]*)", re.M)
GENERATED = {"docs/performance.md"}  # by `make bench`
PATH = re.compile(r"`((?:tools|cmake|docs|\.ci)/[\w./-]+)`")


def main():
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(), re.M))
    mistakes = 0
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
