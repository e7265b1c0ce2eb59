"""Ports of the loopback that nobody else takes while this process lives. Standard library only."""
import fcntl
import os
import random
import socket
import tempfile

# Below those that the kernel gives to clients: a connection of somebody else takes none of them.
RANGE = range(20_000, 30_000)
FOLDER = os.path.join(tempfile.gettempdir(), "muster-test-ports")
HELD = []  # locked files, one a port


def free_port():
    """Other tests that run at the same time get another one, also before a server listens there."""
    os.makedirs(FOLDER, exist_ok=True)
    for port in random.sample(RANGE, 100):
        held = open(os.path.join(FOLDER, str(port)), "w", encoding="utf-8")
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))
        except OSError:
            held.close()
            continue
        HELD.append(held)
        return port
    raise AssertionError("no free port")
