"""Each switch of the object HostedNetServices off and on while the node runs, and what the node reports."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dns_questions import ask
from harness import Lab, Lan, Node, eventually
from harness.kube import Cluster
from hosted_cluster_objects import MANIFESTS, RESOURCE, RESOURCES, resource
from kube_nodes import add_node
from nodenet.core.hosted_cluster.node_report import ANNOTATION, parse
from vip_rig import API, DOMAIN, FIRST, INGRESS, Options, Rig, has, until

NODE = "/api/v1/nodes/master-0"
OFF, ON = "Disabled", "Enabled"


def answers(name: str, address: str) -> Callable[[Node], bool]:
    return lambda node: ask(node, f"{name}.{DOMAIN}") == f"NOERROR {address}"


SWITCHES: dict[str, tuple[Callable[[str], dict[str, Any]], Callable[[Node], bool]]] = {
    "nodesResolution": (lambda word: {"dns": {"nodesResolution": word}}, answers("master-0", f"10.88.0.{FIRST}")),
    "appsResolution": (lambda word: {"dns": {"appsResolution": word}}, answers("console.apps", INGRESS)),
    "apiInt": (lambda word: {"dns": {"apiInt": word}}, answers("api-int", API)),
    "ingressHa": (lambda word: {"ingressHa": word}, lambda node: has(node, INGRESS)),
}
"""Name → the edit of the spec, and whether the service works."""


def works(node: Node) -> dict[str, bool]:
    return {name: look(node) for name, (_, look) in SWITCHES.items()}


def processes(node: Node) -> str:
    """Return the processes that no switch may restart."""
    return node.run("systemctl show -P MainPID nodenetd nodenet-hosted nodenet-keepalived nodenet-haproxy").stdout


def edited(cluster: Cluster, node: Node, name: str, spec: dict[str, Any], wanted: dict[str, bool]) -> None:
    """Edit the object and wait until the node does what it asks for; print how long that took."""
    began = time.monotonic()
    cluster.admin.patch(RESOURCE, {"spec": spec})
    until(lambda: works(node) == wanted, f"{name} to be {wanted}")
    print(f"{name}: {time.monotonic() - began:.1f} s")  # noqa: T201  (a measurement)
    assert has(node, API), "the API VIP stays"


def report(cluster: Cluster) -> Any:
    """Return the report of the node, None while there is none."""
    text = cluster.admin.get(NODE)["metadata"].get("annotations", {}).get(ANNOTATION)
    return parse(text) if text else None


def test_each_switch_and_all_of_them_take_effect_live(lab: Lab, lan: Lan, product: Path) -> None:
    """One boot; the spec comes from the object, and the report goes into the own Node object."""
    rig = Rig(lab, lan, product, Options(nodes=1))
    node = rig.nodes["master-0"]
    with Cluster(lan) as cluster:
        for path in MANIFESTS:
            cluster.kubectl("apply", "-f", str(path))
        add_node(cluster, "master-0", 0)
        eventually(lambda: cluster.admin.find(RESOURCES), "the kind", timeout=60)
        cluster.admin.create(RESOURCES, resource())
        node.write("/etc/kubernetes/kubeconfig", cluster.node_client("master-0").kubeconfig(), 0o600)
        rig.boot()
        on = dict.fromkeys(SWITCHES, True)
        until(lambda: works(node) == on and has(node, API), "everything")
        before = processes(node)
        for name, (edit, _) in SWITCHES.items():
            edited(cluster, node, f"{name} off", edit(OFF), on | {name: False})
            edited(cluster, node, f"{name} on", edit(ON), on)
        nothing = {"dns": dict.fromkeys(("nodesResolution", "appsResolution", "apiInt"), OFF), "ingressHa": OFF}
        edited(cluster, node, "everything off", nothing, dict.fromkeys(SWITCHES, False))
        assert len(rig.document("master-0")["switched_off"]) == len(SWITCHES)
        everything = {"dns": dict.fromkeys(nothing["dns"], ON), "ingressHa": ON}
        edited(cluster, node, "everything on", everything, on)
        assert processes(node) == before, "only dnsmasq reads its configuration by a restart"
        until(lambda: report(cluster) is not None, "the report")  # the first one; others follow once a minute
        assert (report(cluster).mode, report(cluster).stack) == ("self-hosted", "nodenet")
        assert report(cluster).generation >= 1
