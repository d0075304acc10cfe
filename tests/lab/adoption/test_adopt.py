"""A node of the former chain is taken over while it runs, and given back: no ping is lost, and every boot is whole."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any

from br_ex.test_make import DHCP_ONLY, identity
from br_ex.test_renamed import KEYFILE, STATIC
from chain import NETDEV, ON_PREMISES
from factories import NodeFactory
from former_chain import ENABLED, FILES, SCRIPTS
from harness import Flavour, Lan, Node
from nodenet.core.messages import Message
from pinger import Pinger
from story import CRIO, KUBELET, nothing_left, settle

SETTINGS = "/etc/nodenet/nodenet.toml"
LAB = "/etc/nodenet/nodenet.toml.d/10-lab.toml"
MARKER = "/etc/nodenet/adopted"
RECORD = "/var/lib/nodenet/adoption.json"
DROP_INS = "find /etc/systemd/system /run/systemd/system -name '90-nodenet-adopt.conf'"
HINTS = "/etc/default/nodeip-configuration"
CONFIRMED = "it is refused until the DHCP server has confirmed the lease of br-ex"
RESTARTED = "systemctl restart NetworkManager.service"
"""In the middle of an adoption: the address is gone for a second."""
SKIPPED = (
    "nodenetd does not start: the former chain of units configures this node. Run `nodenetctl adopt` to let nodenetd "
    "do that.\n"
)
FAMILY = 'families = ["ipv4"]\n'


def former_node(bare_node: NodeFactory, product: Any, *, static: bool, enabled: tuple[str, ...] = ENABLED) -> Node:
    """Define and boot a node of the former chain with nodenet, and these units *enabled*; wait until kubelet runs."""
    wanted = {SETTINGS: FAMILY + ON_PREMISES, LAB: NETDEV, HINTS: "NODEIP_HINT=10.88.0.1\n", **FILES}
    node = bare_node(flavour=Flavour.OPENSHIFT, layers=[product], files=wanted)
    if static:
        node.write(KEYFILE, STATIC, 0o600)
    for name, text in SCRIPTS.items():
        node.write(name, text, 0o755)
    node.enable(*enabled)
    node.boot()
    whole(node)
    return node


def whole(node: Node) -> dict[str, Any]:
    """Wait until kubelet runs; return what an adoption must not change."""
    node.wait_until("systemctl is-active kubelet.service", timeout=90)
    node_ip = node.run("cat /run/nodeip-configuration/primary-ip").stdout
    node.wait_until(f"grep -m1 ^nameserver /etc/resolv.conf | grep -qw {node_ip}", timeout=60)
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == node_ip
    seen = identity(node, "br-ex")
    del seen["resolv.conf"]
    return {
        **seen,
        "servers": re.findall(r"(?m)^nameserver (.*)$", node.run("cat /etc/resolv.conf").stdout),
        "drop-ins": node.run(["cat", KUBELET, CRIO]).stdout,
        "run": node.run("cd /run/nodeip-configuration && grep . primary-ip ipv4").stdout,
        "hints": node.run(["cat", HINTS]).stdout,
        "chain": node.run("cat /etc/systemd/system/{nodeip,ovs}-configuration.service | sha256sum").stdout,
    }


def on_disk(node: Node) -> set[tuple[str, str]]:
    """Return what an adoption may change: each file with its content, each link with its target."""
    places = "/etc /run/systemd/system /var/lib/nodenet /var/lib/ovnk /usr/lib/systemd"
    links = node.run(f"find {places} -type l -printf '%l %p\\n'").stdout
    sums = node.run(f"find {places} -type f ! -name adoption.json -exec sha256sum {{}} +").stdout
    return {(what, path) for what, path in (line.split(maxsplit=1) for line in (links + sums).splitlines())}


def as_announced(node: Node, verb: str) -> str:
    """Run *verb* and return what it prints. Assert that --dry-run names each file that it changes, and changes none."""
    before = on_disk(node)
    dry = node.run(f"nodenetctl {verb} --dry-run", timeout=60).stdout
    assert on_disk(node) == before
    said = node.run(f"nodenetctl {verb}", timeout=120).stdout
    assert said.startswith(dry)
    for path in {PurePath(path) for _, path in before ^ on_disk(node)}:
        named = (str(path), path.name, path.parent.name.removesuffix(".d"), str(path.parent))
        assert any(word in dry for word in named), path
    return said


def test_taken_over_and_given_back(bare_node: NodeFactory, product: Any, lan: Lan) -> None:
    """Adopted, rebooted, handed back, rebooted; each of the two verbs a second time does nothing."""
    node = former_node(bare_node, product, static=True)
    before = whole(node)
    profile = node.run(["cat", KEYFILE]).stdout
    with Pinger(lan, "10.88.0.50") as pinger:
        pinger.wait_for_reply()
        said = as_announced(node, "adopt")
        assert said.endswith("This node is adopted: nodenetd configures it now and at every boot.\n")
        assert whole(node) == before
        assert "nothing to do" in node.run("nodenetctl adopt", timeout=60).stdout
        assert "The former chain does, now" in node.run("nodenetctl hand-back", timeout=120).stdout
        assert whole(node) == before
        node.run("nodenetctl adopt", timeout=120)
        pinger.wait_for_reply()
    assert pinger.lost == set()
    assert node.record("kubelet").starts == 1
    node.run("systemctl restart kubelet.service", timeout=60)
    assert whole(node) == before

    node.reboot()
    document = settle(node)
    assert (document["health"], document["bridge"], document["link"]) == ("ok", "br-ex", "br-ex")
    assert whole(node) == before
    assert node.run("test -e /run/former-bridge.runs", check=False).returncode == 1
    assert "br-ex-if" in node.run("nmcli -g NAME connection").stdout
    an_image_without_nodenet_boots_with_the_former_chain(node, before)

    with Pinger(lan, "10.88.0.50") as pinger:
        pinger.wait_for_reply()
        assert "The former chain does from the next boot on." in as_announced(node, "hand-back")
        assert whole(node) == before
        assert node.run("nodenetctl hand-back", timeout=60).stdout.startswith("This node is not adopted")
        node.run("nodenetctl adopt", timeout=120)
        assert whole(node) == before
        node.run("nodenetctl hand-back", timeout=120)
        node.run("systemctl start ovs-configuration.service")  # kubelet's target may pull it in
        node.run("nmcli connection reload")
        pinger.wait_for_reply()
    assert pinger.lost == set()
    assert node.record("kubelet").starts == 1
    assert node.run(["cat", KEYFILE]).stdout == profile

    node.reboot()
    assert whole(node) == before
    assert node.run("cat /run/former-bridge.runs").stdout == "run\n"
    assert node.run("systemctl is-active nodenetd.service", check=False).stdout == "inactive\n"
    assert node.run(f"{DROP_INS}; ls {MARKER}", check=False).stdout == ""
    assert "ovs-if-br-ex" in node.run("nmcli -g NAME connection").stdout
    nothing_left(node)


def an_image_without_nodenet_boots_with_the_former_chain(node: Node, before: dict[str, Any]) -> None:
    """Such a node starts kubelet, and keeps the br-ex of the disk. When nodenet is there again, it takes over."""
    units = "/usr/lib/systemd/system/nodenetd.service /usr/lib/systemd/system/nodenet-ready.service"
    node.run(f"mkdir -p /root/lost/units && mv {units} /root/lost/units && mv /usr/libexec/nodenetd /root/lost")
    node.reboot()
    node.wait_until("systemctl is-active kubelet.service", timeout=90)
    node.run("systemctl start on-prem-resolv-prepender.service")  # as NetworkManager's dispatcher does for br-ex
    assert whole(node) == before
    assert node.run("systemctl show -P ConditionResult nodenet-ready.service").stdout == "no\n"
    assert node.run("test -e /run/former-bridge.runs", check=False).returncode == 1
    assert "br-ex-if" in node.run("nmcli -g NAME connection").stdout
    node.run("mv /root/lost/nodenetd /usr/libexec && mv /root/lost/units/* /usr/lib/systemd/system")
    node.run("systemctl daemon-reload")
    assert node.run("nodenetctl adopt", timeout=120).stdout.endswith("now and at every boot.\n")
    assert whole(node) == before


def test_what_fails_is_undone_and_what_is_cut_off_boots(bare_node: NodeFactory, product: Any, lan: Lan) -> None:
    """A step fails: as before. A kill and a power cut: the next boot is whole, and the next command says what was.

    With DHCP: the uplink's own profile is in memory, and there is nothing to put back on the disk.
    """
    lan.start_dhcp(DHCP_ONLY)
    node = former_node(bare_node, product, static=False)
    before = whole(node)
    text, fails = node.run("cat /etc/resolv.conf").stdout, "/etc/systemd/system/nodenetd.service.d/10-lab-fails.conf"
    node.write(fails, "[Service]\nExecStart=\nExecStart=/bin/false\nRestart=no\n")
    with Pinger(lan, before["addresses"][0]) as pinger:
        pinger.wait_for_reply()
        done = node.run("nodenetctl adopt", check=False, timeout=120)
        pinger.wait_for_reply()
    assert (done.returncode, pinger.lost) == (1, set())
    assert done.stderr == (
        "nodenetctl: nodenetd.service failed; every step was undone. Look at `journalctl -u nodenetd`\n"
    )
    assert node.run(f"{DROP_INS}; ls {MARKER} {RECORD}", check=False).stdout == ""
    assert node.run("systemctl is-enabled nodenetd.service", check=False).stdout == "disabled\n"
    assert node.run("systemctl is-active on-prem-resolv-prepender.path").stdout == "active\n"
    assert node.run("cat /etc/resolv.conf").stdout == text
    assert whole(node) == before
    node.path(fails).unlink()
    conditions_of_an_administrator(node)
    assert whole(node) == before

    node.delay_unit("nodenetd.service", 60)
    cut_off(node, "adopt", "nodenetd+")
    node.delay_unit("nodenetd.service", 0)
    node.boot()
    document = settle(node, timeout=90)
    assert document["link"] == "br-ex"
    interrupted_is_reported(node, document)
    done = node.run("nodenetctl adopt", timeout=60)
    assert done.stderr.startswith("nodenetctl: A `nodenetctl adopt` was interrupted before the last boot (step 6 of 7)")
    assert node.path(RECORD).exists() is False
    assert whole(node) == before

    node.wait_until(f"nodenetctl hand-back --dry-run  # {CONFIRMED}", timeout=90)
    cut_off(node, "hand-back", "marker-")
    node.boot()
    assert whole(node) == before
    node.wait_until(f"nodenetctl hand-back --dry-run  # {CONFIRMED}", timeout=90)
    node.run("nodenetctl hand-back", timeout=120)
    node.reboot()
    assert whole(node) == before
    assert node.run("systemctl is-active nodenetd.service", check=False).stdout == "inactive\n"
    assert "ovs-if-br-ex" in node.run("nmcli -g NAME connection").stdout
    nothing_left(node)


def interrupted_is_reported(node: Node, document: dict[str, Any]) -> None:
    """By the status of root, and once in the journal of the boot."""
    (problem,) = (one for one in document["problems"] if one["message_id"] == Message.ADOPTION_FAILED.value)
    cause = f"A `nodenetctl adopt` was interrupted before the last boot (step 6 of 7): {MARKER} exists, so nodenet "
    assert problem["cause"] == f"{cause}configures this node at every boot"
    assert f"  problem     {cause}" in node.run("nodenetctl status", check=False).stdout
    (entry,) = (one for one in node.journal("nodenetd.service") if one.get("MESSAGE_ID") == problem["message_id"])
    assert (entry["CAUSE"], entry["REMEDY"]) == (problem["cause"], problem["remedy"])


def conditions_of_an_administrator(node: Node) -> None:
    """Assert that a drop-in that voids ours is refused, and that a condition of nodenetd that is not met is named."""
    void = "/etc/systemd/system/ovs-configuration.service.d/95-lab.conf"
    unmet = "/etc/systemd/system/nodenetd.service.d/10-lab.conf"
    named = f"{void} has an empty condition, which voids that of an adoption"
    refused = f"nodenetctl: this node cannot be adopted: {named}. "
    undone = f"nodenetctl: {named}; every step was undone. "
    for path, condition, reloaded, said in (
        (void, "", False, undone),  # systemd reads it together with the drop-ins of the adoption
        (void, "", True, refused),
        (unmet, "/nowhere", True, "nodenetctl: systemd does not start nodenetd.service; every step was undone. "),
    ):
        node.write(path, f"[Unit]\nConditionPathExists={condition}\n")
        if reloaded:
            node.run("systemctl daemon-reload")
        done = node.run("nodenetctl adopt", check=False, timeout=120)
        node.path(path).unlink()
        node.run("systemctl daemon-reload")
        assert (done.returncode, done.stderr.startswith(said)) == (1, True), done.stderr
        assert node.run(f"{DROP_INS}; ls {MARKER} {RECORD}", check=False).stdout == ""


def cut_off(node: Node, verb: str, step: str) -> None:
    """Kill the command as soon as its record names *step* as begun, and cut the power; it may be further by then."""
    node.run(f"systemd-run --collect --unit=lab-{verb} nodenetctl {verb}")
    begun = f"import json; r = json.load(open('{RECORD}')); exit('{step}' not in r['steps'][: r['done'] + 1])"
    gone = f"! systemctl is-active lab-{verb}.service"
    node.wait_until(f'python3 -c "{begun}" 2>/dev/null || {gone}', timeout=60)
    node.run(f"systemctl kill --signal=KILL lab-{verb}.service", check=False)
    node.power_cut()


def test_an_image_that_enables_nodenetd_changes_nothing_before_the_adoption(
    bare_node: NodeFactory, product: Any
) -> None:
    """Two programs never configure one network: nodenetd is skipped with cause and remedy, and kubelet is not held."""
    node = former_node(bare_node, product, static=True, enabled=(*ENABLED, "nodenetd.service"))
    before = whole(node)
    assert node.wait_settled() == "running"
    shown = node.run(
        "systemctl show -P ActiveState -P Result nodenetd.service; systemctl is-active nodenet-ready.service"
    )
    assert shown.stdout.split() == ["inactive", "exec-condition", "active"]
    assert node.run("cat /run/former-bridge.runs").stdout == "run\n"
    # Twice where the former chain lets systemd forget, by a reload, how the condition ended: the gate starts it again.
    entry, *again = (one for one in node.journal("nodenetd.service") if "REMEDY" in one)
    assert [one["MESSAGE"] for one in again] in ([], [entry["MESSAGE"]])
    assert entry["MESSAGE_ID"] == Message.ADOPTION_FAILED.value
    assert entry["CAUSE"] == (
        "on-prem-resolv-prepender.path, on-prem-resolv-prepender.service, nodeip-configuration.service and "
        "ovs-configuration.service configure the network of this node"
    )
    node.run("systemctl restart nodenetd.service", timeout=60)
    assert node.run("systemctl is-active nodenetd.service", check=False).stdout == "inactive\n"
    done = node.run("nodenetctl status --wait", check=False, timeout=60)
    assert (done.returncode, done.stdout) == (1, SKIPPED)
    node.run(f"nodenetctl adopt & until test -e {MARKER}; do sleep 0.05; done; {RESTARTED} && wait $!", timeout=120)
    assert whole(node) == before
    node.run("systemctl restart nodenetd.service", timeout=60)
    assert settle(node)["link"] == "br-ex"
    node.run("nodenetctl hand-back", timeout=120)
    node.run("systemctl start nodenetd.service", timeout=60)
    assert node.run("systemctl is-active nodenetd.service", check=False).stdout == "inactive\n"
    assert whole(node) == before
    assert node.record("kubelet").starts == 1
