"""Keys and certificates of a test cluster, made by openssl. Standard library only."""
import subprocess
from pathlib import Path


def openssl(*arguments):
    done = subprocess.run(["openssl", *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"openssl {' '.join(arguments)}: {done.stdout}")


class Pki:
    """A folder with an authority and what it signed."""

    def __init__(self, folder, authority="ca"):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.authority = authority
        if not self.path(authority + ".crt").exists():
            self.new_key(authority)
            openssl("req", "-x509", "-new", "-key", self.text(authority + ".key"), "-days", "30",
                    "-subj", f"/CN={authority}", "-out", self.text(authority + ".crt"))

    def path(self, name):
        return self.folder / name

    def text(self, name):
        return str(self.folder / name)

    def new_key(self, name):
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out",
                self.text(name + ".key"))

    def issue(self, name, common_name, groups=(), addresses=(), names=()):
        """name.crt and name.key; groups become organizations, as Kubernetes reads them."""
        self.new_key(name)
        subject = "".join(f"/O={group}" for group in groups) + f"/CN={common_name}"
        openssl("req", "-new", "-key", self.text(name + ".key"), "-subj", subject, "-out",
                self.text(name + ".csr"))
        usage = "serverAuth,clientAuth" if addresses or names else "clientAuth"
        lines = [f"extendedKeyUsage={usage}", "keyUsage=digitalSignature"]
        alternatives = [f"IP:{a}" for a in addresses] + [f"DNS:{n}" for n in names]
        if alternatives:
            lines.append("subjectAltName=" + ",".join(alternatives))
        self.path(name + ".ext").write_text("\n".join(lines) + "\n")
        openssl("x509", "-req", "-in", self.text(name + ".csr"), "-CA",
                self.text(self.authority + ".crt"), "-CAkey", self.text(self.authority + ".key"),
                "-CAcreateserial", "-days", "30", "-extfile", self.text(name + ".ext"), "-out",
                self.text(name + ".crt"))

    def issue_signer(self, name):
        """A pair of keys for signing tokens: name.key and name.pub."""
        self.new_key(name)
        openssl("ec", "-in", self.text(name + ".key"), "-pubout", "-out", self.text(name + ".pub"))
