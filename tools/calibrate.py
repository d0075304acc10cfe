"""Boot the nodes that the simulated world is compared with, write their stories (root): `python tools/calibrate.py`.

The tests compare fixtures/simulation with the same nodes in the simulated world.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1] / place) for place in ("tests/lab", "tests", "daemon")]

from harness import Dhcp, Flavour, Ipv6, Lab, LabError, install_product
from harness import Node as LabNode
from nodenet.core.messages import Message
from simulation.calibration import CASES, STORIES, Case, ending, story
from simulation.scenario import node_file, settings_text
from story import NODE_FILES, settle, status
from story import story as entries_of

CALM_SECONDS = 15.0
ADDRESSES = {"": Ipv6.NONE, "dhcp": Ipv6.DHCP}
"""What the LAN gives a node, by its ``ipv6``; else a router announces a prefix."""
KEYFILE = """[connection]
id=uplink
uuid=b0000000-0000-4000-8000-000000000001
type=ethernet
interface-name=eth0
[ipv4]
method=manual
address1=10.88.0.50/24
gateway=10.88.0.1
[ipv6]
method=disabled
"""


def adapted(text: str) -> str:
    """Return *text* with the addresses of the lab."""
    return text.replace("192.0.2.5", "10.88.0.50").replace("192.0.2.", "10.88.0.")


def files_of(case: Case) -> dict[str, str]:
    """Return the files that a case puts on the node's disk."""
    bridge = '[bridge]\ndatapath = "netdev"\n' if case.node.kernel_datapath else ""
    files = {"/etc/nodenet/nodenet.toml.d/10-lab.toml": adapted(settings_text(case.node)) + bridge}
    if case.node.profile == "static":
        files["/etc/NetworkManager/system-connections/uplink.nmconnection"] = KEYFILE
    if case.node.file:
        name = "worker-0" if case.node.of_host else "cluster"
        text = adapted(node_file(case.node.file))
        if case.node.file == "bridge":
            document = json.loads(text)
            document["interfaces"][1]["bridge"]["options"] = {"datapath": "netdev"}
            text = json.dumps(document)
        files[f"{NODE_FILES}/{name}.yml"] = text
    return files


def take_step(node: LabNode, step: str) -> None:
    """Do with a ready node what the case says."""
    match step:
        case "kill":
            node.run("systemctl kill --signal=KILL --kill-whom=main nodenetd")
        case "reboot":
            node.reboot()
        case "reload":
            node.run("systemctl reload nodenetd", timeout=60)
        case "bridge-remove":
            node.run("nodenetctl bridge remove", timeout=60)
        case "manager-crashes":
            node.run("systemctl kill --signal=KILL --kill-whom=main NetworkManager")
    time.sleep(CALM_SECONDS)
    settle(node)


def told(lab: Lab, case: Case, product: Path) -> dict[str, Any]:
    """Return the story of *case* on a booted node."""
    lan = lab.lan(dhcp=Dhcp(ipv6=ADDRESSES.get(case.node.ipv6, Ipv6.SLAAC)))
    node = lab.node(
        nics=[lan], layers=[product], enable=["nodenetd.service"], flavour=Flavour.OPENSHIFT, files=files_of(case)
    )
    node.boot()
    settle(node)
    time.sleep(3.0)
    if case.step:
        take_step(node, case.step)
    boots = (-1, 0) if case.step == "reboot" else (0,)
    entries = [entry for boot in boots for entry in entries_of(node, boot)]
    known = {message.value: message for message in Message}
    lines = [(known[entry["MESSAGE_ID"]], entry.get("STAGE", "")) for entry in entries if "MESSAGE_ID" in entry]
    return ending(status(node)) | {"story": story(lines)}


def main() -> int:
    """Write the stories of all cases, or of those that are named; return 1 where a boot fails."""
    STORIES.mkdir(exist_ok=True)
    product, failed = install_product(), 0
    for name in sys.argv[1:] or CASES:
        try:
            with Lab() as lab:
                found = told(lab, CASES[name], product)
        except LabError as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed = 1
            continue
        (STORIES / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")
        print(f"{name}: {len(found['story'])} messages", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
