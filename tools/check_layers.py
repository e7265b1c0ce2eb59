#!/usr/bin/env python3
"""Holds the tree to its rules: layers, purity of the core, sizes, and plain text hygiene.

Usage: check_layers.py [ROOT]
Prints `file:line: message` per violation; the exit code is 1 if there is any.

The rules are the tables below. A size that must be exceeded for now stands, with its reason, in
tools/budget_exceptions.txt; the number there may only go down. check_layers_test.py plants each
kind of violation in a scratch tree and sees it found.
"""
import bisect
import os
import re
import subprocess
import sys
from pathlib import Path

# --- the tables ---------------------------------------------------------------------

# Folder -> the src/ folders it may include besides itself and base: "The tree" of ARCHITECTURE.md.
LAYERS = {
    "src/base": [],
    "src/model": [],
    "src/sched": ["model"],
    "src/view": ["model", "sched"],
    "src/ports": ["model"],
    "src/control": ["model", "sched", "ports"],
    "src/net": [],
    "src/kube": ["net"],
    "src/manifest": ["model", "kube"],
    "src/clusters": ["model", "ports", "kube", "manifest"],
    "src/store": ["model", "ports"],
    "src/config": ["model", "kube", "manifest"],
    "src/auth": [],
    "src/work": ["model", "ports", "kube", "manifest"],
    "src/api": ["model", "sched", "ports", "view", "control", "config", "auth", "work",
                "net", "kube"],
    "src/cli": ["model", "view", "net", "config", "kube"],
    "src/sim": ["model", "sched", "ports", "control", "view"],
}
# Folder -> prefixes of the headers it may include besides the standard library and fmt.
ASIO = ("boost/asio", "boost/beast", "boost/system", "boost/url", "openssl/")
POSIX = ("unistd.h", "fcntl.h", "signal.h", "spawn.h", "poll.h", "netdb.h", "sys/", "arpa/",
         "netinet/", "linux/sched.h")
THIRD_PARTY = {
    "src/sched": ("boost/container/small_vector.hpp", "boost/unordered/unordered_flat_map.hpp"),
    "src/view": ("boost/json",),
    "src/net": ASIO + POSIX,
    "src/kube": ASIO + POSIX + ("boost/json", "yaml-cpp/"),
    "src/manifest": ("boost/json",),
    "src/clusters": ASIO + POSIX + ("boost/json", "boost/process"),
    "src/store": POSIX + ("sqlite3.h", "libpq-fe.h", "openssl/evp.h"),
    "src/config": ("yaml-cpp/", "boost/json"),
    "src/auth": POSIX + ("sodium.h",),
    "src/work": ("boost/json",),
    "src/api": ASIO + ("boost/json", "prometheus/", "spdlog/"),
    "src/cli": POSIX + ("CLI/", "boost/json", "termios.h"),
    "src/sim": ("yaml-cpp/",),
}
SOURCE_ONLY = {  # allowed in .cc files, never in a header
    "src/view": ("boost/json",),
    "src/config": ("yaml-cpp/", "boost/json"),
}
TEST_HEADERS = ("gtest/", "gmock/", "benchmark/")

PURE = ("src/sched", "src/view")
IMPURE_HEADERS = {
    "thread", "mutex", "shared_mutex", "condition_variable", "future", "atomic", "semaphore",
    "stop_token", "barrier", "latch", "random", "iostream", "fstream", "syncstream", "filesystem",
    "ctime", "time.h",
}
IMPURE_CODE = [  # pattern, what it is
    (r"\b\w*_clock\b", "a clock; time is an argument"),
    (r"\b(?:gettimeofday|clock_gettime|localtime|gmtime|mktime)\s*\(|\bstd::time\s*\(",
     "the time of day"),
    (r"\b(?:s?rand|random|drand48|rand_r)\s*\(|\bstd::(?:random_device|mt19937\w*|shuffle|sample)\b"
     r"|\b\w+_distribution\s*<", "randomness; take a Prng& and use its draws"),
    (r"\b(?:secure_)?getenv\s*\(", "the environment"),
    (r"\bstd::(?:cout|cerr|clog|cin)\b|(?<![\w:])(?:std::)?f?printf\s*\(|\bfmt::print\w*\s*\("
     r"|\bspdlog::|\bLOG\s*\(", "output or logging"),
    (r"\bthread_local\b", "state of a thread"),
]
INEXACT = (r"\b(?:double|float)\b", "floating point; amounts are integers, shares are fixed point")
UNORDERED = r"\bunordered_(?:multi)?(?:map|set)\b"
LOOKUP_ONLY = "lookup-only"

BUDGETS = {"header": 300, "source": 800, "function": 70, "path": 0}  # lines; path: see check_text
EXCEPTION_SLACK = 10  # an exception this far above what is needed must be lowered
COLUMNS_MAX = 100
EXCEPTIONS = "tools/budget_exceptions.txt"

CODE = (".cc", ".h", ".py", ".sh", ".cmake", "CMakeLists.txt")
# Recorded output, data of others and licenses are kept as they are.
VERBATIM = (".scn", ".golden", ".csv", ".trace", ".jsonl", "LICENSE", "NOTICE")
SKIPPED_FOLDERS = {".git", "build", "data", "out", "node_modules", "__pycache__", ".cache"}

# Written in pieces so that this file passes its own rules.
UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b(?!\(#\d+\))")
MACHINE_PATH = re.compile(r"(?<![\w.~})*$-])/" r"(?:work|root|home)/")


# --- reading C++ --------------------------------------------------------------------

TOKEN = re.compile(
    r'R"(?P<delim>[^()\\\s]{0,16})\(.*?\)(?P=delim)"'  # raw string
    r"|//(?:\\\n|[^\n])*|/\*.*?\*/"  # comments
    r'|"(?:\\.|[^"\\\n])*"'  # string
    r"|(?<![0-9a-fA-F_])'(?:\\.|[^'\\\n])+'",  # character, not a digit separator
    re.S)

DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.M)


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


class Source:
    """A C++ file: its lines, its code without comments and literals, and its includes."""

    def __init__(self, path, text):
        self.path = path
        self.lines = text.split("\n")
        self.code = TOKEN.sub(blank, text)
        self.code_lines = self.code.split("\n")
        self.starts = [0]
        for line in self.code_lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.is_header = path.endswith(".h")
        stem = path.rsplit(".", 1)[0]
        self.is_test = stem.endswith(("_test", "_bench", "_contract")) or "/testing/" in path
        parts = path.split("/")
        self.folder = "/".join(parts[:2])

    def line_of(self, offset):
        return bisect.bisect_right(self.starts, offset)

    def includes(self):
        for number, line in enumerate(self.lines, 1):
            if self.code_lines[number - 1].lstrip().startswith("#"):
                match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
                if match:
                    yield number, match.group(1), match.group(2)


# --- (a) layers ---------------------------------------------------------------------

def is_standard(header):
    return "/" not in header and ("." not in header or header in ("stddef.h", "stdint.h"))


def check_layers(source, report):
    folder = source.folder
    if not source.path.startswith("src/"):
        return
    if folder not in LAYERS:
        report(source.path, 1, f"{folder} has no row in LAYERS of tools/check_layers.py")
        return
    own = folder.split("/")[1]
    allowed = {own, "base", *LAYERS[folder]}
    for number, kind, header in source.includes():
        if kind == '"':
            library, slash, _ = header.partition("/")
            if not slash:
                report(source.path, number, f'include "{own}/{header}" by its path from src/')
            elif header.startswith(".."):
                report(source.path, number, f"include {header} by its path from src/")
            elif library not in allowed:
                report(source.path, number, f"{folder} may not include {header}, only "
                       + " ".join(sorted(allowed)))
            continue
        if is_standard(header) or header.startswith("fmt/"):
            continue
        if source.is_test and header.startswith(TEST_HEADERS):
            continue
        if not header.startswith(THIRD_PARTY.get(folder, ())):
            report(source.path, number, f"{folder} may not include <{header}>")
        elif source.is_header and header.startswith(SOURCE_ONLY.get(folder, ())):
            report(source.path, number, f"<{header}> belongs in the .cc files of {folder}")


# --- (b) purity ---------------------------------------------------------------------

def first_argument(code, start):
    """The first template argument of a `<` whose inside begins at start."""
    depth = 0
    for offset in range(start, min(len(code), start + 400)):
        char = code[offset]
        if char in "<(":
            depth += 1
        elif char in ">)" and depth:
            depth -= 1
        elif char in ",>;{" and not depth:
            return code[start:offset].strip()
    return ""


def check_purity(source, report):
    if source.folder not in PURE:
        return
    for number, kind, header in source.includes():
        if kind == "<" and header in IMPURE_HEADERS and not source.is_test:
            report(source.path, number, f"{source.folder} is pure: <{header}>")
    rules = IMPURE_CODE if source.is_test else IMPURE_CODE + [INEXACT]
    for pattern, what in rules:
        for match in re.finditer(pattern, source.code):
            report(source.path, source.line_of(match.start()),
                   f"{source.folder} is pure: {match.group().strip(' (<')} is {what}")
    for match in re.finditer(r"\b\w*(?:map|set)\s*<", source.code):
        if first_argument(source.code, match.end()).removesuffix("const").rstrip().endswith("*"):
            report(source.path, source.line_of(match.start()),
                   f"{source.folder} is pure: a pointer as key orders by address")
    if not source.is_test:
        check_unordered(source, report)
    if source.folder == "src/view":  # takes the types of sched, does not decide by itself
        for match in re.finditer(r"\bsched::(?:plan|apply)\s*\(", source.code):
            report(source.path, source.line_of(match.start()),
                   f"src/view uses only the types of sched, not {match.group().strip(' (')}()")


def check_unordered(source, report):
    for number, code in enumerate(source.code_lines, 1):
        if code.lstrip().startswith("#") or not re.search(UNORDERED, code):
            continue
        last = number  # the comment may follow a declaration that takes several lines
        while last < min(number + 2, len(source.lines)) and ";" not in source.code_lines[last - 1]:
            last += 1
        if not any(LOOKUP_ONLY in line for line in source.lines[max(0, number - 2):last]):
            report(source.path, number,
                   f"{source.folder} is pure: unordered container without `// {LOOKUP_ONLY}`")


# --- (c) budgets --------------------------------------------------------------------

CONTAINER = re.compile(
    r"(?:\w+\s+|\[\[[^\]]*\]\]\s*)*?\b(?:namespace|class|struct|union|enum|extern)\b")


def strip_templates(head):
    """Removes `template <...>` so that its `class` and parentheses do not count."""
    while True:
        match = re.search(r"\btemplate\s*<", head)
        if not match:
            return head
        depth, offset = 1, match.end()
        while offset < len(head) and depth:
            depth += {"<": 1, ">": -1}.get(head[offset], 0)
            offset += 1
        head = head[:match.start()] + " " + head[offset:]


def is_function(head):
    """Whether a brace after head, at the level of a namespace or class, opens a function's body."""
    head = head.rstrip()
    if head.endswith(("=", "return")):
        return False  # an initializer
    # No head, or a head with a comma in front, follows `: member_{x}` of a constructor.
    return "(" in head or head.lstrip().startswith(",") or not head


def functions(source):
    """Yields (line of the opening brace, lines between the braces, name) of each function."""
    code = DIRECTIVE.sub(blank, source.code)
    stack = []  # (kind, offset, name); kind: container, function, other
    head_start = 0
    for match in re.finditer(r"[{};]", code):
        offset, char = match.start(), match.group()
        inside = stack and stack[-1][0] != "container"
        if char == ";":
            if not inside:
                head_start = offset + 1
        elif char == "{":
            head = strip_templates(code[head_start:offset])
            head = re.sub(r"\b(?:public|private|protected)\s*:(?!:)", " ", head).strip()
            if inside:
                stack.append(("other", offset, ""))
            elif CONTAINER.match(head) and not head.endswith((")", "const", "noexcept")):
                stack.append(("container", offset, ""))
                head_start = offset + 1
            else:
                name = re.search(r"([\w:~]+)\s*\(", head)
                kind = "function" if is_function(head) else "other"
                stack.append((kind, offset, name.group(1) if name else "?"))
        elif stack:
            kind, opened, name = stack.pop()
            if not stack or stack[-1][0] == "container":
                head_start = offset + 1
            if kind == "function":
                first = source.line_of(opened)
                yield first, source.line_of(offset) - first - 1, name


def read_exceptions(root, report):
    """{(file, kind, name): [limit, line, size seen]} from lines `file kind[:name] limit reason`."""
    found = {}
    path = root / EXCEPTIONS
    if not path.exists():
        return found
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split(None, 3)
        kind, _, name = fields[1].partition(":") if len(fields) > 1 else ("", "", "")
        if len(fields) < 4 or kind not in BUDGETS or not fields[2].isdigit():
            report(EXCEPTIONS, number, "expected: file header|source|function:NAME|path limit why")
            continue
        found[(fields[0], kind, name)] = [int(fields[2]), number, 0]
    return found


def check_budget(place, kind, name, size, exceptions, report):
    path, line = place
    limit = BUDGETS[kind]
    entry = exceptions.get((path, kind, name))
    if entry:
        entry[2] = max(entry[2], size)
        limit = entry[0]
    if size > limit:
        what = f"{kind} {name}".rstrip()
        report(path, line, f"{what} has {size} lines, the budget is {limit}")


def check_budgets(source, exceptions, report):
    count = len(source.lines) - (source.lines[-1] == "")
    kind = "header" if source.is_header else "source"
    check_budget((source.path, 1), kind, "", count, exceptions, report)
    for line, size, name in functions(source):
        check_budget((source.path, line), "function", name, size, exceptions, report)


def check_exceptions(exceptions, report):
    for (path, kind, name), (limit, line, size) in sorted(exceptions.items()):
        what = f"{path} {kind} {name}".rstrip()
        if size <= BUDGETS[kind]:
            report(EXCEPTIONS, line, f"{what} needs no exception any more")
        elif kind != "path" and limit > size + EXCEPTION_SLACK:
            report(EXCEPTIONS, line, f"{what}: lower {limit} to {size}")


# --- (d, e, f) text -----------------------------------------------------------------

def check_text(path, text, exceptions, report):
    verbatim = path.endswith(VERBATIM)
    is_code = path.endswith(CODE)
    allowed_path = exceptions.get((path, "path", ""))
    for number, line in enumerate(text.split("\n"), 1):
        if not verbatim:
            if "\t" in line and not path.endswith((".mk", "Makefile")):
                report(path, number, "tab")
            if line != line.rstrip():
                report(path, number, "trailing whitespace")
            if is_code and len(line) > COLUMNS_MAX and "://" not in line:
                report(path, number, f"{len(line)} columns, the limit is {COLUMNS_MAX}")
            if UNFINISHED.search(line):
                report(path, number, "unfinished work without an issue: write TO" "DO(#12)")
        if MACHINE_PATH.search(line):
            if allowed_path:
                allowed_path[2] = 1
            else:
                report(path, number, "a path of somebody's machine")


# --- the run ------------------------------------------------------------------------

def tree_files(root):
    """Paths, relative to root, of what is or would be committed."""
    if (root / ".git").exists():
        listing = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root, capture_output=True, check=True).stdout.decode()
        return sorted(p for p in set(listing.split("\0")) if p and (root / p).is_file())
    found = []
    for folder, names, files in os.walk(root):
        names[:] = [n for n in names if n not in SKIPPED_FOLDERS]
        found += [str((Path(folder) / f).relative_to(root)) for f in files]
    return sorted(found)


def check_tree(root):
    """All violations of the tree under root as (path, line, message), sorted."""
    violations = []

    def report(path, line, message):
        violations.append((path, line, message))

    exceptions = read_exceptions(root, report)
    for path in tree_files(root):
        raw = (root / path).read_bytes()
        if b"\0" in raw:
            continue
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            report(path, 1, "not UTF-8")
            continue
        check_text(path, text, exceptions, report)
        if path.endswith((".cc", ".h")) and path.startswith(("src/", "apps/", "tests/")):
            source = Source(path, text)
            check_layers(source, report)
            check_purity(source, report)
            check_budgets(source, exceptions, report)
    check_exceptions(exceptions, report)
    return sorted(violations)


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    violations = check_tree(root)
    for path, line, message in violations:
        print(f"{path}:{line}: {message}")
    print(f"check_layers: {len(violations)} violations", file=sys.stderr)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
