#!/usr/bin/env python3
"""Runs the test tiers and ends with a table: result, counts, time against budget.

Usage: test_tiers.py [--jobs N] [TIER...]      without names: all tiers, as `make test` and CI do

A tier that cannot run says SKIPPED and why, and counts as one skipped test. One above its budget
is marked in the table; at three times the budget it is stopped and fails. The last line is
`N passed, N failed, N skipped`; the exit code is 0 only if nothing failed.
"""
import argparse
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COUNTS = re.compile(r"(\d+) passed, (\d+) failed, (\d+) skipped")
OWN_TIER = "tidy|unit|scenario|property|sim|fuzz|server|e2e"  # labels
STOP_FACTOR = 3
SECOND_CHANCES = 4  # more than so many failures are no accident


@dataclass
class Result:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    note: str = ""


def skipped(why):
    return Result(skipped=1, note="SKIPPED: " + why)


@dataclass
class Tier:
    name: str
    run: object  # (Context) -> Result
    budget_s: int
    needs: list = field(default_factory=list)  # names of tiers that must have passed
    counts: bool = True  # False: building, not testing


class TooLong(Exception):
    pass


class Context:
    """Runs commands for a tier, within its time."""

    def __init__(self, jobs):
        self.jobs = str(jobs)
        self.deadline = 0.0

    def call(self, *command, quiet=False, env=None):
        """Runs a command in the tree's root, showing its output; returns (exit code, output)."""
        if not quiet:
            print("$", " ".join(command), flush=True)
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", env={**os.environ, **(env or {})}, start_new_session=True)
        signal.alarm(max(1, int(self.deadline - time.monotonic())))
        output = []
        try:
            for line in process.stdout:
                output.append(line)
                if not quiet:
                    print(line, end="", flush=True)
            return process.wait(), "".join(output)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        finally:
            signal.alarm(0)

    def understands(self, program, *verbs):
        """Whether a program exists and the help of each level lists the next verb."""
        if not (ROOT / program).exists():
            return False
        for depth, verb in enumerate(verbs):
            code, text = self.call(program, *verbs[:depth], "--help", quiet=True)
            if code or not re.search(rf"^\s+{re.escape(verb)}\b", text, re.M):
                return False
        return True


# --- what tiers are made of -----------------------------------------------------------------

def build(preset, targets=()):
    def run(context):
        for command in (["cmake", "--preset", preset, "--log-level=WARNING"],
                        ["cmake", "--build", "--preset", preset, "-j", context.jobs,
                         *(["--target", *targets] if targets else [])]):
            if context.call(*command)[0] != 0:
                return Result(failed=1, note="the build failed")
        return Result()
    return run


def ctest(preset, *selection, may_be_empty=False):
    def run(context):
        code, suite = run_ctest(context, preset, *selection)
        if suite is None:
            return Result(failed=1, note="ctest did not run") if code else skipped("no such tests")
        total, bad = int(suite.get("tests", 0)), int(suite.get("failures", 0))
        missed = int(suite.get("skipped", 0)) + int(suite.get("disabled", 0))
        if total == 0 and may_be_empty:
            return Result(note="nothing more is registered")
        if total == 0:
            return skipped(f"no test is registered for {' '.join(selection)}")
        if code and not bad:
            return Result(total - missed, 1, missed, "ctest failed")
        return Result(total - bad - missed, bad, missed)
    return run


def run_ctest(context, preset, *selection):
    """The exit code, and the suite of its report if there is one."""
    report = ROOT / "build" / preset / "tier.xml"
    report.unlink(missing_ok=True)
    code, _ = context.call("ctest", "--preset", preset, *selection, "-j", context.jobs,
                           "--no-tests=ignore", "--output-junit", str(report))
    return code, ElementTree.parse(report).getroot() if report.exists() else None


def label(preset, name):
    return ctest(preset, "-L", f"^{name}$")


def with_a_second_chance(preset, name):
    """Tests of a label whose failures are run once more, alone: dozens of foreign processes share
    two cores there. One that passes only then is named in the table, it is a bug to be found."""
    def run(context):
        first = label(preset, name)(context)
        report = ROOT / "build" / preset / "tier.xml"
        if not first.failed or not report.exists():
            return first
        failed = [case.get("name") for case in ElementTree.parse(report).getroot().iter("testcase")
                  if case.find("failure") is not None]
        if not 0 < len(failed) <= SECOND_CHANCES:
            return first
        print(f"*** once more, alone: {', '.join(failed)}", flush=True)
        still = []
        for test in failed:
            code, suite = run_ctest(context, preset, "-R", f"^{re.escape(test)}$")
            if code or suite is None or int(suite.get("tests", 0)) != 1:
                still.append(test)
        flaky = [test for test in failed if test not in still]
        note = f"FLAKY, passed the second time: {', '.join(flaky)}" if flaky else ""
        return Result(first.passed + len(flaky), len(still), first.skipped, note)
    return run


def binary(*command, otherwise=None):
    """A command of ours that ends in `N passed, N failed, N skipped`."""
    def run(context):
        verb = [word for word in command if "/" not in word]
        if not context.understands(command[0], *verb):
            if otherwise:
                return otherwise(context)
            return skipped(f"{command[0]} does not know `{' '.join(verb)}`")
        code, output = context.call(*command)
        found = COUNTS.findall(output)
        if not found:
            return Result(0 if code else 1, 1 if code else 0, 0, "printed no counts")
        passed, failed, missed = map(int, found[-1])
        return Result(passed, failed or (1 if code else 0), missed)
    return run


def thread_sanitizer(*libraries):
    """The unit tests of libraries that have threads, again under TSan; only these are built."""
    def run(context):
        names = [f"muster_{lib}_test" for lib in libraries
                 if any((ROOT / "src" / lib).glob("**/*_test.cc"))]
        if not names:
            return skipped(f"no tests in src/{{{','.join(libraries)}}}")
        total = build("tsan", names)(context)
        if total.failed:
            return total
        for name in names:
            code, output = context.call(f"build/tsan/bin/{name}", "--gtest_brief=1",
                                        env={"TSAN_OPTIONS": "halt_on_error=1"})
            counts = {word: int(number) for word, number in re.findall(
                r"^\[  (PASSED|FAILED|SKIPPED) +\] (\d+) tests?", output, re.M)}
            total.passed += counts.get("PASSED", 0)
            total.skipped += counts.get("SKIPPED", 0)
            total.failed += counts.get("FAILED", 0) or (1 if code else 0)
        return total
    return run


def kubernetes_binaries(context):
    """What the e2e tier runs, built once into a cache; tests of what is missing are skipped."""
    missing = []
    for command in (["tests/e2e/binaries.py", "--with", "kubelet", "kubectl", "kuberay-operator",
                     "helm"],
                    ["tests/compat/venvs.py"], ["tests/e2e/ray_image.py"]):
        code, output = context.call(*command)
        if code:
            program = Path(command[0]).stem + ":"
            said = [one for one in output.splitlines() if one.startswith(program)]
            missing.append((said or [f"{program} exit code {code}"])[0])
    return skipped("; ".join(missing)) if missing else Result()


# --- the tiers; budgets are seconds on two cores, builds cold ---------------------------------

TIERS = [
    Tier("build-asan", build("asan"), 1200, counts=False),
    Tier("tidy", label("asan", "tidy"), 60, ["build-asan"]),
    Tier("unit", label("asan", "unit"), 180, ["build-asan"]),
    Tier("scenarios",
         binary("build/asan/muster", "scenario", "test", "tests/scenarios",
                otherwise=label("asan", "scenario")), 180, ["build-asan"]),
    Tier("properties", label("asan", "property"), 240, ["build-asan"]),
    Tier("sim", label("asan", "sim"), 240, ["build-asan"]),
    Tier("mutate", binary("build/asan/muster", "scenario", "mutate", "tests/scenarios"), 180,
         ["build-asan"]),
    Tier("fuzz", label("asan", "fuzz"), 120, ["build-asan"]),
    Tier("server", label("asan", "server"), 240, ["build-asan"]),
    Tier("build-kube", kubernetes_binaries, 1500, counts=False),
    # Skipped without Kubernetes' binaries.
    Tier("e2e", with_a_second_chance("asan", "e2e"), 1200, ["build-asan"]),
    Tier("rest", ctest("asan", "-LE", f"^({OWN_TIER}|soak)$", may_be_empty=True), 120,
         ["build-asan"]),  # contract, cli and what has no label: no registered test is forgotten
    Tier("tsan", thread_sanitizer("control", "ports", "sim", "net", "store", "clusters", "api"),
         1200),
]


def selected(names):
    """The named tiers with what they need, in order."""
    known = {tier.name: tier for tier in TIERS}
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"test_tiers: no tier {', '.join(unknown)}; there are {', '.join(known)}")
    wanted = set(names or known)
    for name in list(wanted):
        wanted.update(known[name].needs)
    return [tier for tier in TIERS if tier.name in wanted]


def run_tier(tier, context, bad):
    broken = [name for name in tier.needs if name in bad]
    if broken:
        return Result(failed=1, note=f"not run: {broken[0]} failed")
    context.deadline = time.monotonic() + tier.budget_s * STOP_FACTOR
    try:
        return tier.run(context)
    except TooLong:
        return Result(failed=1, note=f"stopped after {tier.budget_s * STOP_FACTOR} s")


def verdict(tier, result, elapsed_s):
    if result.failed:
        return "FAILED"
    if result.note.startswith("SKIPPED"):
        return "SKIPPED"
    return "OVER BUDGET" if elapsed_s > tier.budget_s else "ok"


def print_table(rows):
    print("\n== tiers ==")
    print(f"{'tier':<14}{'result':<12}{'passed':>7}{'failed':>7}{'skipped':>8}"
          f"{'time s':>8}{'budget':>8}")
    for tier, result, elapsed_s in rows:
        print(f"{tier.name:<14}{verdict(tier, result, elapsed_s):<12}{result.passed:>7}"
              f"{result.failed:>7}{result.skipped:>8}{elapsed_s:>8.0f}{tier.budget_s:>8}"
              f"{'  ' + result.note if result.note else ''}")
    elapsed_s, budget_s = sum(row[2] for row in rows), sum(row[0].budget_s for row in rows)
    print(f"{'all':<48}{elapsed_s:>8.0f}{budget_s:>8}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("tiers", nargs="*", metavar="TIER")
    options = parser.parse_args()

    def too_long(*_):
        raise TooLong

    signal.signal(signal.SIGALRM, too_long)
    context, rows, bad = Context(options.jobs), [], set()
    for tier in selected(options.tiers):
        print(f"\n== {tier.name} ==", flush=True)
        start = time.monotonic()
        result = run_tier(tier, context, bad)
        elapsed_s = time.monotonic() - start
        if result.note:
            print(f"*** {tier.name}: {result.note}", flush=True)
        if result.failed:
            bad.add(tier.name)
        rows.append((tier, result, elapsed_s))

    print_table(rows)
    passed, failed, missed = (sum(getattr(row[1], name) for row in rows)
                              for name in ("passed", "failed", "skipped"))
    print(f"\n{passed} passed, {failed} failed, {missed} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
