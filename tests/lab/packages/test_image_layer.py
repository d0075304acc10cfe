"""Does a node boot from an image with nodenet as a layer, built from the Containerfile?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from factories import NO_BRIDGE, installed
from harness import Flavour, Lab, Lan
from harness.product import PACKAGES, Tree
from images import ROOT, Images
from story import causes, ready_monotonic, settle

if TYPE_CHECKING:
    import pytest

CONTAINERFILE = ROOT / "packaging/image/Containerfile"


def test_a_node_boots_from_the_image(images: Images, lab: Lab, lan: Lan, request: pytest.FixtureRequest) -> None:
    """The build enables nodenetd and makes the users; in the first boot kubelet starts behind nodenetd."""
    image = images.build(CONTAINERFILE, installed(request, kind=Tree.BUNDLED))
    node = lab.node("worker-0", nics=[lan], layers=[images.mounted(image)], flavour=Flavour.OPENSHIFT, files=NO_BRIDGE)
    node.boot()
    document = settle(node)
    assert (document["health"], document["ready"]) == ("ok", True), causes(node)
    kubelet = node.record("kubelet")
    assert kubelet.monotonic > ready_monotonic(node)
    assert kubelet.environment["KUBELET_NODE_IP"] == document["node_ips"][0]
    assert node.run("systemctl is-enabled nodenetd.service nodenet-ready.service").stdout == "enabled\nenabled\n"
    node.run(f"grep -q {PACKAGES}/python/ /proc/$(systemctl show -P MainPID nodenetd.service)/maps")
    node.run("getent passwd nodenet-dnsmasq nodenet-keepalived nodenet-haproxy")
