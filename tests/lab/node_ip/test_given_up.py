"""A neighbour that answers duplicate address detection keeps the node from its address only while it does."""

from __future__ import annotations

from pathlib import Path

from factories import NodeFactory
from harness import Dhcp, Flavour, Lan
from story import settle

ONLY_IPV6 = """[connection]
id=uplink
uuid=6f1c1f0e-6a7b-4b4e-9d36-27a38ac0f0ac
type=ethernet
interface-name=eth0
[ipv4]
method=disabled
[ipv6]
method=auto
"""
KEYFILE = "/etc/NetworkManager/system-connections/uplink.nmconnection"
SETTINGS = "/etc/nodenet/nodenet.toml.d/10-lab.toml"
CLAIMS = r"""
import socket, struct

MAC = bytes.fromhex("02005e100009")


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x86DD)) as lan:
    lan.bind(("br0", 0x86DD))
    while True:
        frame = lan.recv(2048)
        header, source, message = frame[14:22], frame[22:38], frame[54:]
        if header[6] != 58 or message[0] != 135 or any(source):  # only duplicate address detection has no source
            continue
        wanted, everybody = message[8:24], socket.inet_pton(socket.AF_INET6, "ff02::1")
        body = struct.pack("!BBHI", 136, 0, 0, 1 << 29) + wanted + b"\x02\x01" + MAC
        pseudo = wanted + everybody + struct.pack("!II", len(body), 58)
        body = body[:2] + struct.pack("!H", checksum(pseudo + body)) + body[4:]
        ip = struct.pack("!IHBB", 6 << 28, len(body), 58, 255) + wanted + everybody
        lan.send(bytes.fromhex("333300000001") + MAC + b"\x86\xdd" + ip + body)
        print(socket.inet_ntop(socket.AF_INET6, wanted), flush=True)
"""


def test_the_node_is_well_soon_after_the_neighbour_has_gone(
    product_node: NodeFactory, lan: Lan, tmp_path: Path
) -> None:
    """NetworkManager tries four times, and would rest for five minutes then; the wait says that it has given up."""
    lan.start_dhcp(Dhcp(ipv4=False))
    neighbour = lan.start("python3", "-u", "-c", CLAIMS, output=tmp_path / "claims.log")
    files = {SETTINGS: 'families = ["ipv6"]\n[stages]\nconfigure-ovs = "skip"\n'}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.write(KEYFILE, ONLY_IPV6, 0o600)
    node.boot()
    node.wait_until("nodenetctl status | grep -q 'could not activate eth0 and has given up'", timeout=40)
    assert "fe80::" in (tmp_path / "claims.log").read_text()
    assert not node.started("kubelet")
    neighbour.terminate()
    neighbour.wait()
    node.wait_until("nodenetctl status --json | grep -q '\"ready\": *true'", timeout=60)
    assert settle(node)["health"] == "ok"
