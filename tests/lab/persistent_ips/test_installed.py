"""Does an installed node do all of it: its unit in its sandbox, the plugin where runtimes look, the commands?"""

from __future__ import annotations

import json
from pathlib import Path

from factories import NO_BRIDGE
from harness import LabError, Node, eventually
from ipam_installed import PLUGINS, UNIT, call, furnish
from ipam_site import PATIENCE, PLUGIN, Network, Site, Space, element, manifest
from nodenet.core.persistent_ips.network import parse


def furnished(site: Site, product: Path) -> Node:
    """Return a node with the product, credentials, and the programs that runtimes bring."""
    site.lan.start_dhcp()
    node = site.lab.node("worker-0", nics=[site.lan], layers=[product], files=NO_BRIDGE, enable=["nodenetd.service"])
    furnish(node, site)
    return node


def listed(node: Node, network: Network) -> dict[str, dict[str, object]]:
    """Return what `nodenetctl claims` has of a network, by address."""
    command = ["nodenetctl", "claims", "--network", network.name, "--json"]
    node.wait_until(command, timeout=PATIENCE)  # it fails until the watch of the claims has found the API
    document = node.json(command)
    assert document["schema_version"] == 1
    return {entry["address"]: entry for entry in document["addresses"]}


def test_an_installed_node(site: Site, space: Space, product: Path) -> None:
    """ADD, the commands, a kill, a reboot, and DEL without the service, in the unit's own sandbox."""
    network = site.network()
    node = furnished(site, product)
    node.boot()
    node.wait_until(["systemctl", "is-active", UNIT], timeout=PATIENCE)
    node.run(["cmp", f"{PLUGINS}/{PLUGIN}", f"/usr/libexec/nodenet/cni/{PLUGIN}"])
    space.claim("vm.blue", network)
    claimed, plain = space.pod("claimed", element(network, "vm.blue")), space.pod("plain", element(network))
    address = call(node, "add", network, claimed)
    other = call(node, "add", network, plain)
    assert address == space.ips("vm.blue")
    shown = listed(node, network)
    assert (shown[address[0]]["claim"], shown[address[0]]["pod"]) == (f"{space.name}/vm.blue", f"{space.name}/claimed")
    assert shown[other[0]]["claim"] is None
    assert {entry["node"] for entry in shown.values()} == {"worker-0"}
    explained = node.run(["nodenetctl", "claims", "explain", f"{space.name}/vm.blue"]).stdout
    assert f"Its status has {address[0]}." in explained
    checked = node.run(["nodenetctl", "claims", "check"]).stdout
    assert checked == "2 addresses compared: store, Leases and claims agree\n"
    node.wait_until("grep -q 'nodenet_ipam_add_total 2' /run/nodenet/ipam.prom", timeout=PATIENCE)

    node.run(["systemctl", "kill", "--signal=KILL", UNIT])
    node.wait_until(f"nodenetctl claims --json | grep -q {address[0]}", timeout=PATIENCE)
    security = node.run(["systemd-analyze", "security", "--no-pager", UNIT], check=False).stdout.splitlines()
    exposure = float(next(line for line in security if "Overall exposure" in line).split(":")[1].split()[0])
    assert exposure <= 3.0

    node.run(["systemctl", "stop", UNIT])
    assert call(node, "del", network, plain) == []
    node.reboot()
    space.remove_pod(plain)
    eventually(lambda: len(site.leases(network)) == 1, "the ephemeral address to be free", timeout=2 * PATIENCE)
    again = space.pod("again", element(network, "vm.blue"))
    space.remove_pod(claimed)
    assert call(node, "add", network, again) == address
    assert call(node, "del", network, again) == []
    space.admin.delete(space.claim_path("vm.blue"))
    eventually(lambda: site.leases(network) == [], "the release", timeout=PATIENCE)
    node.wait_until(f"! nodenetctl claims --json | grep -q {address[0]}", timeout=PATIENCE)


def test_the_examples_are_objects_of_a_cluster(site: Site) -> None:
    """With all manifests of the package, in the namespace default."""
    site.admin.apply(*manifest("crd-network-attachment-definitions.yaml"))
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    if site.admin.find(f"{accounts}/default") is None:
        site.admin.create(accounts, {"metadata": {"name": "default"}})

    def applied() -> bool:
        try:
            for name in ("network", "claim", "pod"):
                site.admin.apply(*manifest(f"examples/{name}.yaml"))
        except LabError:  # the API does not serve the new kind yet
            return False
        return True

    eventually(applied, "the examples to be accepted", timeout=PATIENCE)
    (network,) = manifest("examples/network.yaml")
    config = json.loads(network["spec"]["config"])
    assert parse(config).persistent
    assert [str(pool.subnet) for pool in parse(config).pools] == config["subnets"].split(",")
