"""An apply that takes long or never ends: what the status says meanwhile, how long it is waited for, what is left."""

from __future__ import annotations

from factories import NodeFactory
from harness import Flavour, Node
from story import STATIC, node_file, nothing_left, settle, stage, status, story

SETTINGS = "/etc/nodenet/nodenet.toml"
PATH = node_file("worker-0.yml")


def stopped_worker(node: Node) -> str:
    """Return the process id of the libnmstate worker, stopped in the middle of its apply."""
    find = "grep -q applying /var/lib/nodenet/intent.json && pgrep -f '[n]mstate/worker.py'"
    pid = node.wait_until(find, timeout=30).strip()
    node.run(["kill", "-STOP", pid])
    return pid


def test_a_worker_that_hangs_is_killed_at_its_deadline(product_node: NodeFactory) -> None:
    """The network is put back at once, the apply is tried again, and kubelet gets its node IP."""
    files = {PATH: STATIC, SETTINGS: "apply_timeout = 10\n"}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    pid = stopped_worker(node)
    assert not node.started("kubelet")
    document = settle(node, timeout=90)
    assert node.run(f"test -e /proc/{pid}", check=False).returncode == 1
    assert (document["health"], document["node_ips"]) == ("ok", ["10.88.0.50"])
    assert [line["MESSAGE"] for line in story(node) if "did not finish `apply` within 10 s" in line["MESSAGE"]]
    nothing_left(node)


def test_the_node_file_is_named_while_it_is_applied_for_the_first_time(product_node: NodeFactory) -> None:
    """In the status document, in the status for people, in STATUS= and in the journal (R11)."""
    node = product_node(files={PATH: STATIC}, flavour=Flavour.OPENSHIFT)
    node.boot()
    pid = stopped_worker(node)
    document = status(node)
    text = node.run("nodenetctl status", check=False).stdout
    shown = node.run("systemctl show -p StatusText --value nodenetd").stdout.strip()
    digest = node.run(["sha256sum", PATH]).stdout.split()[0]
    assert (stage(document, "nmstate")["status"], document["ready"]) == ("running", False)
    assert (document["node_file"], document["digest"], document["applied_digest"]) == ("worker-0.yml", digest, None)
    assert f"  node file   worker-0.yml ({digest[:12]}), not applied yet; host name worker-0\n" in text
    assert shown == "nmstate: running, node file worker-0.yml"
    assert [line["NODE_FILE"] for line in story(node) if line["MESSAGE"] == f"Found the node file {PATH}"] == [PATH]
    node.run(["kill", "-CONT", pid])
    document = settle(node)
    assert (document["health"], document["applied_digest"]) == ("ok", digest)
    nothing_left(node)
