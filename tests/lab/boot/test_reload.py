"""`systemctl reload`, a restart, the same boot again and again."""

from __future__ import annotations

import subprocess

import pytest

from factories import NodeFactory
from harness import Flavour, Lan, Node
from story import (
    KUBELET,
    RUN,
    STATIC,
    causes,
    disk_times,
    mtu,
    network,
    node_file,
    nothing_left,
    settle,
    story,
    with_mtu,
)

SETTINGS = "/etc/nodenet/nodenet.toml"
RELOAD = ["systemctl", "reload", "nodenetd"]


def pid(node: Node) -> str:
    return node.run("systemctl show -p MainPID --value nodenetd").stdout.strip()


def test_reload(product_node: NodeFactory) -> None:
    """Changed: in force when the command returns. Unchanged: nothing happens. Bad: refused, all as before."""
    node = product_node(files={node_file("worker-0.yml"): with_mtu(1401)}, flavour=Flavour.OPENSHIFT)
    node.boot()
    good = settle(node)
    node.record("kubelet")
    before = disk_times(node)
    node.run(RELOAD)
    assert disk_times(node) == before
    audits = [line["MESSAGE"] for line in node.journal("NetworkManager") if "checkpoint-create" in str(line["MESSAGE"])]
    assert len(audits) == 1

    node.write(node_file("worker-0.yml"), with_mtu(1402))
    node.run(RELOAD)
    assert mtu(node) == 1402
    assert settle(node)["node_ips"] == good["node_ips"]

    unchanged = network(node)
    published = node.run(f"cat {RUN}/* {KUBELET}").stdout
    node.write(node_file("worker-0.yml"), with_mtu(1403).replace("mtu:", "mtuu:"))
    refused = node.run(RELOAD, check=False)
    assert refused.returncode != 0
    told = node.run("journalctl -u nodenetd -o cat").stdout
    assert len([line for line in told.splitlines() if "mtuu" in line]) == 1
    assert network(node) == unchanged
    assert node.run(f"cat {RUN}/* {KUBELET}").stdout == published
    document = settle(node)
    assert document["health"] == "degraded"
    assert document["digest"] != document["applied_digest"]
    assert len(causes(node)) == 1
    assert node.run("systemctl is-active nodenetd").stdout.strip() == "active"

    node.write(SETTINGS, 'platform = "baremetal"\napi_vips = ["192.0.2.5"]\n')
    refused = node.run("nodenetctl reload --wait", check=False)
    assert (refused.returncode, len(refused.stderr.splitlines()), refused.stderr.count("mtuu")) == (65, 1, 1)
    assert "the changed settings are not in force either" in refused.stderr
    assert network(node) == unchanged
    assert node.run(f"cat {RUN}/* {KUBELET}").stdout == published
    assert "remote" not in node.run(f"ls {RUN}").stdout

    node.run(["rm", SETTINGS])
    node.write(node_file("worker-0.yml"), with_mtu(1402))
    node.run(RELOAD)
    assert settle(node)["health"] == "ok"
    node.run("nodenetctl reselect")
    lines = [line["MESSAGE"] for line in story(node)]
    assert lines[-1] != "Reloaded"
    assert lines.index("Asked to choose the node IPs again") > lines.index("Reloaded")
    assert node.record("kubelet").starts == 1
    nothing_left(node)


def test_a_reload_that_cannot_be_judged_is_refused(product_node: NodeFactory) -> None:
    """The daemon stays, and takes the next one."""
    node = product_node(flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    process = pid(node)
    node.run("mv /etc/hostname /etc/hostname.away && ln -s hostname /etc/hostname")
    refused = node.run("nodenetctl reload --wait", check=False)
    assert refused.returncode != 0
    assert "/etc/hostname cannot be read: Too many levels of symbolic links" in refused.stderr
    assert settle(node)["health"] == "degraded"
    node.run("mv /etc/hostname.away /etc/hostname")
    node.run(RELOAD)
    assert settle(node)["health"] == "ok"
    assert pid(node) == process


def test_bad_settings_are_refused(product_node: NodeFactory) -> None:
    """On reload all stays and the status warns of the next boot, where the unit fails for good, kubelet held back."""
    node = product_node(flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    node.write(SETTINGS, 'familes = "auto"\n')
    assert node.run(RELOAD, check=False).returncode != 0
    shown = node.run("nodenetctl status", check=False)
    assert shown.returncode == 2
    assert "(did you mean 'families'?); those of the start of nodenetd stay in force, but the next" in shown.stdout
    assert "degraded: /etc/nodenet/nodenet.toml: unknown" in node.run("systemctl status nodenetd").stdout
    assert len(causes(node)) == 1
    process = pid(node)
    for content, health in (('familes = "ipv4"\n', "degraded"), ("", "ok"), ('familes = "auto"\n', "degraded")):
        node.write(SETTINGS, content)
        node.run("systemctl kill --kill-whom=main --signal=HUP nodenetd")
        node.wait_until(f"nodenetctl status | grep -q ^{health}", timeout=20)
    assert pid(node) == process
    node.reboot()
    node.wait_until("systemctl is-failed nodenetd", timeout=30)
    assert node.run("systemctl show -p ExecMainStatus --value nodenetd").stdout.strip() == "78"
    assert node.run("systemctl show -p NRestarts --value nodenetd").stdout.strip() == "0"
    assert not node.started("kubelet")
    (cause,) = causes(node)
    assert cause == "/etc/nodenet/nodenet.toml: unknown key 'familes' (did you mean 'families'?)"
    shown = node.run("nodenetctl status", check=False)
    assert (shown.returncode, shown.stdout.splitlines()[0]) == (1, "failed (kubelet is held back)")
    assert cause in shown.stdout
    assert "systemctl restart nodenetd" in shown.stdout
    assert cause in node.run("nodenetctl wait nodeip --timeout 1", check=False).stderr
    assert f"failed: {cause}" in node.run("systemctl status nodenetd", check=False).stdout
    node.write(SETTINGS, 'families = "auto"\n')
    node.run("systemctl restart nodenetd")
    assert settle(node)["health"] == "ok"
    node.record("kubelet")


def test_a_restart_after_ready_changes_nothing(product_node: NodeFactory) -> None:
    """No link, address, file or profile is touched; kubelet is not restarted."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    node.record("kubelet")
    before, files, old = network(node), disk_times(node), pid(node)
    node.run("systemctl restart nodenetd")
    document = settle(node)
    assert pid(node) != old
    assert (document["health"], document["node_ips"]) == ("ok", ["10.88.0.50"])
    assert (network(node), disk_times(node)) == (before, files)
    node.run(f"kill -KILL {pid(node)}")
    node.wait_until("test $(systemctl show -p MainPID --value nodenetd) -gt 0 && nodenetctl status", timeout=30)
    assert (network(node), disk_times(node)) == (before, files)
    assert node.record("kubelet").starts == 1


KEYFILE = """[connection]
id={link}
type=ethernet
interface-name={link}
[ipv4]
method=manual
addresses=10.88.0.{host}/24
gateway=10.88.0.1
route-metric=100
[ipv6]
method=disabled
"""


def test_the_same_choice_in_every_boot(product_node: NodeFactory, lan: Lan) -> None:
    """Two default routes of equal metric: twenty boots, one answer."""
    node = product_node(nics=[lan, lan])
    for link, host in (("eth0", 72), ("eth1", 71)):
        name = f"/etc/NetworkManager/system-connections/{link}.nmconnection"
        node.write(name, KEYFILE.format(link=link, host=host), 0o600)
    for _ in range(20):
        node.boot()
        document = settle(node)
        chosen = (document["node_ips"][0], document["link"], document["health"])
        assert chosen == ("10.88.0.72", "eth0", "ok"), [entry["MESSAGE"] for entry in story(node)]
        node.power_cut()


def test_the_journal_of_a_good_boot_is_a_short_story(product_node: NodeFactory) -> None:
    """At most a dozen lines, each a sentence with its stage and its message id."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    lines = [entry for entry in story(node) if int(entry["PRIORITY"]) <= 6]
    assert 4 <= len(lines) <= 12, [line["MESSAGE"] for line in lines]
    assert all(entry.get("MESSAGE_ID") for entry in lines)
    assert "Ready after" in lines[-1]["MESSAGE"]
    node.run("journalctl --update-catalog")  # what `make install` does on a live system
    explained = node.run("journalctl -x -u nodenetd --no-pager").stdout
    assert "Defined-By: nodenet" in explained


OPEN_POLICY = """<busconfig><policy context="default">
<allow send_destination="org.nodenet1"/></policy></busconfig>
"""


@pytest.mark.parametrize("policy", ["", OPEN_POLICY], ids=["policy-file", "policy-file-undone"])
def test_only_root_changes_anything_over_the_bus(product_node: NodeFactory, policy: str) -> None:
    """Everybody may look. The bus refuses the rest, and where its policy was undone the daemon does."""
    node = product_node(files={"/etc/dbus-1/system.d/lab-open.conf": policy} if policy else {})
    node.boot()
    settle(node)

    def call(user: str, *words: str) -> subprocess.CompletedProcess[str]:
        manager = ("org.nodenet1", "/org/nodenet1", "org.nodenet1.Manager")
        return node.run(
            ["setpriv", f"--reuid={user}", "--clear-groups", "busctl", "call", *manager, *words], check=False
        )

    assert call("nobody", "GetStatus").returncode == 0
    for words in (["Reload"], ["Reselect"], ["RemoveBridge"], ["RunStage", "s", "nmstate"]):
        refused = call("nobody", *words)
        assert refused.returncode != 0
        assert "denied" in refused.stderr.lower() or "for root only" in refused.stderr
        assert call("root", *words).returncode == 0


def test_a_node_file_stays_in_force_when_its_link_goes_below_br_ex(product_node: NodeFactory) -> None:
    """The bridge carries the file's address; reload, restart and reboot apply nothing and refuse nothing."""
    settings = {
        "/etc/nodenet/nodenet.toml.d/10-lab.toml": 'network_type = "OVNKubernetes"\n[bridge]\ndatapath = "netdev"\n'
    }
    node = product_node(files=settings | {node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    node.boot()
    for order in ("true", "systemctl reload nodenetd", "systemctl restart nodenetd", "reboot"):
        node.reboot() if order == "reboot" else node.run(order)
        document = settle(node)
        assert (document["health"], document["bridge"]) == ("ok", "br-ex")
        assert document["digest"] == document["applied_digest"] is not None
        assert node.addresses("br-ex") == ["10.88.0.50"]
        assert causes(node) == []
    nothing_left(node)
