"""An HTTPS proxy in front of a real API server that misbehaves on command. Standard library.

What it does to a request is up to `fault`, a function of the request that returns one of the faults
below, or None: then it passes as it is. Clients must come with a token: certificates end here.
"""
import collections
import dataclasses
import http.client
import json
import socket
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclasses.dataclass
class Asked:
    method: str
    path: str

    @property
    def is_watch(self):
        return "watch=true" in self.path

    def is_create(self, resource):
        return self.method == "POST" and self.path.split("?")[0].endswith("/" + resource)


@dataclasses.dataclass
class Late:
    """The request reaches the server only when `until` says so, or after that many seconds."""
    seconds: float = 0
    until: threading.Event = None


@dataclasses.dataclass
class Answer:
    """The proxy answers itself; the server never hears of it."""
    code: int
    reason: str
    headers: dict = dataclasses.field(default_factory=dict)


class LostReply:
    """The server does it, and the connection breaks before the answer."""


class GoneEvent:
    """Of a watch: it begins well, and the first event says 410."""


def status_object(code, reason):
    return {"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code,
            "reason": reason, "message": f"the fault proxy says {reason}"}


class HttpFaults:
    """`counts` has how often each fault was met: a test that met none has tested nothing."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.fault = lambda asked: None
        self.counts = collections.Counter()
        self.lock = threading.Lock()
        self.watches = set()  # sockets of clients and of the server
        self.to_server = ssl.create_default_context(cafile=cluster.pki.text("ca.crt"))
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(cluster.pki.text("apiserver.crt"), cluster.pki.text("apiserver.key"))
        self.server = TlsServer(("127.0.0.1", 0), Handler)
        self.server.tls, self.server.faults = tls, self
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def write_kubeconfig(self):
        return self.cluster.write_kubeconfig(
            f"faults-{self.port}.kubeconfig", user={"token": "token-of-admin"},
            server=f"https://127.0.0.1:{self.port}")

    def fault_of(self, asked):
        with self.lock:
            fault = self.fault(asked)
            if fault is not None:
                self.counts[type(fault).__name__] += 1
            return fault

    def cut_watches(self):
        with self.lock:
            cut, self.watches = self.watches, set()
            self.counts["cut"] += len(cut) // 2
        for one in cut:
            shut(one)

    def close(self):
        self.fault = lambda asked: None
        self.server.shutdown()
        self.server.server_close()
        self.cut_watches()


def shut(one):
    try:
        socket.socket.shutdown(one, socket.SHUT_RDWR)
    except OSError:
        pass


class TlsServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    tls = None
    faults = None

    def get_request(self):
        client, address = super().get_request()
        return self.tls.wrap_socket(client, server_side=True,
                                    do_handshake_on_connect=False), address

    def handle_error(self, request, client_address):
        pass  # clients that leave are no news


class Handler(BaseHTTPRequestHandler):
    """One connection of a client, and one to the server."""
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    upstream = None

    def handle(self):
        try:
            super().handle()
        except (OSError, http.client.HTTPException):
            pass  # as if the server had gone: the client sees its connection break
        finally:
            if self.upstream:
                self.upstream.close()

    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked = Asked(self.command, self.path)
        fault = self.server.faults.fault_of(asked)
        if isinstance(fault, Late):
            if fault.until:
                fault.until.wait(60)
            time.sleep(fault.seconds)
        if isinstance(fault, Answer):
            return self.reply(fault.code, fault.headers,
                              json.dumps(status_object(fault.code, fault.reason)).encode())
        if isinstance(fault, GoneEvent):
            event = {"type": "ERROR", "object": status_object(410, "Expired")}
            return self.reply(200, {}, json.dumps(event).encode() + b"\n")
        answer = self.forward(body)
        if answer.status == 410:
            self.server.faults.counts["410 of the server"] += 1
        if asked.is_watch and answer.status == 200:
            return self.relay(answer)
        data = answer.read()
        if isinstance(fault, LostReply):
            raise ConnectionResetError
        headers = {name: value for name, value in answer.getheaders()
                   if name.lower() in ("retry-after", "warning")}
        return self.reply(answer.status, headers, data,
                          answer.headers.get("Content-Type", "application/json"))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve

    def forward(self, body):
        faults = self.server.faults
        if self.upstream is None:
            self.upstream = http.client.HTTPSConnection(
                faults.cluster.host, faults.cluster.port, timeout=120, context=faults.to_server)
        headers = {name: value for name, value in self.headers.items()
                   if name.lower() in ("authorization", "accept", "content-type", "user-agent")}
        self.upstream.request(self.command, self.path, body or None, headers)
        return self.upstream.getresponse()

    def reply(self, code, headers, data, content_type="application/json"):
        self.send_response_only(code)
        for name, value in {"Content-Type": content_type, "Content-Length": str(len(data)),
                            **headers}.items():
            self.send_header(name, value)
        self._headers_buffer.append(b"\r\n" + data)
        self.flush_headers()

    def relay(self, answer):
        """A watch, until one side ends it."""
        faults = self.server.faults
        pair = {self.connection, self.upstream.sock}
        with faults.lock:
            faults.watches |= pair
        self.upstream.sock.settimeout(None)
        try:
            self.send_response_only(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            while data := answer.read1(65536):
                if b'"code":410' in data:
                    faults.counts["410 of the server"] += 1
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.write(b"0\r\n\r\n")
        finally:
            with faults.lock:
                faults.watches -= pair

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass
