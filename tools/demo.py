"""The main job on a node that really boots, shown step by step: `make demo` runs this."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "lab"))

from harness import Flavour, Lab, LabError, Node, install_product
from story import CRIO, KUBELET, NODE_FILES, RUN, STATIC, node_file, settle

WIDTH = 78
SETTINGS = "/etc/nodenet/nodenet.toml.d/10-demo.toml"
BRIDGED = 'network_type = "OVNKubernetes"\n[bridge]\ndatapath = "netdev"\n'
"""The lab has no Open vSwitch in its kernel."""


def main() -> int:
    """Boot, show, edit, reload, refuse, clean up; return 0 when every step went as it should."""
    try:
        with Lab() as lab:
            _demo(_node(lab))
    except LabError as error:
        print(error, file=sys.stderr)
        return 1
    title("Everything is cleaned up again")
    return 0


def _node(lab: Lab) -> Node:
    product = install_product()
    lan = lab.lan()
    files = {
        node_file("cluster.yml"): STATIC.replace("10.88.0.50", "10.88.0.99"),
        node_file("worker-0.yml"): STATIC,
        SETTINGS: BRIDGED,
    }
    return lab.node(
        "worker-0",
        nics=[lan],
        layers=[product],
        enable=["nodenetd.service"],
        flavour=Flavour.OPENSHIFT,
        files=files,
    )


def _demo(node: Node) -> None:
    title("A node boots: worker-0, with one NIC, systemd, NetworkManager, Open vSwitch")
    began = time.monotonic()
    node.boot()
    settle(node)
    kubelet = node.record("kubelet")
    print(f"Kubelet was started {time.monotonic() - began:.1f} s after the power button.")

    title(f"Two node files lie in {NODE_FILES}; the one of this host's name is taken")
    show(node, f"ls {NODE_FILES}; cat {SETTINGS}")
    show(node, "nodenetctl status")

    title("What the journal shows")
    show(node, "journalctl -b -u nodenetd -o cat --no-pager")

    title("Why this address, and why this link below br-ex")
    show(node, "nodenetctl explain node-ip")
    show(node, "nodenetctl explain br-ex | head -4; ovs-vsctl list-ports br-ex; ip -br -4 address; ip route")

    title("What is published, and what kubelet and CRI-O got")
    show(node, f"grep -H . {RUN}/* {KUBELET} {CRIO}")
    wanted = {name: value for name, value in kubelet.environment.items() if name.startswith("KUBELET_")}
    print("kubelet's environment:", json.dumps(wanted))
    crio = node.record("crio").environment
    print("CRI-O's environment:  ", json.dumps({"CONTAINER_STREAM_ADDRESS": crio.get("CONTAINER_STREAM_ADDRESS")}))

    title("Where the time of this boot went")
    node.wait_settled()
    show(node, "nodenetctl boot-report")
    _edits(node)


def _edits(node: Node) -> None:
    """Reload with another setting, then with a bad file."""
    title("An edit: virtual addresses; `systemctl reload nodenetd` puts them in force, br-ex is not touched")
    node.write(SETTINGS, f'platform = "baremetal"\napi_vips = ["10.88.0.5"]\n{BRIDGED}')
    show(node, "systemctl reload nodenetd; nodenetctl status")

    title("A bad file is refused, and everything stays as it is")
    node.write(node_file("worker-0.yml"), STATIC.replace("prefix-length: 24", "prefix-lenght: 24"))
    show(node, "systemctl reload nodenetd; echo exit code $?; ip -br -4 address; nodenetctl status")


def title(text: str) -> None:
    """Print a heading."""
    print(f"\n== {text} {'=' * max(0, WIDTH - 4 - len(text))}", flush=True)


def show(node: Node, command: str) -> None:
    """Run a command on the node and print it with what it says."""
    done = node.run(f"{{ {command}; }} 2>&1", check=False, timeout=120)
    for line in command.split("; "):
        print(f"worker-0# {line}")
    print(done.stdout.rstrip(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
