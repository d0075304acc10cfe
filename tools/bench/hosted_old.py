"""Three lab nodes with the stack that nodenet replaces, as tests/lab/former_stack.py has it."""

from __future__ import annotations

from former_stack import COMMANDS, files_of, install
from harness import Lab, Lan, eventually
from harness.rootfs import DEFAULT, packages
from vip_rig import FIRST, KEYFILE, PROGRAMS, SERVER, SERVER_UNIT, SWITCHED_OFF, Options, Rig, authority, until

NODES = 3
PROFILES = "/etc/NetworkManager/system-connections"
ROUTER_ID = 14


class OldRig(Rig):
    """The nodes; what a test or a measure asks of them is the same as of nodenet's."""

    def __init__(self, lab: Lab, lan: Lan) -> None:
        self.lan = lan
        self.options = Options(nodes=NODES)
        self.names = [f"master-{number}" for number in range(NODES)]
        self.nodes = {}
        addresses = {name: f"10.88.0.{FIRST + number}" for number, name in enumerate(self.names)}
        credentials = authority(lan.state)
        layer = packages(DEFAULT, *PROGRAMS, "curl")
        for name, own in addresses.items():
            files = {
                **credentials,
                "/etc/systemd/system/lab-apiserver.service": SERVER_UNIT,
                "/etc/systemd/system/keepalived.service": SWITCHED_OFF,
                "/etc/systemd/system/haproxy.service": SWITCHED_OFF,
            }
            node = lab.node(name, nics=[lan], layers=[layer], files=files)
            node.write("/usr/local/bin/lab-apiserver", SERVER, 0o755)
            install(node, files_of(name, addresses, ROUTER_ID))
            host = int(own.rpartition(".")[2])
            node.write(f"{PROFILES}/uplink.nmconnection", KEYFILE.format(host=host), 0o600)
            node.enable("lab-apiserver.service", *(f"{unit}.service" for unit in COMMANDS))
            self.nodes[name] = node

    def settle(self, name: str) -> None:
        """Wait until the node's redirect is there: haproxy answers, and keepalived runs."""
        node = self.nodes[name]
        eventually(lambda: node.run("test -e /run/lab-redirect", check=False).returncode == 0 or None, "it", timeout=90)

    def ready(self) -> None:
        """Wait until two nodes serve, one of which has the VIP."""
        mark = ["test", "-e", "/run/lab-redirect"]

        def able() -> bool:
            running = [node for node in self.nodes.values() if node.is_on]
            return len(self.holders()) == 1 and sum(node.run(mark, check=False).returncode == 0 for node in running) > 1

        until(able, "a holder and a candidate", 180)

    def quiet(self, *, timeout: float = 120) -> str:
        """Wait until one node has the VIP and each running one serves; return the holder."""
        for name, node in self.nodes.items():
            if node.is_on:
                self.settle(name)
        return self.one_holder(timeout=timeout)
