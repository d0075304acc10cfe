"""Who may hold a VIP: splits, strangers, another stack, and API servers that fail; each seen on the wire and healed."""

from __future__ import annotations

from pathlib import Path

from harness import Lab, Lan, Node
from vip_rig import API, FIRST, READYZ, Options, Rig, until

FOREIGN = """vrrp_instance foreign {
    state BACKUP
    interface eth0
    virtual_router_id 200
    priority 10
    virtual_ipaddress {
        10.88.0.99/32
    }
}
"""
PIDS = "-p /run/lab-foreign.pid -r /run/lab-foreign-vrrp.pid"
FILTER = "table inet lab_split"


def deaf_to(node: Node, host: int) -> None:
    """Let a node receive no VRRP of another one."""
    rule = f"ip saddr 10.88.0.{host} ip protocol 112 drop"
    chain = f"chain in {{\ntype filter hook input priority 0\n{rule}\n}}"
    node.run(["nft", "-f", "-"], stdin=f"{FILTER} {{\n{chain}\n}}\n")


def messages(node: Node) -> list[str]:
    return [str(entry["MESSAGE"]) for entry in node.journal() if entry.get("SYSLOG_IDENTIFIER") == "nodenet-hosted"]


def test_a_split_is_named_and_ends_with_its_cause(lab: Lab, lan: Lan, product: Path) -> None:
    """VRRP filtered between two nodes: both say who answers, and VRRP ends it as soon as it passes."""
    rig = Rig(lab, lan, product, Options(nodes=2))
    rig.boot()
    holder = rig.quiet()
    other = next(name for name in rig.names if name != holder)
    pair = [rig.nodes[holder], rig.nodes[other]]
    numbers = [FIRST + rig.names.index(name) for name in (holder, other)]
    deaf_to(pair[0], numbers[1])
    deaf_to(pair[1], numbers[0])
    until(lambda: len(rig.holders()) == 2, "two holders")
    named = f"The VIP {API} has 2 holders, {holder} and {other} ({pair[1].mac()}): look for filtered VRRP"
    until(lambda: any(named in text for text in rig.document(holder)["problems"]), "the names")
    assert any("has 2 holders" in line for node in pair for line in messages(node))
    for node in pair:
        node.run(["nft", "delete", *FILTER.split()])
    until(lambda: len(rig.holders()) == 1, "one holder again")
    until(lambda: rig.document(rig.one_holder())["health"] == "ok", "health")


def test_what_moves_a_vip_and_what_never_does(lab: Lab, lan: Lan, product: Path) -> None:
    """All API servers down, slow, back: it stays. That of the holder alone: it moves. Another stack: ours goes."""
    rig = Rig(lab, lan, product)
    rig.boot()
    holder = rig.quiet()

    for word in ("500", "slow"):
        for node in rig.nodes.values():
            node.run(["sh", "-c", f"echo {word} > {READYZ}"])
        candidates = [node for name, node in rig.nodes.items() if name != holder]
        until(lambda nodes=candidates: all(map(weight_below, nodes)), f"weights with {word}", 180)  # type: ignore[misc]
        assert rig.holders() == [holder], f"all API servers {word}"
        for node in rig.nodes.values():
            node.run(["rm", READYZ])
        assert rig.quiet() == holder, f"all back after {word}"

    rig.nodes[holder].run(["sh", "-c", f"echo 500 > {READYZ}"])
    second = rig.moved(holder)
    rig.nodes[holder].run(["rm", READYZ])
    assert rig.quiet() == second, "no way back"

    manifest = "/etc/kubernetes/manifests/keepalived.yaml"
    node = rig.nodes[second]
    node.run(f"mkdir -p {Path(manifest).parent} && touch {manifest}")
    third = rig.moved(second)
    until(lambda: rig.document(second)["phase"] == "WaitingForPeerStack", "the state")
    node.run(["rm", manifest])
    until(lambda: node.run("systemctl is-active nodenet-keepalived", check=False).stdout == "active\n", "it to return")
    assert rig.quiet() == third

    # A keepalived that is not ours begins to speak VRRP while ours holds the VIP.
    node = rig.nodes[third]
    node.write("/etc/lab-foreign.conf", FOREIGN)
    node.run(f"systemd-run --unit=lab-foreign keepalived -n -P -l -f /etc/lab-foreign.conf {PIDS}")
    fourth = rig.moved(third)
    until(lambda: rig.document(third)["phase"] == "WaitingForPeerStack", "the state")
    assert any("another program of this node speaks VRRP" in one for one in rig.document(third)["problems"])
    node.run("systemctl stop lab-foreign")
    until(lambda: node.run("systemctl is-active nodenet-keepalived", check=False).stdout == "active\n", "it to return")
    assert rig.quiet() == fourth


def weight_below(node: Node) -> bool:
    return int(node.run("cat /run/nodenet/hosted/api-weight").stdout) < 25
