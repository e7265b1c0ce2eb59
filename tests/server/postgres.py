"""A PostgreSQL of the test's own: a temp folder, a Unix socket, no network."""
import glob
import os
import pwd
import shutil
import subprocess
import tempfile


class Postgres:
    @staticmethod
    def bin():
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        return found[-1] if found else ""

    @staticmethod
    def missing():
        """Why it cannot be started; empty: it can."""
        if not Postgres.bin():
            return "PostgreSQL is not installed"
        if os.geteuid() == 0:
            try:
                pwd.getpwnam("postgres")
            except KeyError:
                return "PostgreSQL does not run as root, and there is no user postgres"
        return ""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="muster-pg-")
        self.as_user = []
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres")
            self.as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        self.data = os.path.join(self.folder, "data")
        self.run("initdb", "-D", self.data, "-U", "muster", "-A", "trust", "--no-sync",
                 "-E", "UTF8")
        self.start()
        self.url = f"postgresql:///postgres?host={self.folder}&user=muster"

    def run(self, program, *arguments):
        subprocess.run([*self.as_user, os.path.join(self.bin(), program), *arguments], check=True,
                       stdout=subprocess.DEVNULL, cwd=self.folder)

    def stop(self):
        self.run("pg_ctl", "-D", self.data, "-m", "immediate", "-w", "stop")

    def start(self):
        options = f"-k {self.folder} -c listen_addresses= -c max_connections=50"
        self.run("pg_ctl", "-D", self.data, "-w", "-o", options,
                 "-l", os.path.join(self.folder, "log"), "start")

    def close(self):
        try:
            self.stop()
        except subprocess.CalledProcessError:
            pass
        shutil.rmtree(self.folder, ignore_errors=True)
