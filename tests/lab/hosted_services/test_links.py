"""VIPs on the link that carries the node IP, wherever it moves; and a load balancer that the user manages."""

from __future__ import annotations

from pathlib import Path

from dns_questions import ask
from harness import Lab, Lan, Node
from vip_rig import API, DOMAIN, SERVER, Options, Rig, links_with, until


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


def test_an_external_balancer_that_is_dead_at_boot_gives_its_name_to_the_vip(
    lab: Lab, lan: Lan, product: Path, tmp_path: Path
) -> None:
    """For a minute the name leads to it; then the API VIP has the name, degraded, until it answers (K1)."""
    balancer, name = "10.88.0.77", f"api-int.{DOMAIN}"
    rig = Rig(lab, lan, product, Options(nodes=1, spec={"apiintIpAddress": balancer}))
    rig.boot()
    node = rig.nodes["master-0"]
    assert ask(node, name) == f"NOERROR {balancer}"
    until(lambda: ask(node, name) == f"NOERROR {API}", "the VIP to get the name", 180)
    until(lambda: rig.document("master-0")["mode"] == "self-hosted", "the report")
    found = rig.document("master-0")
    assert found["health"] == "degraded"
    problem = (
        f"The external load balancer {balancer} does not answer, and api-int is the API VIP until it does: "
        "see to the load balancer, or remove apiintIpAddress"
    )
    assert problem in found["problems"]
    until(lambda: "nodenet_hosted" in node.run("nft list tables").stdout, "the node's own load balancer")

    script = tmp_path / "balancer.py"
    script.write_text(SERVER.replace("/etc/kubernetes", str(lan.state)).replace("/run/lab-readyz", str(tmp_path / "x")))
    lan.run("ip", "address", "add", f"{balancer}/32", "dev", "br0")
    program = lan.start("python3", script, output=tmp_path / "balancer.log")
    until(lambda: ask(node, name) == f"NOERROR {balancer}", "the name to go back", 180)
    until(lambda: rig.document("master-0")["health"] == "ok", "health")
    program.terminate()
    program.wait()
