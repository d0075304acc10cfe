"""READY and kubelet's gate, where /run is full; a reload where a stage has been failed since the boot."""

from __future__ import annotations

from br_ex.test_make import DHCP_ONLY, SETTINGS
from br_ex.test_more import BRIDGED4, DEFAULT
from factories import NO_BRIDGE, NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan
from node_ip.test_publication import with_early
from story import KUBELET, causes, mtu, node_file, settle, stage, status, with_mtu

CROWDED = "[Service]\nExecStartPre=-+/bin/mkdir -p /run/nodenet/state.json/obstacle\n"


def test_kubelet_starts_though_the_state_file_cannot_be_written(product_node: NodeFactory) -> None:
    """The gate asks systemd too, and the file is written as soon as it can be (R16, R17)."""
    node = product_node(
        files={"/etc/systemd/system/nodenetd.service.d/90-crowded.conf": CROWDED},
        flavour=Flavour.OPENSHIFT,
    )
    node.boot()
    node.wait_until("systemctl is-active nodenetd", timeout=40)
    assert node.run("test -f /run/nodenet/state.json", check=False).returncode != 0
    node.wait_until("systemctl is-active nodenet-ready", timeout=20)
    assert node.record("kubelet").addresses
    node.run("rm -r /run/nodenet/state.json")
    node.wait_until("grep -q '\"ready\": true' /run/nodenet/state.json", timeout=40)
    assert settle(node)["ready"]


DIRECTORIES = ("/var/lib/nodenet", "/run/nodenet", "/run/nodeip-configuration")


def test_kubelet_starts_though_files_have_the_places_of_directories(product_node: NodeFactory, lan: Lan) -> None:
    """In /run they are replaced. Where nothing can be kept in /var, that is a problem of the node (R15, R53)."""
    lan.start_dhcp(DHCP_ONLY)
    places = " ".join(DIRECTORIES)
    later = {"/etc/systemd/system/lab-early.service.d/10-later.conf": "[Unit]\nAfter=systemd-tmpfiles-setup.service\n"}
    node = with_early(product_node(flavour=Flavour.OPENSHIFT, files=later), f"rm -rf {places}; touch {places}")
    node.boot()
    document = settle(node)
    assert (document["health"], document["ready"]) == ("degraded", True)
    cause = "/var/lib/nodenet/selection.json cannot be written"
    assert causes(node) == [f"{cause}: Not a directory"]
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == document["node_ips"][0]
    assert node.run("cat /run/nodeip-configuration/primary-ip").stdout == document["node_ips"][0]
    node.run("rm /var/lib/nodenet; systemctl restart nodenetd", timeout=60)
    assert settle(node)["health"] == "ok"
    assert node.run(f"stat -c %a {places}").stdout.split() == ["700", "755", "755"]
    node.run("mount -t tmpfs -o ro,mode=0755 none /var/lib/nodenet; systemctl restart nodenetd", timeout=60)
    assert settle(node)["health"] == "degraded"
    assert causes(node) == [f"{cause}: Not a directory", f"{cause}: Read-only file system"]


RECORDS = ("intent", "bridge-intent", "bridge", "selection")


READ_ONLY = (
    "for each in /etc /var; do mkdir -p /run/lab$each; mount -t tmpfs none /run/lab$each; cp -a $each/. /run/lab$each; "
    "mount --bind /run/lab$each $each; mount -o remount,ro /run/lab$each; done"
)


def test_a_disk_that_is_read_only_holds_kubelet_only_where_its_drop_in_is_missing(
    product_node: NodeFactory, lan: Lan
) -> None:
    """Where /etc and /var have all that the boot would write, nothing is wrong. Else kubelet waits for the disk."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(files={node_file("worker-0.yml"): with_mtu(1400), **NO_BRIDGE}, flavour=Flavour.OPENSHIFT)
    node.boot()
    (address,) = settle(node)["node_ips"]
    # Open vSwitch writes in /etc and /var at each start. Where it fails, network.target and kubelet wait for it.
    node.run("systemctl mask ovsdb-server.service ovs-vswitchd.service")
    node.off()
    with_early(node, READ_ONLY).boot()
    document = settle(node)
    assert (document["health"], document["node_ips"], mtu(node), causes(node)) == ("ok", [address], 1400, [])
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == address
    node.off()
    node.path(KUBELET).unlink()
    node.boot()
    node.wait_until("nodenetctl status --json | grep -q 'kubelet must not start with the address of'", timeout=60)
    assert stage(status(node), "nodeip")["detail"].startswith(f"{KUBELET} cannot be written: Read-only file system")
    assert node.run("cat /run/nodeip-configuration/primary-ip").stdout == address
    assert not node.started("kubelet")
    node.run("mount -o remount,rw /run/lab/etc")
    assert settle(node)["health"] == "ok"
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == address


def test_kubelet_starts_though_no_record_of_an_earlier_boot_can_be_read(product_node: NodeFactory, lan: Lan) -> None:
    """A directory has the place of each: the node IP is selected without them, and the causes are shown (R15)."""
    lan.start_dhcp(DHCP_ONLY)
    obstacles = {f"/var/lib/nodenet/{name}.json/obstacle": "" for name in RECORDS}
    node = product_node(files={SETTINGS: BRIDGED4} | obstacles, flavour=Flavour.OPENSHIFT)
    node.boot()
    document = settle(node, timeout=60)
    (node_ip,) = document["node_ips"]
    assert (document["health"], document["ready"], document["link"]) == ("degraded", True, "eth0")
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == node_ip
    assert "json cannot be read: Is a directory" in stage(document, "configure-ovs")["detail"]
    assert "/var/lib/nodenet/selection.json cannot be read: Is a directory" in node.run("journalctl -b").stdout
    node.run("rm -r /var/lib/nodenet/*.json")
    node.run("systemctl reload nodenetd", timeout=90)
    document = settle(node)
    assert (document["health"], document["link"], document["node_ips"]) == ("ok", "br-ex", [node_ip])


def test_a_reload_ends_well_although_a_stage_has_failed_since_the_boot(product_node: NodeFactory, lan: Lan) -> None:
    """Its own input is good: exit code 0, the standing problem is printed and stays in the status (R55)."""
    lan.start_dhcp(DHCP_ONLY)
    files = {SETTINGS: BRIDGED4, DEFAULT: "eth7\n"}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT, nics=[lan])
    node.boot()
    assert settle(node)["health"] == "degraded"
    before = causes(node)
    node.run("systemctl reload nodenetd")
    reload = node.run("nodenetctl reload --wait")
    assert "eth7" in reload.stderr
    assert settle(node)["health"] == "degraded"
    assert len(causes(node)) == len(before) + 2, "each reload tries again and says why it cannot"
    assert "Reloaded; configure-ovs is failed as before the reload" in node.run("journalctl -b -u nodenetd").stdout
