"""What is asked of every boot: how it stands, what it told, what it left behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness import Shell, eventually
from harness.product import PACKAGES, REPOSITORY

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "node_file"
NODE_FILES = "/etc/nmstate/openshift"
STATIC = (FIXTURES / "static.yml").read_text()
BRIDGE = (FIXTURES / "br-ex.yml").read_text()
CLUSTER = (FIXTURES / "cluster.yml").read_text()
KUBELET = "/etc/systemd/system/kubelet.service.d/20-nodenet.conf"
CRIO = "/etc/systemd/system/crio.service.d/20-nodenet.conf"
RUN = "/run/nodeip-configuration"
OURS = (NODE_FILES, "/var/lib/nodenet", KUBELET, CRIO)
"""Where nodenetd writes on the disk."""


def with_mtu(mtu: int) -> str:
    """Return a node file whose application shows: DHCP as before, and *mtu* on eth0."""
    return CLUSTER.replace("1401", str(mtu))


def shorter(changes: dict[str, tuple[str, str]]) -> dict[str, str]:
    """Return modules of nodenetd for the disk of a node, with another time: path → its line, and the new line."""
    files = {}
    for path, (line, less) in changes.items():
        text = (REPOSITORY / "daemon" / path).read_text()
        assert text.count(f"{line}\n") == 1, (path, line)
        files[f"{PACKAGES}/{path}"] = text.replace(f"{line}\n", f"{less}\n")
    return files


def node_file(name: str) -> str:
    """Return the path of a node file on a node."""
    return f"{NODE_FILES}/{name}"


def status(node: Shell) -> dict[str, Any]:
    """Return the status document."""
    document: dict[str, Any] = json.loads(node.run(["nodenetctl", "status", "--json"], check=False).stdout)
    return document


def settle(node: Shell, *, timeout: float = 60) -> dict[str, Any]:
    """Wait until the daemon is ready or has failed; return the status document."""
    node.wait_until("test -e /run/nodenet/state.json", timeout=timeout)
    text = node.run(["nodenetctl", "status", "--wait", "--json"], check=False, timeout=timeout).stdout
    document: dict[str, Any] = json.loads(text)
    return document


def stage(document: dict[str, Any], name: str) -> dict[str, Any]:
    """Return one stage of a status document."""
    return next(stage for stage in document["stages"] if stage["name"] == name)


def lease_confirmed(node: Shell, *, timeout: float = 60) -> None:
    """Wait until br-ex does not wait for its lease any more; kubelet need not wait for that."""
    unconfirmed = "until the DHCP server confirms it"
    eventually(
        lambda: unconfirmed not in str(stage(settle(node), "configure-ovs")["detail"]),
        "the lease of br-ex",
        timeout=timeout,
    )


def story(node: Shell, boot: int = 0) -> list[dict[str, Any]]:
    """Return what nodenetd told the journal."""
    return [entry for entry in node.journal(boot=boot) if entry.get("SYSLOG_IDENTIFIER") == "nodenetd"]


def causes(node: Shell) -> list[str]:
    """Return the cause lines of this boot: one for each failure, and nothing else is an error."""
    return [str(entry["MESSAGE"]) for entry in story(node) if int(entry["PRIORITY"]) <= 3]


def told_of_cycles(node: Shell) -> list[str]:
    """Return what pid 1 told of ordering cycles in this boot."""
    messages = [str(entry.get("MESSAGE")) for entry in node.journal() if entry.get("_PID") == "1"]
    return [message for message in messages if "ordering cycle" in message or "break ordering" in message]


def mtu(node: Shell, link: str = "eth0") -> int:
    """Return the MTU in force."""
    return int(node.json(["ip", "-j", "link", "show", "dev", link])[0]["mtu"])


def network(node: Shell) -> dict[str, Any]:
    """Return everything about the network that a refused file must leave as it was."""
    return {
        "addresses": sorted(
            (link["ifname"], info["local"], info["prefixlen"])
            for link in node.json("ip -j address")
            for info in link["addr_info"]
        ),
        "routes": sorted(
            (
                (route["dst"], route.get("gateway"), route["dev"], route.get("metric"))
                for route in node.json("ip -j route")
            ),
            key=str,  # one route may have a metric or a gateway, and its like none
        ),
        "resolv.conf": node.run("cat /etc/resolv.conf").stdout,
        "profiles": node.run("nmcli -t -f NAME,UUID,TYPE,DEVICE connection | sort").stdout,
        "keyfiles": node.run("sha256sum /etc/NetworkManager/system-connections/* 2>/dev/null || true").stdout,
    }


def disk_times(node: Shell) -> str:
    """Return modification times of all that nodenetd may write on the disk."""
    return node.run(f"find {' '.join(OURS)} -printf '%p %T@\n' 2>/dev/null | sort").stdout


def checkpoints(node: Shell) -> str:
    """Return NetworkManager's pending checkpoints."""
    name = "org.freedesktop.NetworkManager"
    return node.run(f"busctl get-property {name} /org/freedesktop/NetworkManager {name} Checkpoints").stdout.strip()


def nothing_left(node: Shell) -> None:
    """Assert that no temporary file and no checkpoint of ours is left."""
    strays = node.run(f"find /etc /run/nodenet {RUN} /var/lib/nodenet -name '.nodenet-*'", check=False).stdout
    assert strays == ""
    assert checkpoints(node) == "ao 0"


def ready_monotonic(node: Shell) -> float:
    """Return when systemd took nodenetd for started, in seconds of CLOCK_MONOTONIC."""
    shown = node.run("systemctl show -p ActiveEnterTimestampMonotonic --value nodenetd").stdout
    return int(shown) / 1e6
