"""VIPs on the link that carries the node IP, wherever it moves; and a load balancer that the user manages."""

from __future__ import annotations

from pathlib import Path

from harness import Lab, Lan, Node
from vip_rig import API, Options, Rig, until


def links_with(node: Node, vip: str) -> set[str]:
    """Return the links of a node that carry an address."""
    return {
        str(link["ifname"])
        for link in node.json("ip -j address")
        if any(info["local"] == vip for info in link["addr_info"])
    }


def test_a_vip_follows_the_node_ip_off_br_ex_and_back(lab: Lab, lan: Lan, product: Path) -> None:
    """The holder's bridge is removed and made again under the VIP: one holder, and never on a link below."""
    rig = Rig(lab, lan, product, Options(nodes=2, bridge=True))
    rig.boot()
    holder = rig.quiet()
    assert links_with(rig.nodes[holder], API) == {"br-ex"}
    for order, link in (("remove", "eth0"), ("make", "br-ex")):
        node = rig.nodes[holder]
        node.run(["nodenetctl", "bridge", order], timeout=150)
        until(lambda link=link, node=node: f"interface {link}" in keepalived(node), f"VRRP on {link}")  # type: ignore[misc]
        until(lambda link=link, node=node: placed(rig, node, link), f"the VIP on {link}")  # type: ignore[misc]
        holder = rig.quiet()
        assert placed(rig, node, link)


def placed(rig: Rig, changed: Node, link: str) -> bool:
    """Return whether the VIP is on *link* of the node that was changed, or on the bridge of the other one."""
    holder = rig.nodes[rig.one_holder()]
    return links_with(holder, API) == {link if holder is changed else "br-ex"}


def keepalived(node: Node) -> str:
    return node.run("cat /run/nodenet/hosted/keepalived.conf").stdout


def test_a_load_balancer_of_the_user_leaves_names_only(lab: Lab, lan: Lan, product: Path) -> None:
    rig = Rig(lab, lan, product, Options(nodes=1, settings="user_managed_lb = true\n"))
    rig.boot()
    node = rig.nodes["master-0"]
    until(lambda: rig.document("master-0").get("mode") == "external", "the report")
    for unit in ("nodenet-keepalived", "nodenet-haproxy"):
        assert node.run(f"systemctl is-active {unit}", check=False).stdout == "inactive\n"
    assert "nodenet_hosted" not in node.run("nft list tables").stdout
    assert API not in node.run("ip -br address").stdout
    assert not any(vip["candidate"] for vip in rig.document("master-0")["vips"])
    assert "api-int.c1.example.com" in node.run("cat /run/nodenet/hosted/hosts").stdout
