#!/usr/bin/env python3
"""TLS and identity, seen from outside: a server with a certificate, the command line with the
authority that signed it, tokens, and clients that do not come from the loopback.

The latter need an address that is none of the loopback's: the test makes a network namespace with
one and runs itself in there. Where that is not allowed these tests are NOT TESTED.

Usage: identity_test.py MUSTER [unittest arguments]
"""
import json
import os
import signal
import ssl
import subprocess
import sys
import tempfile
import unittest

from muster_server import Server

BINARY = ""
ELSEWHERE = "10.9.9.9"
INSIDE = "MUSTER_TEST_NAMESPACE"
LOCAL = {"name": "here", "type": "local", "cpu": 1, "memory": "1Gi"}
CONFIG = "clusters:\n- {name: sim, type: simulated, nodes: [{count: 1, cpu: 8}]}\n"


def make_certificate(folder):
    """Signed by itself: the file is its own authority."""
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    names = f"subjectAltName=DNS:localhost,IP:127.0.0.1,IP:{ELSEWHERE}"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=muster",
                    "-addext", names, "-keyout", key, "-out", cert], check=True,
                   capture_output=True)
    return cert, key


class OverTls(unittest.TestCase):
    ADDRESS = "127.0.0.1"

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="muster-tls-")
        cls.cert, key = make_certificate(cls.folder.name)
        cls.config = os.path.join(cls.folder.name, "muster.yaml")
        cls.write_config(CONFIG)
        cls.server = Server(
            BINARY, arguments=["--config", cls.config, "--tls-cert", cls.cert, "--tls-key", key],
            address=cls.ADDRESS, tls=ssl.create_default_context(cafile=cls.cert)).start()
        cls.url = f"https://{cls.ADDRESS}:{cls.server.port}"
        with open(os.path.join(cls.server.folder, "data", "admin.token")) as file:
            cls.admin = file.read().strip()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        cls.folder.cleanup()

    @classmethod
    def write_config(cls, text):
        with open(cls.config, "w") as out:
            out.write(text)

    def reload(self, text, *query):
        """The file is another one for this test."""
        self.addCleanup(self.write_config, CONFIG)
        self.write_config(text)
        return self.as_admin("POST", "/config/reload" + "".join(query))[:2]

    def as_admin(self, method, path, body=None):
        return self.server.api(method, path, body,
                               headers={"Authorization": f"Bearer {self.admin}"})

    def muster(self, *words, code=0, token="", ca=True, url=None):
        environment = {**os.environ, "MUSTER_URL": url or self.url,
                       "MUSTER_CONFIG": os.path.join(self.folder.name, "contexts.yaml")}
        for name in ("MUSTER_TOKEN", "MUSTER_CA"):
            environment.pop(name, None)
        if token:
            environment["MUSTER_TOKEN"] = token
        if ca:
            environment["MUSTER_CA"] = self.cert
        done = subprocess.run([BINARY, *words], env=environment, capture_output=True, text=True,
                              timeout=60)
        self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        return done

    def status(self, token=""):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return self.server.api("GET", "/info", headers=headers)[0]

    def check_the_life_of_a_token(self):
        secret = self.muster("token", "create", "ci", "--user", "robot", token=self.admin)
        token = secret.stdout.strip()
        listed = self.muster("token", "list", token=self.admin).stdout
        self.assertIn("robot", listed)
        self.assertNotIn(token, listed)
        job = self.muster("submit", "--hold", "--", "true", token=token).stdout.strip()
        self.assertIn("robot", self.muster("list", "--all", token=token).stdout)
        self.muster("cancel", job, token=token)
        row = next(line for line in listed.splitlines() if "robot" in line)
        self.muster("token", "revoke", row.split()[0], token=self.admin)
        self.assertEqual(self.status(token), 401)
        said = self.muster("list", code=1, token=token).stderr
        self.assertEqual(said.count("\n"), 1, said)


class OnTheLoopback(OverTls):
    def test_the_command_line_knows_the_server_by_its_authority(self):
        self.muster("list")
        said = self.muster("list", code=3, ca=False).stderr
        self.assertEqual(said.count("\n"), 1, said)
        self.assertIn("certificate", said)
        self.muster("list", code=3, url=self.url.replace("https", "http"))

    def test_a_context_keeps_the_authority(self):
        self.muster("context", "set", "lab", "--url", self.url, "--ca", self.cert, ca=False)
        self.muster("list", "--context", "lab", ca=False)

    def test_a_token_is_made_used_and_revoked(self):
        self.check_the_life_of_a_token()
        self.assertEqual(self.status(), 200, "on the loopback none is needed")
        self.assertEqual(self.status("mst_wrong"), 401)

    def test_a_reload_keeps_what_the_command_line_says(self):
        status, preview = self.reload(CONFIG + "queues:\n- {name: new}\n")
        self.assertEqual((status, preview["changes"], preview["restart"]),
                         (200, ["queue new: is new"], []))
        with open(self.config) as file:
            text = file.read()
        status, preview, _ = self.as_admin("POST", "/config/check", {"yaml": text})
        self.assertEqual((status, preview["changes"]), (200, []))
        self.assertIn(f":{self.server.port}", self.as_admin("GET", "/config")[1]["yaml"])


@unittest.skipUnless(os.environ.get(INSIDE), f"NOT TESTED: no network namespace with {ELSEWHERE}")
class FromElsewhere(OverTls):
    ADDRESS = ELSEWHERE

    def test_nobody_is_let_in_without_a_token(self):
        status, answer, headers = self.server.api("GET", "/info")
        self.assertEqual((status, answer["error"]["code"]), (401, "unauthorized"))
        self.assertIn("Bearer", headers["WWW-Authenticate"])
        self.assertEqual(self.server.api("POST", "/jobs", {"command": "true"})[0], 401)
        self.assertEqual(self.server.get("/metrics")[0], 401)
        self.assertEqual(self.server.get("/healthz")[0], 200)
        self.muster("list", code=1)
        self.assertEqual(self.status(self.admin), 200)

    def test_a_token_is_made_used_and_revoked(self):
        self.check_the_life_of_a_token()

    def clusters(self):
        return [row["name"] for row in self.as_admin("GET", "/clusters")[1]["clusters"]]

    def test_no_reload_brings_processes_to_where_others_reach_the_server(self):
        both = CONFIG + f"- {json.dumps(LOCAL)}\n"
        status, preview = self.reload(both, "?dry_run=true")
        self.assertEqual((status, preview["ok"]), (200, False))
        self.assertIn("can be reached from other machines", preview["problems"][0]["message"])
        status, answer = self.reload(both)
        self.assertEqual(status, 400, answer)
        self.server.process.send_signal(signal.SIGHUP)
        self.server.wait("SIGHUP is refused", lambda: "not reloaded: listen" in self.server.log())
        self.assertEqual(self.clusters(), ["sim"])

    def test_nor_does_a_join_after_a_reload(self):
        self.assertEqual(self.reload(CONFIG + "listen: 127.0.0.1:8080\n")[0], 200)
        status, answer, _ = self.as_admin("POST", "/clusters", LOCAL)
        self.assertEqual(status, 400, answer)
        self.assertIn("can be reached from other machines", answer["error"]["message"])
        self.assertEqual(self.clusters(), ["sim"])

    def test_nor_a_restart_of_a_server_that_had_them(self):
        for how in ("joined", "of the file before"):
            with self.subTest(how=how):
                config = os.path.join(self.folder.name, "own.yaml")
                with open(config, "w") as out:
                    out.write("" if how == "joined" else f"clusters: [{json.dumps(LOCAL)}]\n")
                server = Server(BINARY, arguments=["--config", config])
                self.addCleanup(server.close)
                server.start()
                if how == "joined":
                    self.assertEqual(server.api("POST", "/clusters", LOCAL)[0], 201)
                server.terminate()
                open(config, "w").close()
                server.address = ELSEWHERE
                with self.assertRaisesRegex(AssertionError, "muster cluster leave here"):
                    server.start()


def enter_namespace():
    """Starts this again where there is another address; returns if that may not be."""
    setup = f"ip link set lo up && ip addr add {ELSEWHERE}/32 dev lo"
    allowed = subprocess.run(["unshare", "-rn", "sh", "-c", setup], capture_output=True, text=True)
    if allowed.returncode != 0:
        print(f"NOT TESTED: from another address: {allowed.stderr.strip()}", flush=True)
        return
    os.environ[INSIDE] = "1"
    os.execvp("unshare", ["unshare", "-rn", "sh", "-c", f'{setup} && exec "$@"', "sh",
                          sys.executable, os.path.abspath(__file__), *sys.argv[1:]])


if __name__ == "__main__":
    if not os.environ.get(INSIDE) and "OnTheLoopback" not in sys.argv:
        enter_namespace()
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main()
