"""A TCP proxy on loopback that misbehaves on command: cuts, refuses, stalls. Standard library."""
import select
import socket
import threading


class FaultProxy:
    """Bytes between clients and one port, while it is `passing`; TLS goes through as it is."""

    def __init__(self, to_port, to_host="127.0.0.1"):
        self.to = (to_host, to_port)
        self.is_refusing = False
        self.is_stalled = False
        self.sockets = set()
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept_all, daemon=True).start()

    def accept_all(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if self.is_refusing:
                client.close()
                continue
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            server = socket.create_connection(self.to, timeout=10)
        except OSError:
            client.close()
            return
        pair = {client: server, server: client}
        with self.lock:
            self.sockets.update(pair)
        try:
            while True:
                for source in select.select(list(pair), [], [], 0.05)[0]:
                    if self.is_stalled:
                        select.select([], [], [], 0.05)
                        continue
                    data = source.recv(65536)
                    if not data:
                        return
                    pair[source].sendall(data)
        except (OSError, ValueError):
            pass
        finally:
            with self.lock:
                self.sockets.difference_update(pair)
            client.close()
            server.close()

    def cut(self):
        """All connections break now."""
        with self.lock:
            for one in self.sockets:
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def refuse(self, on=True):
        self.is_refusing = on
        if on:
            self.cut()

    def stall(self, on=True):
        self.is_stalled = on

    def close(self):
        self.listener.close()
        self.cut()
