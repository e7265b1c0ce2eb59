#!/usr/bin/env python3
"""Every operation of docs/openapi.json is asked once of a real server, and keeps its contract.

Usage: contract_test.py MUSTER [unittest arguments]
"""
import base64
import os
import socket
import sys
import unittest

from muster_server import CONTRACT, Server

BINARY = ""
CONFIG = """clusters:
- {name: here, type: local, slots: 4, cpu: 64, memory: 64Gi}
- {name: sim, type: simulated, nodes: [{count: 2, cpu: 96, memory: 1Ti, gpu: {A100: 8}}]}
queues:
- {name: default}
pools:
- {name: gpus, cluster: sim}
fleet_pools:
- {name: every, pools: [gpus]}
"""
# Answered well only with something that this server does not have.
ELSEWHERE = {
    ("GET", "/api/muster/v1/appwrappers/{namespace}/{name}"): "an AppWrapper: tests/e2e",
}


class EveryOperation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(BINARY, CONFIG).start()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def ask(self, method, path, body=None, status=200, **kw):
        got, answer, _ = self.server.api(method, path, body, **kw)
        self.assertEqual(got, status, (method, path, answer))
        return answer

    def ask_about_jobs(self):
        held = self.server.submit("true", held=True, clusters=["here"])
        self.ask("GET", "/jobs")
        self.ask("PATCH", f"/jobs/{held}", {"priority": 7})
        self.ask("POST", f"/jobs/{held}/release")
        self.server.wait_final(held)
        self.ask("POST", f"/jobs/{held}/retry", status=201)
        running = self.server.submit("echo hello; exec sleep 300", clusters=["here"])
        self.server.wait_state(running, "Running")
        for view in ("explain", "when", "notes", "logs"):
            self.ask("GET", f"/jobs/{running}/{view}")
        self.ask_for_a_stream(f"/events?job={running}&follow=false&from=1")
        self.ask_for_a_stream(f"/jobs/{held}/logs?follow=true")
        self.ask_for_a_command(running)
        self.ask("POST", f"/jobs/{running}/checkpoint")
        self.ask("POST", f"/jobs/{running}/hold?stop=true")
        self.server.wait_state(running, "Held")
        self.ask("POST", f"/jobs/{running}/cancel")
        self.ask("POST", "/whatif/job", {"command": "true", "gpus": 8, "pods": 3})
        self.ask("POST", "/whatif/queue", {"queue": "default", "extra": "64"})

    def ask_for_a_stream(self, path):
        checked = CONTRACT.events_checked
        self.ask("GET", path)
        self.assertGreater(CONTRACT.events_checked, checked, path)

    def ask_for_a_command(self, job):
        """A WebSocket: only the answer to the upgrade is looked at."""
        path = f"/api/muster/v1/jobs/{job}/exec?command=true"
        key = base64.b64encode(os.urandom(16)).decode()
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=30) as wire:
            wire.sendall((f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\n"
                          "Connection: Upgrade\r\nUpgrade: websocket\r\n"
                          f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
                          "Sec-WebSocket-Protocol: v1.exec.muster.dev\r\n\r\n").encode())
            head = b""
            while b"\r\n\r\n" not in head:
                part = wire.recv(4096)
                self.assertTrue(part, head)
                head += part
        lines = head.split(b"\r\n\r\n")[0].decode().split("\r\n")
        status = int(lines[0].split()[1])
        headers = [tuple(line.split(": ", 1)) for line in lines[1:]]
        self.assertEqual(status, 101, head)
        self.assertEqual(CONTRACT.check("GET", path, status, headers, b""), [])

    def ask_about_queues(self):
        self.ask("POST", "/queues", {"name": "made", "weight": 2}, 201)
        self.ask("GET", "/queues")
        self.ask("GET", "/queues/made")
        self.ask("GET", "/queues/made/usage")
        self.ask("PATCH", "/queues/made", {"weight": 3})
        self.ask("DELETE", "/queues/made", status=204)

    def ask_about_clusters(self):
        spec = {"name": "more", "type": "simulated", "nodes": [{"count": 1, "cpu": 8}]}
        self.ask("POST", "/clusters/check", spec)
        self.ask("POST", "/clusters", spec, 201)
        self.ask("GET", "/clusters")
        self.ask("GET", "/clusters/more")
        for verb in ("cordon", "uncordon", "drain"):
            self.ask("POST", f"/clusters/more/{verb}")
        got = self.server.api("DELETE", "/clusters/more")
        self.assertIn(got[0], (202, 204), got[1])
        nodes = self.ask("GET", "/nodes?cluster=sim")["nodes"]
        self.ask("GET", f"/nodes/sim/{nodes[0]['name']}")
        self.ask("GET", "/pools")
        self.ask("GET", "/pools/gpus")
        pooled = self.server.submit("true", pool="gpus", gpus=1)
        self.assertEqual(self.server.wait_state(pooled, "Running")["placement"]["pool"], "gpus")
        self.ask("GET", "/fleet-pools")
        self.ask("GET", "/fleet-pools/every")

    def ask_about_the_server(self):
        self.ask("GET", "/info?world=true")
        for document in ("/openapi.json", "/schemas/job.json", "/schemas/config.json"):
            self.ask("GET", document)
        token = self.ask("POST", "/tokens", {"name": "ci"}, 201)
        self.ask("GET", "/tokens")
        self.ask("DELETE", f"/tokens/{token['id']}", status=204)
        self.ask("GET", "/audit")
        self.ask("GET", "/config")
        self.ask("POST", "/config/check", {"yaml": "clusters: []\n"})
        self.ask("POST", "/config/reload")
        self.ask("GET", "/appwrappers")
        for path in ("/healthz", "/readyz", "/metrics"):
            self.assertEqual(self.server.get(path)[0], 200)

    def check_metrics(self):
        """Their help texts are those of docs/server.md."""
        with open(os.path.join(os.path.dirname(__file__), "../../docs/server.md")) as file:
            told = set(file.read().split("\n"))
        rows = [line.removeprefix("# HELP ").split(" ", 1)
                for line in self.server.get("/metrics")[1].split("\n")
                if line.startswith("# HELP ")]
        self.assertGreater(len(rows), 20)
        for name, text in rows:
            self.assertIn(f"| `{name}` | {text} |", told)

    def test_is_answered_as_the_document_says(self):
        self.ask_about_jobs()
        self.ask_about_queues()
        self.ask_about_clusters()
        self.ask_about_the_server()
        self.check_metrics()
        self.assertEqual(set(CONTRACT.unseen()), set(ELSEWHERE))


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main()
