#!/usr/bin/env python3
"""Plants each kind of violation in a scratch tree and sees check_layers.py find just that."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent / "check_layers.py"
UNFINISHED = "TO" "DO"
MACHINE = "/" "root/x"


def long_function(lines, name="f", indent=""):
    body = f"{indent}  g();\n" * lines
    return f"{indent}void {name}() {{\n{body}{indent}}}\n"


class CheckLayers(unittest.TestCase):
    def violations(self, files):
        """Runs the script over a tree of {path: text}; returns its lines of output."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                place = Path(root) / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text)
            run = subprocess.run(
                [sys.executable, str(SCRIPT), root], capture_output=True, text=True)
        lines = run.stdout.splitlines()
        self.assertEqual(run.returncode, 1 if lines else 0, run.stderr)
        return lines

    def finds(self, path, text, where, words, **others):
        lines = self.violations({path: text, **others})
        self.assertEqual(len(lines), 1, lines)
        self.assertTrue(lines[0].startswith(f"{path}:{where}: "), lines)
        self.assertIn(words, lines[0])

    def passes(self, path, text):
        self.assertEqual(self.violations({path: text}), [])

    # layers

    def test_an_empty_tree_passes(self):
        self.assertEqual(self.violations({}), [])

    def test_a_layer_may_include_what_its_row_names(self):
        self.passes("src/sched/plan.cc", '#include "sched/plan.h"\n#include <vector>\n'
                    '#include <fmt/format.h>\n#include "base/result.h"\n#include "model/job.h"\n')

    def test_a_layer_may_not_reach_upward(self):
        self.finds("src/model/job.h", '\n#include "sched/plan.h"\n', 2,
                   "may not include sched/plan.h")
        self.finds("src/base/x.h", '#include "model/job.h"\n', 1, "may not include model/job.h")
        self.finds("src/sched/x.cc", '#include "ports/store.h"\n', 1,
                   "may not include ports/store.h")
        self.finds("src/ports/x.h", '#include "sched/plan.h"\n', 1, "may not include sched/plan.h")

    def test_tests_obey_layers_too_but_may_include_gtest(self):
        self.passes("src/model/job_test.cc", "#include <gtest/gtest.h>\n")
        self.passes("src/ports/store_contract.h", "#include <gtest/gtest.h>\n")
        self.finds("src/model/job_test.cc", '#include "sched/plan.h"\n', 1, "may not include")
        self.finds("src/model/job.cc", "#include <gtest/gtest.h>\n", 1, "may not include <gtest")

    def test_third_party_headers_only_where_the_table_says(self):
        self.passes("src/sim/generate.cc", "#include <yaml-cpp/yaml.h>\n")
        self.finds("src/model/job.cc", "#include <yaml-cpp/yaml.h>\n", 1,
                   "may not include <yaml-cpp")
        self.finds("src/control/loop.cc", "#include <unistd.h>\n", 1, "may not include <unistd.h>")
        self.passes("apps/muster/main.cc", '#include <CLI/CLI.hpp>\n#include "sim/run.h"\n')

    def test_view_keeps_json_out_of_its_headers(self):
        self.passes("src/view/rows.cc", "#include <boost/json.hpp>\n")
        self.finds("src/view/rows.h", "#include <boost/json.hpp>\n", 1, "belongs in the .cc files")
        self.finds("src/view/rows.cc", "#include <boost/asio.hpp>\n", 1,
                   "may not include <boost/asio")

    def test_view_takes_the_types_of_sched_and_does_not_plan(self):
        self.passes("src/view/rows.cc",
                    '#include "sched/plan.h"\nvoid f(const sched::Plan& plan);\n')
        self.finds("src/view/rows.cc", "auto p = sched::plan(world, policy, now);\n", 1,
                   "only the types")

    def test_includes_are_written_from_src(self):
        self.finds("src/sched/plan.cc", '#include "plan.h"\n', 1, 'include "sched/plan.h"')
        self.finds("src/sched/plan.cc", '#include "../model/job.h"\n', 1, "by its path from src/")

    def test_a_folder_without_a_row_is_found(self):
        self.finds("src/utils/x.cc", "int x;\n", 1, "src/utils has no row")

    def test_an_include_in_a_comment_is_no_include(self):
        self.passes("src/model/job.cc",
                    '// #include "sched/plan.h"\n/*\n#include "sched/plan.h"\n*/\n')

    # purity

    def test_impure_headers(self):
        for header in ("thread", "mutex", "random", "iostream", "filesystem", "atomic"):
            self.finds("src/sched/x.cc", f"#include <{header}>\n", 1, f"is pure: <{header}>")
        self.finds("src/sched/x.cc", "#include <boost/container/flat_map.hpp>\n", 1,
                   "may not include")
        self.finds("src/sched/x.cc", "#include <spdlog/spdlog.h>\n", 1, "may not include")
        self.passes("src/control/x.cc", "#include <thread>\n#include <mutex>\n")
        self.passes("src/sched/x.cc", "#include <chrono>\nusing T = std::chrono::milliseconds;\n")

    def test_impure_code(self):
        for code, words in (
                ("auto t = std::chrono::steady_clock::now();", "steady_clock is a clock"),
                ("int r = rand();", "randomness"),
                ("std::mt19937 gen;", "randomness"),
                ("const char* e = std::getenv(name);", "the environment"),
                ("std::cerr << 1;", "output or logging"),
                ("printf(text);", "output or logging"),
                ("fmt::print(text);", "output or logging"),
                ("double share = 0;", "floating point"),
                ("float share = 0;", "floating point")):
            self.finds("src/sched/x.cc", f"\n{code}\n", 2, words)
            self.finds("src/view/x.cc", f"\n{code}\n", 2, words)
            self.passes("src/sim/x.cc", f"\n{code}\n")

    def test_words_in_comments_strings_and_names_are_not_code(self):
        self.passes("src/sched/x.cc", '// no double, no rand()\nauto s = "double rand()";\n'
                    'auto r = R"(double "rand()")";\nint doubled = 1\'000;\nint grand(int);\n'
                    "fmt::format(text);\n")

    def test_unordered_containers_must_say_lookup_only(self):
        self.passes("src/sched/x.cc", "#include <unordered_map>\n")
        self.passes("src/sched/x.cc", "std::unordered_map<int, int> m;  // lookup-only\n")
        self.passes("src/sched/x.cc", "// lookup-only: by id\nstd::unordered_map<int, int> m;\n")
        self.passes("src/sched/x.cc", "std::unordered_map<int, int>\n    m;  // lookup-only\n")
        self.finds("src/sched/x.cc", "\nstd::unordered_set<int> m;\n", 2, "lookup-only")

    def test_tests_of_pure_code_may_use_double_and_unordered(self):
        self.passes("src/sched/x_test.cc", "double d;\nstd::unordered_set<int> m;\n")
        self.finds("src/sched/x_test.cc", "auto t = std::chrono::system_clock::now();\n", 1,
                   "clock")

    def test_pointers_are_not_keys(self):
        self.finds("src/sched/x.h", "\nstd::map<const Node*, int> m;\n", 2, "pointer as key")
        self.finds("src/sched/x.h", "std::set<Node* const> m;\n", 1, "pointer as key")
        self.finds("src/sched/x.h", "std::map<\n    Node*,\n    int> m;\n", 1, "pointer as key")
        self.passes("src/sched/x.h",
                    "std::map<NodeId, Node*> m;\nstd::map<Pair<int, int>, int> n;\n")

    # budgets

    def test_header_and_source_lines(self):
        self.passes("src/model/x.h", "int x;\n" * 300)
        self.finds("src/model/x.h", "int x;\n" * 301, 1, "header has 301 lines, the budget is 300")
        self.passes("src/model/x.cc", "int x;\n" * 800)
        self.finds("src/model/x.cc", "int x;\n" * 801, 1, "source has 801 lines")

    def test_function_lines(self):
        self.passes("src/model/x.cc", long_function(70))
        self.finds("src/model/x.cc", "\n" + long_function(71), 2, "function f has 71 lines")

    def test_functions_in_namespaces_classes_and_behind_templates(self):
        for before, line in (("namespace muster {\n", 2),
                             ("class A final : public B {\n public:\n", 3),
                             ("template <class T>\n", 2), ("enum class E { A, B };\n", 2),
                             ("constexpr int k[] = {1,\n2};\n", 3), ('extern "C" {\n', 2)):
            self.finds("src/model/x.cc", before + long_function(71), line, "function f has 71")

    def test_members_signatures_and_initializers(self):
        body = "  g();\n" * 71 + "}\n"
        self.finds("src/model/x.cc", "A::A(int a,\n     int b)\n    : a_{a}, b_(b) {\n" + body, 3,
                   "has 71 lines")
        self.finds("src/model/x.cc", "auto A::f() const -> std::vector<int> {\n" + body, 1,
                   "A::f has 71")
        self.finds("src/model/x_test.cc", "TEST(A, B) {\n" + body, 1, "TEST has 71 lines")

    def test_long_tables_types_and_namespaces_are_not_functions(self):
        self.passes("src/model/x.cc", "constexpr int k[] = {\n" + "    1,\n" * 90 + "};\n")
        self.passes("src/model/x.cc", "struct S {\n" + "  int x = 1;\n" * 90 + "};\n")
        self.passes("src/model/x.cc", "namespace a {\n" + long_function(40) * 3 + "}\n")

    def test_exceptions_need_a_reason_and_only_shrink(self):
        path, text = "src/model/x.cc", long_function(90)
        where = "tools/budget_exceptions.txt"

        def run(entry):
            return self.violations({path: text, where: "# comment\n" + entry + "\n"})

        self.assertEqual(run(f"{path} function:f 95 one switch over all events"), [])
        self.assertIn("function f has 90 lines, the budget is 80",
                      run(f"{path} function:f 80 why")[0])
        self.assertIn(f"{where}:2: {path} function f: lower 120 to 90",
                      run(f"{path} function:f 120 why")[0])
        self.assertIn("expected:", run(f"{path} function:f 95")[-1])
        self.assertIn("needs no exception",
                      run(f"{path} function:f 95 why\n{path} source 900 why")[0])

    # text

    def test_columns_tabs_and_trailing_whitespace(self):
        self.passes("src/model/x.cc", "//" + "é" * 98 + "\n")
        self.finds("src/model/x.cc", "\n//" + "x" * 99 + "\n", 2, "101 columns")
        self.finds("tools/x.py", "#" + "x" * 100 + "\n", 1, "101 columns")
        self.passes("README.md", "x" * 200 + "\n")
        self.passes("src/model/x.cc", "// https://example.com/" + "x" * 99 + "\n")
        self.finds("src/model/x.cc", "int\tx;\n", 1, "tab")
        self.passes("Makefile", "all:\n\techo\n")
        self.finds("README.md", "x \n", 1, "trailing whitespace")
        self.passes("tests/cli/x.golden", "x \n")

    def test_unfinished_work_names_its_issue(self):
        self.passes("src/model/x.cc", f"// {UNFINISHED}(#12): more\n")
        self.finds("src/model/x.cc", f"// {UNFINISHED}: more\n", 1, "without an issue")
        self.finds("docs/x.md", "FIX" "ME\n", 1, "without an issue")
        self.passes("tools/x.sh", "mktemp muster.XXXXXX\n")

    def test_paths_of_a_machine(self):
        self.finds("docs/x.md", f"see {MACHINE}\n", 1, "somebody's machine")
        self.finds("tests/a.scn", f"file={MACHINE}\n", 1, "somebody's machine")
        self.passes("docs/x.md", "see src/" "work/ and https://example.com/" "home/x and $HOME/x\n")
        self.assertEqual(self.violations({
            "src/model/x.cc": f'auto p = "{MACHINE}";\n',
            "tools/budget_exceptions.txt": "src/model/x.cc path 1 a path inside the image\n"}), [])

    def test_binary_files_and_build_folders_are_left_alone(self):
        self.assertEqual(self.violations({"build/x.cc": "int\tx; \n", "docs/a.png": "\0\t \n"}), [])


if __name__ == "__main__":
    unittest.main()
