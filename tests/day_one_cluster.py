"""A cluster of any size for day one: a node file for each host, and an install-config with all of them."""

from __future__ import annotations

from ipaddress import IPv4Address
from pathlib import Path

SEED = Path(__file__).parents[1] / "fixtures" / "day_one" / "seed"
HEAD = """baseDomain: example.com
networking:
  networkType: OVNKubernetes
  machineNetwork:
  - cidr: 10.20.0.0/16
metadata:
  name: big
platform:
  baremetal:
    apiVIPs:
    - 10.20.0.2
    hosts:
"""
TAIL = "sshKey: |\n  ssh-ed25519 AAAA\npullSecret: '{\"auths\": {}}'\n"


def write(directory: Path, hosts: int) -> tuple[Path, Path]:
    """Write node files and install-config below *directory*; return the folder and the file."""
    nodes = directory / "nodes"
    nodes.mkdir(parents=True)
    second = (SEED / "br-ex" / "master-0.yml").read_text()
    first = (SEED / "ostest-master-0.yml").read_text()
    parts = [HEAD]
    for number in range(hosts):
        (nodes / f"worker-{number}.yml").write_text(_of_host(second, number))
        config = "".join(f"        {line}\n" for line in _of_host(first, number).splitlines())
        mac = f"52:54:00:{number >> 16:02x}:{number >> 8 & 255:02x}:{number & 255:02x}"
        parts.append(
            f"    - name: worker-{number}\n      role: worker\n      bmc:\n"
            f"        address: redfish-virtualmedia+http://192.0.2.1/redfish/v1/Systems/{number}\n"
            f"        username: admin\n        password: hunter2\n      bootMACAddress: {mac}\n"
            f"      networkConfig:\n{config}"
        )
    path = directory / "install-config.yaml"
    path.write_text("".join([*parts, TAIL]))
    return nodes, path


def _of_host(text: str, number: int) -> str:
    """Return a document of the seed with the address of host *number*, in a network that is large enough."""
    text = text.replace("192.168.111.110", str(IPv4Address("10.20.1.0") + number))
    return text.replace("192.168.111.1\n", "10.20.0.1\n").replace("prefix-length: 24", "prefix-length: 16")
