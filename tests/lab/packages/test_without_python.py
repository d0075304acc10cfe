"""Does a node without any Python boot through every stage, with the tree that has its own?"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from chain import WATCH, WATCHER, chain_node, hold_vips, whole
from factories import NodeFactory, installed
from harness import Dhcp, Ipv6, Lan
from harness.product import PACKAGES, PYTHON, Tree
from harness.rootfs import rootfs
from harness.stubs import STUBS
from story import mtu, node_file, settle, stage, with_mtu

if TYPE_CHECKING:
    import pytest

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


def test_a_node_without_python(
    product_node: NodeFactory, lan: Lan, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Host name, node file, DNS, node IP, br-ex and kubelet; nodenetd uses no library of the node."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE, domain="lab.test"))
    hold_vips(lan)
    layers = [installed(request, kind=Tree.BUNDLED), without_python(tmp_path / "layer")]
    node = chain_node(product_node, layers=layers, files={node_file("cluster.yml"): with_mtu(1402)})
    node.write(WATCH, WATCHER.replace(NODES_OWN, f"#!{PYTHON}"), 0o755)
    node.boot()
    whole(node)
    assert node.run(PROGRAMS_LEFT).stdout == ""
    assert stage(settle(node), "nmstate")["status"] == "done"
    assert mtu(node) == mtu(node, "br-ex") == 1402
    maps = node.run("cat /proc/$(systemctl show -P MainPID nodenetd.service)/maps").stdout
    libraries = {line.split()[-1] for line in maps.splitlines() if ".so" in line}
    assert libraries
    assert {path for path in libraries if not path.startswith(f"{PACKAGES}/")} == set()
    assert int(node.run([PYTHON, "-I", "-c", IMPORT_ALL]).stdout) > 40
