"""What `nodenetctl` reports of a node whose daemon has ended, that has lost its node IP, or that a reload changed."""

from __future__ import annotations

import json
import re
from pathlib import Path

from alerts import fired
from br_ex.test_make import BRIDGED, SETTINGS
from br_ex.test_more import DEFAULT
from factories import NodeFactory
from harness import Flavour, Shell
from metrics_text import parsed
from nodenet.core.metrics import FAMILIES
from nodenet.core.status import metrics
from story import CLUSTER, STATIC, network, node_file, settle, stage, status, with_mtu

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
RELOAD = ["nodenetctl", "reload", "--wait"]
SECRETS = ("of-node-file", "of-comment", "of-profile", "of-ovs-database", "of-journal", "of-broken-yaml")
OPTIONAL = {f"{name}.json" for name in ("hosted", "claims", "bridge", "bridge-intent", "policies", "adoption")} | {
    f"{name}.txt"
    for name in ("journal-last", "boot-report-last", "units", "explain-vip", "explain-hosted", "explain-br-ex")
}
"""Parts of a report that have a note on a node in its first boot, without hosted services, claims and br-ex."""
PLANTED = {
    node_file("another-host.yml"): """# password: of-comment
interfaces:
- {name: eth0, type: ethernet, 802.1x: {identity: me, eap-methods: [peap], password: "of-node\\x2dfile"}}
""",
    node_file("broken.yml"): "interfaces: [\n  password: of-broken-yaml\n",
    "/etc/NetworkManager/system-connections/planted.nmconnection": """[connection]
id=planted
uuid=0d9b0a9e-6a4b-4a2e-9d0c-4f1f5c0f4b11
type=ethernet
autoconnect=false
interface-name=gone0
[802-1x]
eap=md5;
identity=me
password=of-profile
""",
}
"""Files with secrets, none of which changes the network."""
TEXTFILE = "/var/lib/node_exporter/textfile"
METRICS = ("/run/nodenet/nodenetd.prom", f"{TEXTFILE}/nodenetd.prom")


def test_a_daemon_that_was_killed_is_not_reported_as_ok(product_node: NodeFactory) -> None:
    """`status` and `monitor` name it, exit code 1; when it runs again all is well (R56)."""
    node = product_node(files={node_file("worker-0.yml"): CLUSTER}, flavour=Flavour.OPENSHIFT)
    node.boot()
    assert settle(node)["health"] == "ok"
    node.run("systemd-run --unit=watcher --collect sh -c 'exec nodenetctl monitor > /run/watched'")
    node.wait_until("grep -q 'kubelet may run' /run/watched")
    # Whoever could lock the file would keep nodenetd from starting.
    assert node.run([*NOBODY, "flock", "--shared", "/run/nodenet/lock", "true"], check=False).returncode != 0
    assert node.run([*NOBODY, "nodenetctl", "status"], check=False).returncode == 0
    node.write("/etc/systemd/system/nodenetd.service.d/stay-away.conf", "[Service]\nRestart=no\n")
    node.run("systemctl daemon-reload")
    node.run("systemctl kill --kill-whom=all --signal=KILL nodenetd")
    node.wait_until("systemctl is-failed nodenetd")
    shown = node.run([*NOBODY, "nodenetctl", "status"], check=False)
    assert shown.returncode == 1
    first, *rest = shown.stdout.splitlines()
    assert re.fullmatch(r"nodenetd is not running; this status is \d+ (s|min \d+ s) old \(kubelet is running\)", first)
    assert "  problem     nodenetd is not running, so nothing of this may be true any more" in rest
    assert "  to do       See `systemctl status nodenetd`" in rest
    document = status(node)
    assert (document["health"], document["ready"], document["running"]["now"]) == ("failed", False, False)
    node.wait_until("grep -q 'nodenetd is not running' /run/watched")
    assert node.run("nodenetctl status --wait --timeout 1s", check=False).returncode == 75
    node.run("systemctl start nodenetd")
    assert settle(node)["health"] == "ok"
    assert "running" not in status(node)
    node.wait_until("sed '1,/has left the bus/d' /run/watched | grep -q 'kubelet may run'")
    assert node.record("kubelet").starts == 1


def test_a_reload_that_takes_the_node_ip_says_so(product_node: NodeFactory, tmp_path: Path) -> None:
    """The static address was changed: the reload says what is awaited; then the status names it as missing (R57, R58).

    The metrics follow, also in the directory of the settings, and say at the end that the daemon has stopped. No alert
    fires for the boot. A report of this node has everything but the secrets that are in its files, its journal and its
    databases.
    """
    files = {SETTINGS: f'metrics_dir = "{TEXTFILE}"\n', f"{TEXTFILE}/other.prom": "other 1\n", **PLANTED}
    node = product_node(files={node_file("worker-0.yml"): STATIC} | files, flavour=Flavour.OPENSHIFT)
    node.boot()
    before = settle(node)
    assert before["health"] == "ok"
    for place in METRICS:
        node.wait_until(f"grep -q '^nodenet_ready 1' {place}")
    booted = node.run(["cat", METRICS[0]]).stdout
    (address,) = before["node_ips"]
    assert address in STATIC
    node.write(node_file("worker-0.yml"), STATIC.replace(address, "10.88.0.77"))
    done = node.run(RELOAD, check=False)
    assert done.returncode == 1
    assert f"nodeip is waiting: {address}, which kubelet or CRI-O runs with, to be back" in done.stderr
    node.wait_until("nodenetctl status | grep -q '^  problem     nodeip: .*" + address + "'", timeout=60)
    shown = node.run("nodenetctl status", check=False).stdout.splitlines()
    assert (
        shown[1] == f"  node IPs    {address} (static) on eth0 (published, but missing on this node: see the problem)"
    )
    for place in METRICS:
        node.wait_until(f"grep -q '^nodenet_node_ips_missing 1' {place}")
    drifted = node.run(["cat", METRICS[0]]).stdout
    node.write(node_file("worker-0.yml"), STATIC)
    assert node.run(RELOAD, check=False).returncode == 0
    assert settle(node)["health"] == "ok"
    assert_report_without_secrets(node)
    node.run("systemctl stop nodenetd")
    for place in METRICS:
        found = parsed(node.run(["cat", place]).stdout, (*FAMILIES, *metrics.FAMILIES))
        values = {(one.family, *(value for _, value in one.labels)): one.value for one in found}
        assert values["nodenet_running", "nodenetd"] == 0
        assert values["nodenet_events_total", "nodenetd", "node_ip_drift"] == 1
        assert values["nodenet_node_ips_missing",] == 0
    assert fired(tmp_path, [(60, booted)]) == set()
    assert "NodenetNodeIPMissing" in fired(tmp_path, [(60, drifted)])


def assert_report_without_secrets(node: Shell) -> None:
    node.run("ovs-vsctl set Open_vSwitch . external_ids:api-token=of-ovs-database")
    said = "echo password=of-journal; echo said of-profile and of-node-file"
    node.run(["systemd-run", "--wait", "--quiet", "--unit=nodenet-says", "sh", "-c", said])
    printed = json.loads(node.run("nodenetctl report --json").stdout)
    node.run(["mkdir", "/run/report"])
    node.run(["tar", "-xzf", printed["path"], "--strip-components=1", "-C", "/run/report"])
    assert node.run(["stat", "-c", "%a %u", printed["path"]]).stdout == "600 0\n"
    found = node.run(["grep", "-rlE", "|".join(SECRETS), "/run/report"], check=False)
    assert (found.returncode, found.stdout) == (1, "")
    assert node.run(["zcat", printed["path"]]).stdout.count("of-profile") == 0
    for name, shown in (("ovs-database.txt", "api-token"), ("journal.txt", "said <hidden> and <hidden>")):
        assert shown in node.run(["cat", f"/run/report/{name}"]).stdout
    assert '"password": "<hidden>"' in node.run(["cat", "/run/report/node-files/another-host.yml.json"]).stdout
    notes = {one["name"]: one["note"] for one in printed["parts"] if one["note"]}
    broken = "node-files/broken.yml.json"
    assert notes.pop(broken) == "left out: it is not valid YAML, so its secrets cannot be found"
    assert {one["name"] for one in printed["parts"] if not one["bytes"]} == {"journal-last.txt", broken}
    assert set(notes) <= OPTIONAL, notes


def test_a_node_file_that_was_removed_leaves_word(product_node: NodeFactory) -> None:
    """Its configuration stays, which the reload prints: exit code 2 once (R58)."""
    node = product_node(files={node_file("worker-0.yml"): with_mtu(1402)}, flavour=Flavour.OPENSHIFT)
    node.boot()
    digest = str(settle(node)["digest"])[:12]
    unchanged = network(node)
    node.run(["rm", node_file("worker-0.yml")])
    sentence = (
        f"There is no node file any more. The configuration of {digest} is still active: "
        "remove what it set with `nmcli`, or restore the file"
    )
    for code in (2, 0):
        done = node.run(RELOAD, check=False)
        assert (done.returncode, done.stderr.splitlines()) == (code, [sentence])
    assert network(node) == unchanged
    shown = node.run("nodenetctl status").stdout.splitlines()
    file = f"none for worker-0; the configuration {digest} of an earlier file is still active"
    assert f"  node file   {file}; host name worker-0" in shown


def test_a_problem_that_was_there_before_does_not_fail_a_good_reload(product_node: NodeFactory) -> None:
    """configure-ovs has failed since the boot: printed, exit code 0, and systemd's reload succeeds (R55)."""
    files = {
        node_file("worker-0.yml"): with_mtu(1402),
        SETTINGS: BRIDGED,
        DEFAULT: "eth7\n",
    }
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    document = settle(node)
    assert (document["health"], stage(document, "configure-ovs")["status"]) == ("degraded", "failed")
    node.write(node_file("worker-0.yml"), with_mtu(1403))
    done = node.run(RELOAD, check=False)
    assert done.returncode == 0, done.stderr
    said = done.stderr.splitlines()
    assert said[-4] == "The reload is complete. The node still has the problems that it had before:"
    assert said[-3].startswith("  problem     configure-ovs: ")
    assert "eth7" in said[-3]
    assert json.loads(node.run("ip -j link show eth0").stdout)[0]["mtu"] == 1403
    assert node.run("systemctl reload nodenetd", check=False).returncode == 0
