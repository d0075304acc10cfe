"""What an earlier node file has left over is said, and removed on request; nothing else is touched."""

from __future__ import annotations

from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan
from history.test_history import FILES, OWN, SETTINGS, changed, entries, lasting
from story import nothing_left, settle, status


def test_prune_removes_what_an_earlier_file_made_and_nothing_else(product_node: NodeFactory, lan: Lan) -> None:
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(files={OWN: FILES[0], **SETTINGS}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    before = lasting(node)
    node.write(OWN, changed(mtu=1300, bridge=True, route=True))
    node.run("nodenetctl reload --wait", timeout=90)
    node.run(
        "nmcli connection add type bridge ifname mine0 con-name mine ipv4.method manual ipv4.addresses 10.30.0.1/24"
    )
    node.run("ip route add 10.98.0.0/16 via 10.88.0.1 dev eth0")
    node.write(OWN, FILES[0])
    node.wait_until("ip -br address show mine0 | grep -q 10.30.0.1", timeout=20)
    said = node.run("nodenetctl diff", check=False).stdout
    left = "2: br-test, route 10.99.0.0/16 via 10.88.0.1 on eth0, MTU of eth0"
    assert f"Left over from {left}" in said
    assert f"Left over from {left}" in node.run("nodenetctl reload --wait 2>&1", timeout=90).stdout
    assert status(node)["left_over"] == [left]
    node.power_cut()
    node.boot()
    settle(node)
    assert f"left over   from {left}" in node.run("nodenetctl status").stdout
    node.run("nm-online -s -q -t 60", timeout=90)
    node.run("ip route add 10.98.0.0/16 via 10.88.0.1 dev eth0")
    node.run("nodenetctl reload --prune --wait", timeout=90)
    assert status(node)["left_over"] == []
    assert entries(node)[0]["kind"] == "prune"
    assert "mine0" in node.run("ip -br address").stdout
    node.run("nmcli connection delete mine")
    node.wait_until("! ip link show mine0", timeout=20)
    node.run("ip route del 10.98.0.0/16 via 10.88.0.1 dev eth0")
    after = lasting(node)
    assert [after[key] for key in ("addresses", "routes", "mtu", "profiles")] == [
        before[key] for key in ("addresses", "routes", "mtu", "profiles")
    ]
    numbers = [each["number"] for each in entries(node)]
    node.run("nodenetctl reload --prune --wait", timeout=90)
    assert [each["number"] for each in entries(node)] == numbers, "a second run writes nothing"
    nothing_left(node)
