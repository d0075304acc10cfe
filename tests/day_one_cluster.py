"""A cluster of any size for day one: a node file for each host, and an install-config with all of them."""

from __future__ import annotations

from ipaddress import IPv4Address
from pathlib import Path

SEED = Path(__file__).parents[1] / "fixtures" / "day_one" / "seed"
SECOND = SEED / "br-ex" / "master-0.yml"
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
    second = SECOND.read_text()
    first = (SEED / "ostest-master-0.yml").read_text()
    parts = [HEAD]
    for number in range(hosts):
        (nodes / f"worker-{number}.yml").write_text(_with(second, _address(number)))
        config = "".join(f"        {line}\n" for line in _with(first, _address(number)).splitlines())
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


def write_table(directory: Path, hosts: int) -> Path:
    """Write one file for all hosts and the table of their addresses to *directory*, and return it."""
    directory.mkdir(parents=True)
    (directory / "cluster.yml").write_text(_with(SECOND.read_text(), "$(address)"))
    rows = "".join(f"worker-{number},{_address(number)}\n" for number in range(hosts))
    (directory / "hosts.csv").write_text(f"host,address\n{rows}")
    return directory


def _address(number: int) -> str:
    return str(IPv4Address("10.20.1.0") + number)


def _with(text: str, address: str) -> str:
    """Return a document of the seed with *address*, in a network that is large enough."""
    text = text.replace("192.168.111.110", address)
    return text.replace("192.168.111.1\n", "10.20.0.1\n").replace("prefix-length: 24", "prefix-length: 16")
