#!/usr/bin/env python3
"""Finds or makes a container image with Python and Ray, for machines without a registry.

Usage: ray_image.py     prints where it is, as `ctr images import` reads it

Ray and all that it needs come from PyPI in pinned versions (tests/compat/ray-*.txt); Python, bash,
wget and their libraries are copies of this machine's. It is made once, into
${XDG_CACHE_HOME:-~/.cache}/muster/image-ray-<version>. Standard library only.
"""
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "compat"))
from binaries import Missing, cache_folder  # noqa: E402
from images import add_file, busybox_layer, write_archive  # noqa: E402
from venvs import find_venv, requirements, run  # noqa: E402

RAY = "2.47.1"
NAME = f"ray-{RAY}"
RAY_IMAGE = f"muster.test/ray:{RAY}"
# What KubeRay calls in its users' images; busybox's wget does not know all that it asks of one.
PROGRAMS = ("bash", "wget")
HOME = "opt/ray"  # the environment, inside of the image
ENVIRONMENT = [f"PATH=/{HOME}/bin:/usr/local/bin:/bin",
               "RAY_USAGE_STATS_ENABLED=0"]  # nothing is sent out of a test
# Of the standard library and of the packages: what nobody imports who starts a cluster.
LEFT_OUT = re.compile(
    r"usr/local/lib/python3\.\d+/(site-packages|dist-packages|test|idlelib|lib2to3|tkinter"
    r"|turtledemo|ensurepip|config-[^/]*|lib-dynload/_tkinter\.[^/]*)"
    rf"|{HOME}/lib/python3\.\d+/site-packages/(pip|setuptools|pkg_resources)(-[^/]*)?"
    rf"|{HOME}/lib/python3\.\d+/site-packages/ray/(jars|rllib)"
    r"|.*\.opt-[12]\.pyc")
LAUNCHER = f"""#!/{HOME}/bin/python3
import sys
from ray.scripts.scripts import main
sys.exit(main())
"""


def ask(python, expression):
    return subprocess.run([python, "-c", f"import sys, sysconfig; print({expression})"],
                          capture_output=True, text=True, check=True).stdout.strip()


def libraries_of(files):
    """Path of each library that one of the files is linked to -> where it belongs in the image.

    The loader is found where programs name it, all others in a folder where it looks by itself."""
    said = subprocess.run(["ldd", *map(str, files)], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False).stdout
    found = {path: f"lib/{name}"
             for name, path in re.findall(r"^\s+(\S+) => (/\S+) \(0x", said, re.M)}
    found.update((path, path.lstrip("/"))
                 for path in re.findall(r"^\s+(/\S+) \(0x", said, re.M))
    return found


def is_linked(path):
    """An ELF file, that is: programs and libraries."""
    if path.is_symlink() or not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


class Layer:
    """Files of this machine on their way into a layer."""

    def __init__(self, archive):
        self.archive = archive
        self.linked = []  # those whose libraries have to come along

    def add_tree(self, folder, to):
        def kept(entry):
            if LEFT_OUT.fullmatch(entry.name):
                return None
            path = Path(folder) / os.path.relpath(entry.name, to)
            if is_linked(path):
                self.linked.append(path)
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = "root"
            return entry
        self.archive.add(folder, to, filter=kept)

    def add_program(self, path, to):
        self.linked.append(Path(path))
        add_file(self.archive, to, Path(path).read_bytes(), 0o755)

    def add_link(self, name, to):
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname = tarfile.SYMTYPE, to
        self.archive.addfile(entry)

    def add_libraries(self):
        own = {path.name for path in self.linked}  # packages bring some, and find them themselves
        for path, to in libraries_of(self.linked).items():
            if os.path.basename(to) not in own:
                add_file(self.archive, to, Path(path).read_bytes(), 0o755)


def fill(layer, python):
    """Python under /usr/local, Ray in an environment of it, and what KubeRay calls."""
    version = ask(python, "'%d.%d' % sys.version_info[:2]")
    base = Path(ask(python, "sys.base_prefix"))
    layer.add_program(base / f"bin/python{version}", f"usr/local/bin/python{version}")
    layer.add_tree(ask(python, "sysconfig.get_path('stdlib')"), f"usr/local/lib/python{version}")
    packages = f"lib/python{version}/site-packages"
    layer.add_tree(python.parent.parent / packages, f"{HOME}/{packages}")
    for name in ("python", "python3", f"python{version}"):
        layer.add_link(f"{HOME}/bin/{name}", f"/usr/local/bin/python{version}")
    add_file(layer.archive, f"{HOME}/pyvenv.cfg", b"home = /usr/local/bin\n")
    add_file(layer.archive, f"{HOME}/bin/ray", LAUNCHER.encode(), 0o755)
    for name in PROGRAMS:
        layer.add_program(os.path.realpath(shutil.which(name)), f"bin/{name}")
    add_file(layer.archive, "etc/nsswitch.conf", b"hosts: files dns\n")
    layer.add_libraries()


def make_image(path):
    missing = [name for name in (*PROGRAMS, "busybox", "ldd") if not shutil.which(name)]
    if missing:
        raise Missing(f"an image of Ray needs {' '.join(missing)}")
    python = find_venv(NAME)
    print(f"packing {NAME}", file=sys.stderr, flush=True)
    # Without it every process of every container would compile what it imports.
    run(python, "-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash",
        ask(python, "sysconfig.get_path('purelib')"))
    with tempfile.TemporaryFile(dir=path.parent) as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as archive:
            fill(Layer(archive), python)
        part = path.with_suffix(".part")
        write_archive(part, [busybox_layer(), file],
                      [(RAY_IMAGE, ["bash"], ENVIRONMENT)])
    part.rename(path)


def recipe():
    """Changes with all that decides what is in the image, but for the machine's own files."""
    parts = [requirements(NAME).read_bytes(), Path(__file__).read_bytes(),
             (HERE / "images.py").read_bytes()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def find_image(build=True):
    """Missing says why there is none."""
    folder = cache_folder(f"image-{NAME}")
    path = folder / f"{recipe()}.tar"
    if path.exists():
        return path
    if not build:
        raise Missing(f"{folder} has no such image; tests/e2e/ray_image.py makes it")
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two that start together make it once
        if not path.exists():
            for old in folder.glob("*.tar"):
                old.unlink()
            make_image(path)
    return path


def main():
    try:
        print(find_image())
    except Missing as missing:
        sys.exit(f"ray_image: {missing}")


if __name__ == "__main__":
    main()
