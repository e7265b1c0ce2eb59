"""Runs test cases that mostly wait, several at once. Each prints its result as one piece."""
import io
import sys
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor


def cases_of(suite):
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from cases_of(one)
        else:
            yield one


def run_at_once(cases, workers):
    """Whether all of them passed. The longest waits should come first."""
    printing = threading.Lock()

    def run(case):
        said = io.StringIO()
        result = unittest.TextTestRunner(stream=said, verbosity=2).run(case)
        with printing:
            print(said.getvalue(), file=sys.stderr, flush=True)
        return result.wasSuccessful()

    with ThreadPoolExecutor(workers) as pool:
        return all(list(pool.map(run, cases)))


def run_tests(module, at_once, workers, pattern=""):
    """The cases of the classes in `at_once` together, then all others of the module, one by one.
    `pattern`: only those whose name has it."""
    loader = unittest.TestLoader()
    if pattern:
        loader.testNamePatterns = [f"*{pattern}*"]
    wide, rest = [], []
    for case in cases_of(loader.loadTestsFromModule(module)):
        (wide if type(case) in at_once else rest).append(case)
    wide.sort(key=lambda case: at_once.index(type(case)))
    passed = run_at_once(wide, workers)
    return run_at_once(rest, 1) and passed
