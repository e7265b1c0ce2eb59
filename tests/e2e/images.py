"""Container images written by hand, for machines without a registry: a busybox as docker-archive.

Standard library only; needs a statically linked busybox (Debian: busybox-static).
"""
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile

SHELL_IMAGE = "muster.test/busybox:1"
PAUSE_IMAGE = "muster.test/pause:1"


def add_file(archive, name, data, mode=0o644):
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    archive.addfile(entry, io.BytesIO(data))


def add_folder(archive, name, mode=0o755):
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = tarfile.DIRTYPE, mode
    archive.addfile(entry)


def busybox_layer():
    """The only layer: busybox under the names of all its programs."""
    path = shutil.which("busybox")
    programs = subprocess.run([path, "--list"], capture_output=True, text=True,
                              check=True).stdout.split()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as layer:
        for name in ("bin", "etc", "root", "dev", "proc", "sys", "run"):
            add_folder(layer, name)
        add_folder(layer, "tmp", 0o1777)
        with open(path, "rb") as program:
            add_file(layer, "bin/busybox", program.read(), 0o755)
        for name in programs:
            if name == "busybox":
                continue
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            layer.addfile(link)
        add_file(layer, "etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n")
        add_file(layer, "etc/group", b"root:x:0:\n")
    return buffer.getvalue()


def write_images(path):
    """Both images in one archive, as `ctr images import` reads it."""
    layer = busybox_layer()
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    manifest = []
    with tarfile.open(path, "w") as archive:
        add_file(archive, "layer.tar", layer)
        for name, command in ((SHELL_IMAGE, ["sh"]), (PAUSE_IMAGE, ["sleep", "2147483647"])):
            config = json.dumps({
                "architecture": machine, "os": "linux",
                "config": {"Cmd": command, "Env": ["PATH=/bin"], "WorkingDir": "/"},
                "rootfs": {"type": "layers",
                           "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
            }).encode()
            file = hashlib.sha256(config).hexdigest() + ".json"
            add_file(archive, file, config)
            manifest.append({"Config": file, "RepoTags": [name], "Layers": ["layer.tar"]})
        add_file(archive, "manifest.json", json.dumps(manifest).encode())
    return path
