"""What does a boot test need to know?

A `Lab` owns `Lan`s and `Node`s and takes everything with it when it closes:

    with Lab() as lab:
        lan = lab.lan()
        node = lab.node("worker-0", nics=[lan])
        node.boot()
        node.wait_settled()
        node.run(["ip", "address"])
"""

from harness.host import LabError, eventually, progress
from harness.lab import Lab
from harness.lan import Dhcp, Ipv6, Lan
from harness.node import Node
from harness.product import install_product
from harness.rootfs import Suite
from harness.shell import Shell
from harness.stubs import Flavour, Record

__all__ = [
    "Dhcp",
    "Flavour",
    "Ipv6",
    "Lab",
    "LabError",
    "Lan",
    "Node",
    "Record",
    "Shell",
    "Suite",
    "eventually",
    "install_product",
    "progress",
]
