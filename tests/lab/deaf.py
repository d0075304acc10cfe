"""A node file that is valid and verified, and with which the node never has an address."""

from __future__ import annotations

from harness import Shell

SETTINGS = {"/etc/nodenet/nodenet.toml.d/20-lab.toml": "probe_timeout = 0\ngood_after = 1\n"}
DEAF = """interfaces:
- name: eth0
  type: ethernet
  state: up
  ipv4: {enabled: false}
  ipv6: {enabled: false}
"""
CAUSE = (
    "2 boots in a row with worker-0.yml did not reach READY or ended soon after it: the last known good worker-0.yml "
    "is used in its place"
)


def wait_deaf(node: Shell, *, timeout: float = 60) -> None:
    """Wait until the file is applied and the node waits for an address."""
    node.wait_until(
        'grep -q \'"phase": "good"\' /var/lib/nodenet/intent.json && ! ip route | grep -q default', timeout=timeout
    )
    node.wait_until('nodenetctl status --json | grep -q \'"stage": "nodeip"\'', timeout=timeout)
