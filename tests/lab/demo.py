"""The main job on a node that really boots, told as it happens: what `make demo` runs."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from harness import Flavour, Lab, LabError, Node, install_product
from story import CRIO, KUBELET, NODE_FILES, RUN, STATIC, node_file, settle

WIDTH = 78


def main() -> int:
    """Boot, show, edit, reload, refuse, clean up; return 0 when all of it went as it should."""
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
    show(node, f"ls -l {NODE_FILES}")
    show(node, "nodenetctl status")

    title("What the journal tells of it")
    show(node, "journalctl -b -u nodenetd -o cat --no-pager")

    title("What is published, and what kubelet and CRI-O got")
    show(node, f"grep -H . {RUN}/* {KUBELET} {CRIO}")
    wanted = {name: value for name, value in kubelet.environment.items() if name.startswith("KUBELET_")}
    print("kubelet's environment:", json.dumps(wanted))
    crio = node.record("crio").environment
    print("CRI-O's environment:  ", json.dumps({"CONTAINER_STREAM_ADDRESS": crio.get("CONTAINER_STREAM_ADDRESS")}))
    show(node, "nodenetctl explain node-ip")

    title("An edit: a second address; `systemctl reload nodenetd` puts it in force")
    second = '    - ip: "10.88.0.50"\n      prefix-length: 24\n    - ip: "10.88.0.77"\n      prefix-length: 24\n'
    node.write(node_file("worker-0.yml"), STATIC.replace('    - ip: "10.88.0.50"\n      prefix-length: 24\n', second))
    show(node, "ip -br -4 address show dev eth0; systemctl reload nodenetd; ip -br -4 address show dev eth0")

    title("A bad file is refused, and everything stays as it is")
    node.write(node_file("worker-0.yml"), STATIC.replace("prefix-length: 24", "prefix-lenght: 24"))
    show(node, "systemctl reload nodenetd; echo exit code $?; ip -br -4 address show dev eth0; nodenetctl status")


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
