#!/usr/bin/env python3
"""Finds or builds the Python environments of other people's clients, in pinned versions.

Usage: venvs.py [NAME...]     prints their folders; without names: all that there are

NAME is that of a file beside this one, NAME.txt, with every package and its version, and the
version of Python in its first line. Each is installed once from PyPI into a folder outside of the
tree that carries the name:
${XDG_CACHE_HOME:-~/.cache}/muster/venv-NAME. pip's own settings (PIP_INDEX_URL) count.
"""
import argparse
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
from binaries import Missing, cache_folder  # noqa: E402

INSTALL_WITHIN_S = 240  # an index that answers slowly must not hold up whoever tests


def requirements(name):
    return HERE / f"{name}.txt"


def find_python(wanted):
    """The Python that a list of packages is for: old ones have no wheels for a newer."""
    first = wanted.read_text(encoding="ascii").split("\n", 1)[0]
    version = re.fullmatch(r"# python (\d+\.\d+)", first).group(1)
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    candidates = [sys.executable, shutil.which(f"python{version}"),
                  *sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"))]
    for python in filter(None, candidates):
        done = subprocess.run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                              capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return python
    raise Missing(f"no Python {version}")


def run(*command):
    try:
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False,
                              timeout=INSTALL_WITHIN_S)
    except subprocess.TimeoutExpired as late:
        raise Missing(f"not installed within {INSTALL_WITHIN_S} s") from late
    if done.returncode:
        tail = "\n".join(done.stdout.strip().splitlines()[-10:])
        raise Missing(f"{' '.join(map(str, command[:5]))} failed:\n{tail}")


def install(folder, wanted):
    """Dependencies are in the list themselves, so nothing is resolved here."""
    run(find_python(wanted), "-m", "venv", "--clear", folder)
    run(folder / "bin/python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile",
        "--disable-pip-version-check", "-r", wanted)


def find_venv(name, build=True):
    """Its python. Missing says why there is none."""
    wanted = requirements(name)
    digest = hashlib.sha256(wanted.read_bytes()).hexdigest()
    folder = cache_folder(f"venv-{name}")
    done = folder / "muster-digest"

    def is_ready():
        return done.exists() and done.read_text(encoding="ascii") == digest
    if not is_ready():
        if not build:
            raise Missing(f"{folder} is not there; tests/compat/venvs.py builds it")
        folder.mkdir(parents=True, exist_ok=True)
        with open(f"{folder}.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # two that start together build once
            if not is_ready():
                print(f"installing {name} (minutes)", file=sys.stderr, flush=True)
                install(folder, wanted)
                done.write_text(digest, encoding="ascii")
    return folder / "bin/python"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    known = sorted(path.stem for path in HERE.glob("*-[0-9]*.txt"))
    failed = 0
    for name in options.names or known:
        try:
            print(find_venv(name).parent.parent, flush=True)
        except Missing as missing:
            print(f"venvs: {name}: {missing}", flush=True)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
