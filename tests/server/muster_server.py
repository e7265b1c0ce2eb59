"""A real `muster serve` in a temp folder, for the tests of tests/server. Standard library only."""
import http.client
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

from openapi import Contract
from ports import free_port

CONTRACT = Contract.load(
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/openapi.json"))


class Server:
    """One data folder and its server, which can be killed and started again."""

    def __init__(self, binary, config="", environment=None, preexec=None, arguments=None,
                 address="127.0.0.1", tls=None):
        """With a configuration, or with arguments that stand for one; tls: the context of a client
        of a server that was given a certificate."""
        self.binary = os.path.abspath(binary)
        self.folder = tempfile.mkdtemp(prefix="muster-test-")
        self.port = free_port()
        self.address, self.tls = address, tls
        self.environment = {**os.environ, **(environment or {})}
        self.preexec = preexec
        self.process = None
        self.log_path = os.path.join(self.folder, "server.log")
        self.config_path = os.path.join(self.folder, "muster.yaml")
        self.write_config(config)
        self.arguments = arguments

    def write_config(self, text):
        with open(self.config_path, "w") as out:
            out.write(f"data_dir: {self.folder}/data\nlisten: 127.0.0.1:{self.port}\n{text}")

    def start(self, wait_s=30):
        arguments = ([*self.arguments, "--listen", f"{self.address}:{self.port}"] if self.arguments
                     else ["--config", self.config_path])
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [self.binary, "serve", *arguments], stdout=log, stderr=log,
                env=self.environment, preexec_fn=self.preexec, cwd=self.folder)
        end = time.monotonic() + wait_s
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended at once:\n{self.log()}")
            try:
                if self.get("/readyz")[0] == 200:
                    return self
            except OSError:
                pass
            time.sleep(0.02)
        raise AssertionError(f"the server is not ready after {wait_s} s:\n{self.log()}")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)

    def log(self):
        with open(self.log_path, errors="replace") as log:
            return log.read()

    def connection(self, timeout):
        if self.tls:
            return http.client.HTTPSConnection(self.address, self.port, timeout=timeout,
                                               context=self.tls)
        return http.client.HTTPConnection(self.address, self.port, timeout=timeout)

    def request(self, method, path, body=None, headers=None, timeout=30, check=True):
        """(status, parsed body, headers); an OSError or HTTPException if there is no answer."""
        connection = self.connection(timeout)
        try:
            data = json.dumps(body) if isinstance(body, (dict, list)) else body
            connection.request(method, path, data,
                               {"Content-Type": "application/json", **(headers or {})})
            answer = connection.getresponse()
            data = answer.read()
            text = data.decode()
            if check:  # every answer keeps the contract
                wrong = CONTRACT.check(method, path, answer.status, dict(answer.headers), data)
                assert not wrong, wrong
            is_json = "json" in answer.headers.get("Content-Type", "")
            return answer.status, json.loads(text) if is_json else text, dict(answer.headers)
        finally:
            connection.close()

    def get(self, path, **kw):
        return self.request("GET", path, **kw)

    def api(self, method, path, body=None, **kw):
        return self.request(method, "/api/muster/v1" + path, body, **kw)

    def world(self):
        """What the books come to: {"hash", "jobs", "waiting"}."""
        status, body, _ = self.api("GET", "/info?world=true", timeout=120)
        assert status == 200, (status, body)
        return body["world"]

    def metric(self, name):
        text = self.get("/metrics")[1]
        return next(float(line.split()[-1]) for line in text.split("\n")
                    if line.startswith(name + " "))

    def submit(self, command, **more):
        status, body, _ = self.api("POST", "/jobs", {"command": command, **more})
        assert status == 201, (status, body)
        return body["ids"][0]

    def job(self, job):
        status, body, _ = self.api("GET", "/jobs/" + job)
        assert status == 200, (status, body)
        return body

    def wait(self, what, condition, wait_s=60):
        """The first answer of `condition` that is true."""
        end = time.monotonic() + wait_s
        while time.monotonic() < end:
            if found := condition():
                return found
            time.sleep(0.03)
        log = [line for line in self.log().split("\n") if " info request " not in line]
        raise AssertionError("\n".join([f"{what}: not within {wait_s} s", *log[-40:]]))

    def wait_state(self, job, *states, wait_s=60):
        def row():
            found = self.job(job)
            return found if found["state"] in states else None
        try:
            return self.wait(f"job {job} in {states}", row, wait_s)
        except AssertionError as late:
            raise AssertionError(f"{self.job(job)}\n{late}") from late

    def wait_final(self, job, wait_s=60):
        return self.wait_state(job, "Succeeded", "Failed", "Cancelled", wait_s=wait_s)

    def close(self):
        if self.process and self.process.poll() is None:
            self.kill()
        self.end_supervisors()
        shutil.rmtree(self.folder, ignore_errors=True)

    def end_supervisors(self):
        """Supervisors and pods outlive the server: those of this folder are ended here."""
        for _ in range(50):
            left = [pid for pid in self.processes_here() if pid != os.getpid()]
            if not left:
                return
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
            time.sleep(0.05)

    def processes_here(self):
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    command = file.read().decode(errors="replace")
                where = os.readlink(f"/proc/{name}/cwd")
            except OSError:
                continue
            if self.folder in command or where.startswith(self.folder):
                found.append(int(name))
        return found
