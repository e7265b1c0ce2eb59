"""Container images written by hand, as docker-archives, for machines without a registry: a busybox.

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
    """busybox under the names of all its programs, in the folders that every container needs."""
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
    return buffer


def add_layer(archive, layer):
    """From an open file; what it is called in the archive, and its digest."""
    layer.seek(0)
    digest = hashlib.file_digest(layer, "sha256").hexdigest()
    entry = tarfile.TarInfo(f"{digest}.tar")
    entry.size = layer.seek(0, io.SEEK_END)
    layer.seek(0)
    archive.addfile(entry, layer)
    return entry.name, f"sha256:{digest}"


def write_archive(path, layers, images):
    """Images of the same layers, each of a name, a command and its environment, as `ctr images
    import` reads them."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    manifest = []
    with tarfile.open(path, "w") as archive:
        names, digests = zip(*(add_layer(archive, layer) for layer in layers))
        for name, command, environment in images:
            config = json.dumps({
                "architecture": machine, "os": "linux",
                "config": {"Cmd": command, "Env": environment, "WorkingDir": "/"},
                "rootfs": {"type": "layers", "diff_ids": digests},
            }).encode()
            file = hashlib.sha256(config).hexdigest() + ".json"
            add_file(archive, file, config)
            manifest.append({"Config": file, "RepoTags": [name], "Layers": names})
        add_file(archive, "manifest.json", json.dumps(manifest).encode())
    return path


def write_images(path):
    """Both images in one archive."""
    return write_archive(path, [busybox_layer()], [
        (SHELL_IMAGE, ["sh"], ["PATH=/bin"]),
        (PAUSE_IMAGE, ["sleep", "2147483647"], ["PATH=/bin"])])
