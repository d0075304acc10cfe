"""Who is asked first, and a DNS server to be asked, on a node."""

from __future__ import annotations

from harness import Node
from story import status

RESOLVER = "/usr/local/bin/lab-resolver"
ANSWERS = """#!/usr/bin/python3
import socket, sys
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind((sys.argv[1], 53))
while True:
    query, sender = server.recvfrom(512)
    server.sendto(query[:2] + b"\\x81\\x82" + query[4:], sender)
"""
"""A DNS server for one address that answers everything with SERVFAIL: it is there, and that is all."""


def resolv_conf(node: Node) -> str:
    """Return what programs of the node read."""
    return node.run("cat /etc/resolv.conf").stdout


def servers(text: str) -> list[str]:
    """Return the name servers that *text* names."""
    return [line.split()[1] for line in text.splitlines() if line.startswith("nameserver ")]


def start_resolver(node: Node) -> str:
    """Let a DNS server answer on the node IP; return the address."""
    (node_ip, *_) = status(node)["node_ips"]
    node.run(f"systemd-run --unit=lab-resolver {RESOLVER} {node_ip}")
    return str(node_ip)


def until_first(node: Node, address: str, timeout: float = 20) -> None:
    """Wait until look-ups ask *address* first."""
    node.wait_until(f"grep -m1 ^nameserver /etc/resolv.conf | grep -qx 'nameserver {address}'", timeout=timeout)
