#!/usr/bin/env python3
"""Gives the pods of a real node the names that Services without an address give them.

Usage: peer_names.py URL CA CERT KEY DOMAIN     answers DNS on port 53 until it is ended

In the place of a cluster's DNS, for which there is no image here: HOSTNAME.SERVICE.NAMESPACE.svc is
looked up in the EndpointSlices of the API server whenever somebody asks. Standard library only.
"""
import json
import socket
import ssl
import struct
import sys
import urllib.request

A, AAAA, IN = 1, 28, 1
NOT_FOUND = 3
TTL_S = 1


def question_of(packet):
    """([labels], type, where the question ends)."""
    labels, at = [], 12
    while packet[at]:
        labels.append(packet[at + 1:at + 1 + packet[at]].decode().lower())
        at += 1 + packet[at]
    kind, = struct.unpack_from(">H", packet, at + 1)
    return labels, kind, at + 5


def reply(packet, addresses):
    """None for addresses: there is no such name."""
    _, kind, end = question_of(packet)
    found = [socket.inet_aton(one) for one in addresses or []] if kind == A else []
    flags = 0x8580 | (NOT_FOUND if addresses is None else 0)
    answers = b"".join(struct.pack(">HHHIH", 0xC00C, A, IN, TTL_S, 4) + one for one in found)
    return packet[:2] + struct.pack(">HHHHH", flags, 1, len(found), 0, 0) + packet[12:end] + answers


class Names:
    def __init__(self, url, ca, cert, key, domain):
        self.url = url
        self.domain = domain.split(".")
        self.tls = ssl.create_default_context(cafile=ca)
        self.tls.load_cert_chain(cert, key)

    def addresses(self, labels):
        """Of one pod, or of all of a Service; None if there is no such name."""
        tail = ["svc", *self.domain]
        if labels[-len(tail):] != tail or len(labels) - len(tail) not in (2, 3):
            return None
        *host, service, namespace = labels[:-len(tail)]
        path = (f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
                f"?labelSelector=kubernetes.io/service-name={service}")
        with urllib.request.urlopen(self.url + path, context=self.tls, timeout=5) as answer:
            slices = json.load(answer)["items"]
        found = [address for one in slices for endpoint in one.get("endpoints") or []
                 if not host or endpoint.get("hostname") == host[0]
                 for address in endpoint["addresses"]]
        return found or None

    def serve(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
            asked.bind(("0.0.0.0", 53))
            while True:
                packet, sender = asked.recvfrom(4096)
                try:
                    asked.sendto(reply(packet, self.addresses(question_of(packet)[0])), sender)
                except (OSError, IndexError, ValueError, struct.error) as wrong:
                    print(f"{sender}: {wrong}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    Names(*sys.argv[1:]).serve()
