"""How the files of tests of the real `muster` on real Kubernetes begin and end:

  FILE_test.py MUSTER [--kubernetes VERSION] [--only PART_OF_A_NAME] [its own options]
"""
import argparse
import os
import sys
import time

from binaries import KUBERNETES, Missing
from clusters import stop_all
from side_by_side import run_tests


def run_on(start, doc, workers=1, first=(), numbers=()):
    """The code to exit with. `start(options)` gives the clusters, which run; what is missing for
    them is said and is no failure. `workers` and `first` are those of run_tests. `numbers`: options
    that are numbers, each (name, default, what it means)."""
    parser = argparse.ArgumentParser(description=doc.split("\n", 1)[0])
    parser.add_argument("binary")
    parser.add_argument("--kubernetes", default=KUBERNETES, metavar="VERSION")
    parser.add_argument("--only", default="", metavar="PART_OF_A_NAME")
    for name, default, meaning in numbers:
        parser.add_argument(f"--{name}", type=int, default=default, help=meaning)
    options = parser.parse_args()
    options.binary = os.path.abspath(options.binary)
    began = time.monotonic()
    try:
        clusters = start(options)
    except Missing as missing:
        print(f"NOT TESTED: {missing}")
        return 0
    ready = time.monotonic()
    try:
        return not run_tests(sys.modules["__main__"], workers, first, options.only)
    finally:
        stop_all(clusters)
        print(f"{ready - began:.0f} s until the clusters were ready,"
              f" {time.monotonic() - began:.0f} s in all", flush=True)
