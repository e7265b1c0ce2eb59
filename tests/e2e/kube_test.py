#!/usr/bin/env python3
"""Runs the tests of src/kube against a real control plane.

Usage: kube_test.py TEST_BINARY [--kubernetes VERSION] [--bare | --real-node] [GTEST_OPTION...]

Starts a cluster and a fault proxy in front of it, serves the commands with which the tests make
the cluster misbehave, runs the binary and ends all of it. `NOT TESTED` on its own line means that
the Kubernetes binaries can neither be found nor built here.
"""
import argparse
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from binaries import KUBERNETES, Missing
from control_plane import ControlPlane
from fault_proxy import FaultProxy
from images import SHELL_IMAGE
from processes import spawn
from real_node import RealNodeCluster


def commands(cluster, proxy):
    return {
        "/restart": cluster.restart_api,
        "/kill": cluster.daemons["apiserver"].kill,
        "/start": cluster.start_api,
        "/compact": cluster.compact,
        "/cut": proxy.cut,
        "/refuse": proxy.refuse,
        "/pass": lambda: proxy.refuse(False),
        "/stall": proxy.stall,
        "/flow": lambda: proxy.stall(False),
    }


def serve_commands(table):
    """POST /restart and the like; answered when it is done."""
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):  # pylint: disable=invalid-name
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            try:
                table[self.path]()
                status, text = 200, "done"
            except Exception as error:  # pylint: disable=broad-except
                status, text = 500, repr(error)
            data = text.encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):  # pylint: disable=arguments-differ
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("binary")
    parser.add_argument("--kubernetes", default=KUBERNETES, metavar="VERSION")
    parser.add_argument("--bare", action="store_true", help="no controllers, no nodes")
    parser.add_argument("--real-node", action="store_true", help="containers run for real")
    options, gtest = parser.parse_known_args()
    start = time.monotonic()
    try:
        cluster = (RealNodeCluster("real", options.kubernetes) if options.real_node else
                   ControlPlane("real", options.kubernetes, is_bare=options.bare))
    except Missing as missing:
        print(f"NOT TESTED: {missing}")
        return 0
    with cluster:
        proxy = FaultProxy(cluster.port, cluster.host)
        server = serve_commands(commands(cluster, proxy))
        if not options.bare and not options.real_node:
            cluster.add_nodes(3, gpus=4)
        print(f"Kubernetes {cluster.version} is up after {time.monotonic() - start:.1f} s",
              flush=True)
        proxied = cluster.write_kubeconfig("proxied.kubeconfig", cert="admin",
                                           server=f"https://127.0.0.1:{proxy.port}")
        environment = {
            **os.environ,
            "MUSTER_E2E_KUBECONFIG": cluster.file("admin.kubeconfig"),
            "MUSTER_E2E_PROXIED": proxied,
            "MUSTER_E2E_IMAGE": SHELL_IMAGE,
            "MUSTER_E2E_CA": cluster.pki.text("ca.crt"),
            "MUSTER_E2E_CONTROL": f"http://127.0.0.1:{server.server_address[1]}",
        }
        code = spawn([options.binary, *gtest], env=environment).wait()
        if code:
            print(cluster.daemons["apiserver"].log_tail(8))
        proxy.close()
    return code


if __name__ == "__main__":
    sys.exit(main())
