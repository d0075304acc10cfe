"""How does a test get a Kubernetes API?

    with Cluster(lan) as cluster:                       # etcd and kube-apiserver on the LAN's router
        cluster.admin.get("/api/v1/nodes")
        cluster.admin.apply({"apiVersion": "v1", "kind": "ConfigMap", …})
        cluster.client("alice", groups=["team"]).get(…)  # RBAC is on
        cluster.kubectl("get", "nodes", "-o", "wide")
        cluster.start_controller_manager()

The API is at `cluster.server.url`, 10.88.N.1:6443, for the LAN's nodes. Closing the cluster, or removing its LAN, ends
everything. `kubelet.py` gives a node a real kubelet.
"""

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from harness import host
from harness import namespaces as ns
from harness.kube_client import Client, Credentials, Server
from harness.kube_programs import Program, etcd
from harness.lan import Lan

PORT = 6443
ETCD = ("http://127.0.0.1:2379", "http://127.0.0.1:2380")
SERVICES = "10.96.0.0/16,fd96::/112"
PODS = "10.128.0.0/14,fd80:80::/48"
MASTERS = "system:masters"
NODES = "system:nodes"


class Cluster:
    """A control plane in the network namespace of a LAN's router; a context manager."""

    def __init__(self, lan: Lan) -> None:
        host.ensure_packages({"openssl": "openssl"})
        self.lan = lan
        self._scratch = tempfile.TemporaryDirectory(prefix="kubernetes-", dir=lan.state)
        self.directory = Path(self._scratch.name)
        """Certificates, keys and logs."""
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._clients: dict[str, Client] = {}
        _make_authority(self.directory, "users")
        _make_authority(self.directory, "tokens")
        self.server = Server(lan.netns, str(lan.gateway4), PORT, self.directory / "apiserver.crt")
        self.admin = self.client("admin", groups=[MASTERS])

    def __enter__(self) -> Self:
        self._start_etcd()
        self._start_apiserver()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every program of the control plane and remove its files."""
        for process in reversed(self._running.values()):
            ns.end(process, timeout=1)  # kube-apiserver waits ten seconds for its watches; nothing is kept
        self._running.clear()
        self._scratch.cleanup()

    def client(self, user: str, *, groups: Sequence[str] = ()) -> Client:
        """Return the requests of a user; a user's groups are those of the first call."""
        if user not in self._clients:
            self._clients[user] = Client(self.server, self._credentials(user, groups))
        return self._clients[user]

    def node_client(self, node: str) -> Client:
        """Return the requests of a node's kubelet, which NodeRestriction and the Node authorizer know by its name."""
        return self.client(f"system:node:{node}", groups=[NODES])

    def kubectl(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run kubectl as the administrator; raise LabError if it fails, unless `check` is false."""
        config = self.directory / "admin.kubeconfig"
        config.write_text(self.admin.kubeconfig())
        inside = ["ip", "netns", "exec", self.lan.netns]
        command = [*inside, str(Program.KUBECTL.path), f"--kubeconfig={config}", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        if check and done.returncode:
            raise host.LabError(f"kubectl {' '.join(words)}: exit code {done.returncode}\n{done.stderr}")
        return done

    def start_controller_manager(self, *options: str) -> None:
        """Start kube-controller-manager: garbage collection, node life cycle, service accounts."""
        config = self.directory / "controller-manager.kubeconfig"
        config.write_text(self.client("system:kube-controller-manager", groups=[MASTERS]).kubeconfig())
        self._start(
            *(Program.CONTROLLER_MANAGER.path, f"--kubeconfig={config}", "--leader-elect=false", "--secure-port=0"),
            *(f"--service-account-private-key-file={self.directory}/tokens.key", f"--cluster-cidr={PODS}", *options),
        )

    def log(self, program: str) -> str:
        """Return what a program has logged: `etcd`, `kube-apiserver`, `kube-controller-manager`."""
        path = self.directory / f"{program}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def _start_etcd(self) -> None:
        clients, peers = ETCD
        self._start(
            *(etcd(), "--name=lab", f"--data-dir={self.directory}/etcd", "--log-outputs=stderr", "--logger=zap"),
            *(f"--listen-client-urls={clients}", f"--advertise-client-urls={clients}"),
            *(
                f"--listen-peer-urls={peers}",
                f"--initial-advertise-peer-urls={peers}",
                f"--initial-cluster=lab={peers}",
            ),
        )

    def _start_apiserver(self) -> None:
        files = self.directory
        self._start(
            *(Program.APISERVER.path, f"--etcd-servers={ETCD[0]}", f"--secure-port={PORT}", f"--cert-dir={files}"),
            *(
                f"--advertise-address={self.lan.gateway4}",
                f"--service-cluster-ip-range={SERVICES}",
                "--allow-privileged",
            ),
            *(f"--client-ca-file={files}/users.crt", "--authorization-mode=Node,RBAC", "--allow-privileged"),
            *("--enable-admission-plugins=NodeRestriction", "--service-account-issuer=https://kubernetes.default.svc"),
            *(
                f"--service-account-key-file={files}/tokens.crt",
                f"--service-account-signing-key-file={files}/tokens.key",
            ),
        )
        host.eventually(self._ready, "kube-apiserver to be ready", timeout=120, pause=0.2)

    def _ready(self) -> bool:
        self._check()
        try:
            return self.server.authority.exists() and self.admin.raw("/readyz") == "ok"
        except host.LabError:
            return False

    def _check(self) -> None:
        for name, process in self._running.items():
            if process.poll() is not None:
                raise host.LabError(f"{name} ended with {process.returncode}:\n{host.tail(self.log(name))}")

    @contextlib.contextmanager
    def stopped(self) -> Iterator[Path]:
        """Stop kube-apiserver and etcd; yield the directory of etcd's data, which may be copied or replaced."""
        for name in (Path(Program.APISERVER.path).name, Path(etcd()).name):
            ns.end(self._running.pop(name), timeout=5)
        yield self.directory / "etcd"
        self._start_etcd()
        self._start_apiserver()

    def run(self, name: str, *command: str | Path) -> None:
        """Start a program beside the control plane; it ends with it."""
        self._running[name] = self.lan.start(*command, output=self.directory / f"{name}.log")

    def processes(self) -> dict[str, int]:
        """Return the process of each program that runs."""
        return {name: process.pid for name, process in self._running.items()}

    def _start(self, *command: str | Path) -> None:
        self.run(Path(command[0]).name, *command)

    def _credentials(self, user: str, groups: Sequence[str]) -> Credentials:
        stem = self.directory / user.replace(":", "-")
        subject = "".join([*(f"/O={group}" for group in groups), f"/CN={user}"])
        certificate, key = stem.with_name(f"{stem.name}.crt"), stem.with_name(f"{stem.name}.key")
        authority = ("-CA", self.directory / "users.crt", "-CAkey", self.directory / "users.key")
        _openssl(subject, certificate, key, *authority, "-addext", "extendedKeyUsage=clientAuth")
        return Credentials(user, certificate, key)


def _make_authority(directory: Path, name: str) -> None:
    _openssl(f"/CN=lab {name}", directory / f"{name}.crt", directory / f"{name}.key")


def _openssl(subject: str, certificate: Path, key: Path, *options: str | Path) -> None:
    """Make a key and its certificate, signed by itself or by the authority in the options."""
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-days", "30"]
    host.call(["openssl", *words, "-subj", subject, "-keyout", key, "-out", certificate, *options])
