"""Control-plane nodes with VIPs: their settings, their cluster on disk, and a stand-in for the API server.

The stand-in answers ``/readyz`` by TLS with a certificate of the cluster's CA. A file switches it to another answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import Lab, Lan, Node, eventually, host
from harness.rootfs import DEFAULT, packages
from story import settle

PROGRAMS = ("keepalived", "haproxy", "dnsmasq-base", "nftables")
DOMAIN = "c1.example.com"
PATIENCE = 90.0
"""Seconds until a state that takes some: several labs may share the machine."""
API, INGRESS = "10.88.0.5", "10.88.0.6"
API6, INGRESS6 = "fd88::5", "fd88::6"
FIRST = 20
FILED = "/etc/nodenet/hostednetservices.yaml"
READYZ = "/run/lab-readyz"
"""Holds the status that the stand-in answers with, or ``slow``; absent: 200."""
SERVER = r"""#!/usr/bin/python3
import http.server, pathlib, socket, ssl, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        switch = pathlib.Path("/run/lab-readyz")
        word = switch.read_text().strip() if switch.exists() else "200"
        if word == "slow":
            time.sleep(5)
            word = "200"
        body = socket.gethostname().encode()
        self.send_response(int(word))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6
    daemon_threads = True
    def get_request(self):
        line, sender = super().get_request()
        line.settimeout(10)
        return line, sender
server = Server(("::", 6443), Handler)
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain("/etc/kubernetes/api.crt", "/etc/kubernetes/api.key")
server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
server.serve_forever()
"""
SERVER_UNIT = """[Service]
ExecStart=/usr/local/bin/lab-apiserver
KillSignal=SIGKILL
Restart=always
RestartSec=0.2
[Install]
WantedBy=multi-user.target
"""
SWITCHED_OFF = "[Unit]\nDescription=Not used here\n[Service]\nType=oneshot\nExecStart=/bin/true\n"
SETTINGS = """platform = "baremetal"
cluster_domain = "{domain}"
api_vips = [{api}]
ingress_vips = [{ingress}]
[hosted]
enabled = "auto"
advert_interval = {advert}
drain_seconds = 5
ca_file = "/etc/kubernetes/ca.crt"
{hosted}[stages]
configure-ovs = "skip"
"""
KEYFILE = """[connection]
id=uplink
type=ethernet
interface-name=eth0
[ipv4]
method=manual
address1=10.88.0.{host}/24
gateway=10.88.0.1
dns=10.88.0.1;
[ipv6]
method=manual
address1=fd88::{host}/64
gateway=fd88::1
"""


SPARE = """[connection]
id=spare
type=ethernet
interface-name=eth1
[ipv4]
method=disabled
[ipv6]
method=disabled
"""


def authority(directory: Path) -> Mapping[str, str]:
    """Make a CA and a certificate for ``api-int``; return the files of a node."""
    host.ensure_packages({"openssl": "openssl"})
    ca = (directory / "ca.crt", directory / "ca.key")
    api = (directory / "api.crt", directory / "api.key")
    _certificate("/CN=lab ca", *ca)
    names = f"subjectAltName=DNS:api-int.{DOMAIN},DNS:api.{DOMAIN}"
    _certificate("/CN=kube-apiserver", *api, "-CA", ca[0], "-CAkey", ca[1], "-addext", names)
    return {f"/etc/kubernetes/{path.name}": path.read_text() for path in (ca[0], *api)}


def _certificate(subject: str, certificate: Path, key: Path, *options: str | Path) -> None:
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-days", "30"]
    host.call(["openssl", *words, "-subj", subject, "-keyout", key, "-out", certificate, *options])


def cluster(names: Sequence[str], *, workers: int = 0, spec: Mapping[str, str] | None = None) -> str:
    """Return the resource as a file (JSON is YAML) that lists the nodes, the last ones as workers."""
    nodes = [
        {
            "name": name,
            "role": "worker" if number >= len(names) - workers else "control-plane",
            "addresses": [f"10.88.0.{FIRST + number}", f"fd88::{FIRST + number}"],
        }
        for number, name in enumerate(names)
    ]
    return json.dumps(
        {
            "apiVersion": "clusterhostednetservices.operator.io/v1alpha1",
            "kind": "HostedNetServices",
            "metadata": {"name": "cluster"},
            "spec": spec or {},
            "status": {"nodes": nodes},
        }
    )


@dataclass(frozen=True, slots=True)
class Options:
    """How the nodes of a rig differ from the usual ones."""

    nodes: int = 3
    workers: int = 0
    advert: float = 1.0
    both_families: bool = False
    bridge: bool = False
    spare_nic: bool = False
    """Whether each node has a second NIC, eth1, whose cable is out."""
    unlisted: int = 0
    """So many nodes, the last ones, are in no list of the cluster."""
    spec: Mapping[str, str] | None = None
    settings: str = ""
    hosted: str = ""
    """Further lines of the table ``[hosted]``."""
    files: Mapping[str, str] | None = None
    layers: Sequence[Path] = ()
    enable: Sequence[str] = ()
    """Further units of control-plane nodes."""
    worker_layers: Sequence[Path] = ()
    worker_enable: Sequence[str] = ()


class Rig:
    """The nodes of one cluster, on one LAN."""

    def __init__(self, lab: Lab, lan: Lan, product: Path, options: Options = Options()) -> None:
        self.lan = lan
        self.options = options
        self.names = [f"master-{number}" for number in range(options.nodes - options.workers)]
        self.names += [f"worker-{number}" for number in range(options.workers)]
        credentials = authority(lan.state)
        vips = [API, API6], [INGRESS, INGRESS6]
        api, ingress = (", ".join(f'"{vip}"' for vip in (both if options.both_families else both[:1])) for both in vips)
        words = {"domain": DOMAIN, "api": api, "ingress": ingress, "advert": options.advert, "hosted": options.hosted}
        settings = SETTINGS.format(**words)
        if options.bridge:
            settings = settings.replace('configure-ovs = "skip"\n', "")
            settings = f'network_type = "OVNKubernetes"\n{settings}[bridge]\ndatapath = "netdev"\n'
        listed = self.names[: len(self.names) - options.unlisted]
        nics = [lan, lan] if options.spare_nic else [lan]
        self.nodes: dict[str, Node] = {}
        for number, name in enumerate(self.names):
            files = {
                **credentials,
                "/etc/nodenet/nodenet.toml": options.settings + settings,
                FILED: cluster(listed, workers=options.workers, spec=options.spec),
                "/etc/systemd/system/lab-apiserver.service": SERVER_UNIT,
                "/etc/systemd/system/keepalived.service": SWITCHED_OFF,
                "/etc/systemd/system/haproxy.service": SWITCHED_OFF,
                **(options.files or {}),
            }
            master = name.startswith("master")
            further = options.layers if master else (*options.layers, *options.worker_layers)
            layers = [packages(DEFAULT, *PROGRAMS), *further, product]
            node = lab.node(name, nics=nics, layers=layers, files=files, enable=["nodenetd.service"])
            node.write("/usr/local/bin/lab-apiserver", SERVER, 0o755)
            node.write(
                "/etc/NetworkManager/system-connections/uplink.nmconnection",
                KEYFILE.format(host=FIRST + number),
                0o600,
            )
            if options.spare_nic:
                node.write("/etc/NetworkManager/system-connections/spare.nmconnection", SPARE, 0o600)
            if units := ("lab-apiserver.service", *options.enable) if master else options.worker_enable:
                node.enable(*units)
            self.nodes[name] = node

    def boot(self, *names: str) -> None:
        """Boot nodes (all, unless named) and let their companions run."""
        chosen = [self.nodes[name] for name in names or self.names]
        for node in chosen:
            node.boot()
            if self.options.spare_nic:
                node.set_carrier("eth1", up=False)
        for node in chosen:
            self.settle(node.name)

    def settle(self, name: str) -> None:
        """Wait until a booted node is ready and its companion runs."""
        settle(self.nodes[name], timeout=2 * PATIENCE)
        self.nodes[name].run("systemctl start nodenet-hosted.service", timeout=PATIENCE)

    def document(self, name: str) -> dict[str, Any]:
        """Return what ``nodenetctl hosted --json`` reads."""
        text = self.nodes[name].run("cat /run/nodenet/hosted/status.json", check=False).stdout
        found: dict[str, Any] = json.loads(text) if text else {}
        return found

    def holders(self, vip: str = API) -> list[str]:
        """Return the running nodes whose kernel has the VIP."""
        return [name for name, node in self.nodes.items() if node.is_on and has(node, vip)]

    def one_holder(self, vip: str = API, *, timeout: float = PATIENCE) -> str:
        """Wait until exactly one node has the VIP, and return it."""

        def found() -> str | None:
            holders = self.holders(vip)
            return holders[0] if len(holders) == 1 else None

        return eventually(found, f"one holder of {vip}", timeout=timeout)

    def moved(self, away_from: str, vip: str = API, *, timeout: float = PATIENCE) -> str:
        """Wait until exactly one node, another one, has the VIP."""

        def found() -> str | None:
            holders = self.holders(vip)
            return holders[0] if len(holders) == 1 and holders[0] != away_from else None

        return eventually(found, f"{vip} to leave {away_from}", timeout=timeout)

    def ready(self) -> None:
        """Wait until two nodes may hold the API VIP, one of which does: their haproxy is believed."""

        def able() -> bool:
            masters = [node for name, node in self.nodes.items() if name.startswith("master") and node.is_on]
            return len(self.holders()) == 1 and sum(weight(node) in {"20", "25"} for node in masters) > 1

        until(able, "a holder and a candidate", 2 * PATIENCE)

    def quiet(self, *, timeout: float = 2 * PATIENCE) -> str:
        """Wait until one node has the API VIP and every weight is final; return the holder."""
        masters = [node for name, node in self.nodes.items() if name.startswith("master") and node.is_on]
        until(lambda: {weight(node) for node in masters} == {"25"}, "the weights of all", timeout)
        return self.one_holder()


def until(look: Callable[[], object], what: str, timeout: float = PATIENCE) -> None:
    """Wait for a state."""
    eventually(lambda: look() or None, what, timeout=timeout, pause=0.1)


def weight(node: Node) -> str:
    """Return the number that keepalived reads for the API VIP."""
    return node.run("cat /run/nodenet/hosted/api-weight", check=False).stdout.strip()


def links_with(node: Node, vip: str) -> set[str]:
    """Return the links of a node that carry an address."""
    shown = json.loads(host.call(["ip", "-n", node.netns, "-j", "address"]))
    return {str(link["ifname"]) for link in shown if any(info["local"] == vip for info in link["addr_info"])}


def has(node: Node, vip: str) -> bool:
    """Return whether the node's kernel has an address."""
    return bool(links_with(node, vip))
