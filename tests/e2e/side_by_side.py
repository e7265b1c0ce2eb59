"""Runs test cases that mostly wait, several at once. Each prints its result as one piece."""
import io
import sys
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor


def alone(test):
    """Marks a test, or a class of tests, that changes what the others see: nodes, kinds, rights,
    the API server itself."""
    test.is_alone = True
    return test


def is_alone(case):
    test = getattr(case, case.id().rsplit(".", 1)[1], None)
    return getattr(case, "is_alone", False) or getattr(test, "is_alone", False)


def cases_of(suite):
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from cases_of(one)
        else:
            yield one


def parts_of(cases):
    """What is run in one piece: a case, or all of a class that prepares something for them."""
    parts = {}
    for case in cases:
        prepares = type(case).setUpClass.__func__ is not unittest.TestCase.setUpClass.__func__
        parts.setdefault(type(case) if prepares else case.id(), []).append(case)
    return map(unittest.TestSuite, parts.values())


def run_at_once(cases, workers):
    """Whether all of them passed. The longest waits should come first."""
    printing = threading.Lock()

    def run(part):
        said = io.StringIO()
        result = unittest.TextTestRunner(stream=said, verbosity=2).run(part)
        with printing:
            print(said.getvalue(), file=sys.stderr, flush=True)
        return result.wasSuccessful()

    with ThreadPoolExecutor(workers) as pool:
        return all(list(pool.map(run, parts_of(cases))))


def run_tests(module, workers, first=(), pattern=""):
    """Of the module: those that want to be alone, one by one, while nothing is left of others; then
    all others together, those of the classes in `first` before the rest. `pattern`: only those
    whose name has it."""
    loader = unittest.TestLoader()
    if pattern:
        loader.testNamePatterns = [f"*{pattern}*"]
    wide, rest = [], []
    for case in cases_of(loader.loadTestsFromModule(module)):
        (rest if is_alone(case) else wide).append(case)
    wide.sort(key=lambda case: first.index(type(case)) if type(case) in first else len(first))
    if not wide and not rest:
        print(f"no test has {pattern!r} in its name", file=sys.stderr)
        return False
    passed = run_at_once(rest, 1)
    return run_at_once(wide, workers) and passed
