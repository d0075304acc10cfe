"""The two steps of day one on one node: keyfiles, then br-ex by a node file that a MachineConfig brought."""

from __future__ import annotations

from pathlib import Path

from br_ex.test_node_file import ADDRESS, AS_DOCUMENTED, FILES, holds
from day_one.artefacts import day_one, keyfiles
from factories import NodeFactory
from harness import Flavour, Lan
from story import NODE_FILES, causes

NODE_FILE = f"{NODE_FILES}/worker-0.yml"
MACHINE_CONFIG = "/root/10-nodenet-worker.yaml"


def test_one_address_from_the_image_through_to_kubelet(product_node: NodeFactory, lan: Lan, tmp_path: Path) -> None:
    """No DHCP. The first boot has the keyfiles alone, as the image has: nodenetd does not run yet.

    Then the MachineConfig is extracted on the node, and nodenetd takes what was in it. The third boot changes nothing.
    """
    lan.stop_dhcp()
    files = {path: text for path, text in FILES.items() if path != NODE_FILE}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT, enable=[])
    node.enable("card.service")
    for path, text in keyfiles(AS_DOCUMENTED, tmp_path, first_step=True).items():
        node.write(path, text, 0o600)
    nodes = tmp_path / "nodes"
    nodes.mkdir()
    (nodes / "worker-0.yml").write_text(AS_DOCUMENTED)
    day_one("machine-config", nodes, "--role", "worker", "--out", tmp_path / "mc.yaml")
    node.write(MACHINE_CONFIG, (tmp_path / "mc.yaml").read_bytes())
    node.boot()
    node.wait_until(f"ip -4 -o address show dev eth0 | grep -F {ADDRESS}/24")
    assert node.addresses("eth0") == [ADDRESS]
    extract = ["nodenetctl", "day-one", "machine-config", "--extract", MACHINE_CONFIG, "--out", NODE_FILES]
    node.run(f"mkdir -p {NODE_FILES}")
    node.run(extract)
    assert node.run(["cat", NODE_FILE]).stdout == AS_DOCUMENTED
    node.off()
    node.enable("nodenetd.service")
    for _ in range(2):
        node.boot()
        holds(node)
        seen = node.record("kubelet").addresses
        carried = {(link["ifname"], info["local"]) for link in seen for info in link["addr_info"]}
        assert ("br-ex", ADDRESS) in carried
        assert ("eth0", ADDRESS) not in carried
        assert causes(node) == []
        node.off()
