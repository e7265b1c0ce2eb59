#!/usr/bin/env python3
"""Makes pages in a scratch tree and looks at what performance_page.py keeps and what it writes."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent / "performance_page.py"


class PerformancePage(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        (self.root / "out").mkdir()
        (self.root / "docs").mkdir()
        self.page = self.root / "docs" / "performance.md"

    def tearDown(self):
        self.folder.cleanup()

    def kept(self, name, table):
        (self.root / "out" / f"bench-{name}.txt").write_text(table)

    def write(self, what, machine="Some CPU"):
        done = subprocess.run([sys.executable, str(SCRIPT), "--root", str(self.root), "--machine",
                               machine, what], capture_output=True, text=True, check=True)
        return done.stderr

    def test_all_is_every_benchmark_that_was_run_in_one_order(self):
        self.kept("kube", "k 1  \n")
        self.kept("plan", "p 1\n")
        self.write("all")
        page = self.page.read_text()
        self.assertIn("Made by `make bench` on: Some CPU.\n", page)
        self.assertTrue(page.endswith("\n## make bench-plan\n\n```\np 1\n```\n"
                                      "\n## make bench-kube\n\n```\nk 1\n```\n"), page)

    def test_one_benchmark_writes_its_own_section_alone(self):
        self.kept("kube", "k 1\n")
        self.kept("plan", "p 1\n")
        self.write("all")
        self.kept("kube", "k 2\n")
        self.kept("plan", "p 2\n")
        self.write("plan")
        page = self.page.read_text()
        self.assertIn("```\np 2\n```\n", page)
        self.assertIn("```\nk 1\n```\n", page)

    def test_what_people_wrote_stays_and_is_printed(self):
        self.kept("plan", "p 1\n")
        self.write("all")
        before = self.page.read_text().replace("bench-plan\n\n", "bench-plan\n\nRun once.\n\n")
        self.page.write_text(before)
        self.assertIn("Run once.", self.write("plan"))
        self.assertEqual(self.page.read_text(), before)
        self.write("all")
        self.assertEqual(self.page.read_text(), before)

    def test_rows_of_two_machines_never_stand_side_by_side(self):
        self.kept("plan", "p 1\n")
        self.write("all")
        before = self.page.read_text()
        self.kept("plan", "p 2\n")
        self.assertIn("another machine", self.write("plan", "Other CPU"))
        self.assertEqual(self.page.read_text(), before)


if __name__ == "__main__":
    unittest.main()
