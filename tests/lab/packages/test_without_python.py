"""Does a node without any Python do all that nodenet does, in every boot, with the tree that has its own?"""

from __future__ import annotations

import contextlib
import functools
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chain import ON_PREMISES, VIPS, WATCH, WATCHER, chain_node, whole
from factories import installed
from harness import Dhcp, Ipv6, Lab, Node
from harness.product import PACKAGES, PYTHON, Tree
from harness.rootfs import DEFAULT, packages, rootfs
from harness.stubs import STUBS
from ipam_installed import UNIT, call, furnish
from ipam_site import Pod, Site, element
from story import mtu, node_file, settle, stage, status, with_mtu
from vip_rig import FILED, PROGRAMS, SWITCHED_OFF, cluster

if TYPE_CHECKING:
    import pytest

INGRESS_VIP = VIPS[1]
HOSTED = 'hosted.enabled = "auto"\n'
OF_PYTHON = ("nodenetd.service", "nodenet-hosted.service", UNIT)
SERVICES = (*OF_PYTHON, "nodenet-dnsmasq.service", "nodenet-keepalived.service")
NODES_OWN = "#!/usr/bin/python3"
RECORDER = "usr/libexec/lab-record"
PYTHONS = (
    *("usr/bin/*python*", "usr/bin/py3*", "usr/bin/pydoc*", "usr/lib/python3*", "usr/lib/*/libpython*"),
    *("usr/share/python3", "usr/local/lib/python3*"),
)
"""What Debian's Python has in a root file system, beside documentation."""
PROGRAMS_LEFT = (
    f"find / -xdev -name 'python*' -type f -perm /111 -not -path '{PACKAGES}/*' -not -path '/var/lib/dpkg/*'"
)
IMPORT_ALL = f"""
import importlib, pkgutil, sys
sys.path[:0] = ["{PACKAGES}", "{PACKAGES}/bundled"]
import nodenet, libnmstate
names = [found.name for found in pkgutil.walk_packages(nodenet.__path__, "nodenet.")]
for name in names:
    importlib.import_module(name)
print(len(names))
"""


def without_python(layer: Path) -> Path:
    """Return a layer that takes Python away from a node; its stubs use the product's.

    A character device 0/0 is how overlayfs marks a file that is gone (Documentation/filesystems/overlayfs.rst).
    """
    root = rootfs()
    for pattern in PYTHONS:
        for path in root.glob(pattern):
            gone = layer / path.relative_to(root)
            gone.parent.mkdir(parents=True, exist_ok=True)
            os.mknod(gone, stat.S_IFCHR, os.makedev(0, 0))
    recorder = layer / RECORDER
    recorder.parent.mkdir(parents=True)
    recorder.write_text((STUBS / "recorder" / RECORDER).read_text().replace(NODES_OWN, f"#!{PYTHON}"))
    recorder.chmod(0o755)
    return layer


def defined(lab: Lab, site: Site, *layers: Path) -> Node:
    """Return a node that has work for every stage, hosted services and nodenet-ipam; it is off."""
    site.lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE, domain="lab.test"))
    made = functools.partial(lab.node, "worker-0", nics=[site.lan], layers=layers, enable=["nodenetd.service"])
    files = {
        node_file("cluster.yml"): with_mtu(1402),
        FILED: cluster(["worker-0"], workers=1),  # a worker holds the VIP of ingress without an API server
        **{f"/etc/systemd/system/{unit}.service": SWITCHED_OFF for unit in ("haproxy", "keepalived")},
    }
    node = chain_node(made, ON_PREMISES + HOSTED, files=files)
    node.write(WATCH, WATCHER.replace(NODES_OWN, f"#!{PYTHON}"), 0o755)
    furnish(node, site)
    return node


def booted(node: Node) -> dict[str, Any]:
    """Wait until all of nodenet has done its part in this boot; return what must be the same in the next one."""
    settle(node, timeout=90)
    for unit in SERVICES:
        node.wait_until(["systemctl", "is-active", unit])
    node.wait_until(f"ip -4 address show dev br-ex | grep -qF ' {INGRESS_VIP}/'", timeout=60)
    return whole(node, first=True, vips=[INGRESS_VIP])


def test_a_node_without_python(lab: Lab, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Every stage, hosted services and persistent IPs: in the first boot, after a reboot and after a power cut.

    No process of nodenet uses a library of the node.
    """
    with Site(lab, proxy=False) as site, contextlib.closing(site.space()) as space:
        programs, product = packages(DEFAULT, *PROGRAMS), installed(request, kind=Tree.BUNDLED)
        node = defined(lab, site, programs, product, without_python(tmp_path / "layer"))
        node.boot()
        first = booted(node)
        assert node.run(PROGRAMS_LEFT).stdout == ""
        assert stage(status(node), "nmstate")["status"] == "done"
        assert mtu(node) == mtu(node, "br-ex") == 1402
        for unit in OF_PYTHON:
            assert foreign_libraries(node, unit) == set(), unit
        assert int(node.run([PYTHON, "-I", "-c", IMPORT_ALL]).stdout) > 40
        network = site.network()
        space.claim("vm.blue", network)
        addresses = call(node, "add", network, space.pod("pod-1", element(network, "vm.blue")))
        assert addresses == space.ips("vm.blue") != []

        node.reboot()
        assert booted(node) == first
        space.remove_pod(Pod(space.name, "pod-1", ""))
        assert call(node, "add", network, space.pod("pod-2", element(network, "vm.blue"))) == addresses

        node.power_cut()
        node.boot()
        assert booted(node) == first


def foreign_libraries(node: Node, unit: str) -> set[str]:
    """Return the libraries in the memory of a unit's process that are not nodenet's own."""
    maps = node.run(f"cat /proc/$(systemctl show -P MainPID {unit})/maps").stdout
    libraries = {line.split()[-1] for line in maps.splitlines() if ".so" in line}
    assert libraries, unit
    return {path for path in libraries if not path.startswith(f"{PACKAGES}/")}
