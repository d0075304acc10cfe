"""Each switch of the object HostedNetServices off and on while the node runs, and what the node reports."""

from __future__ import annotations

import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from harness import Lab, LabError, Lan, Node, eventually
from harness.kube import Cluster
from harness.lan import Dhcp
from hosted_cluster_objects import MANIFESTS, RESOURCE, RESOURCES, resource
from kube_nodes import add_node
from nodenet.core.hosted_cluster.node_report import ANNOTATION, parse
from switch_watch import NONE, RIGHT, Watched, dns_watched, tcp_watched
from vip_rig import API, DOMAIN, FIRST, INGRESS, Options, Rig, until

NODE = "/api/v1/nodes/master-0"
OFF, ON = "Disabled", "Enabled"
SECONDS = 5.0
"""Until an edit is seen. The quicker one of two edits counts: the machine may stand still during one of them."""
NAMES = {
    "nodesResolution": (f"master-0.{DOMAIN}", f"10.88.0.{FIRST}"),
    "appsResolution": (f"console.apps.{DOMAIN}", INGRESS),
    "apiInt": (f"api-int.{DOMAIN}", API),
}
SERVERS = {"ingressHa": (INGRESS, 9), "API": (API, 6443)}
"""No program listens on port 9: the holder of the ingress VIP refuses."""
SWITCHES = (*NAMES, "ingressHa")


def spec(word: str, *names: str) -> dict[str, Any]:
    """Return the edit that sets switches to *word*."""
    return {
        "dns": {name: word for name in names if name in NAMES},
        **({"ingressHa": word} if "ingressHa" in names else {}),
    }


class Switches:
    """The switches of one object, and what is seen of them on the node and on the LAN."""

    def __init__(self, cluster: Cluster, dns: Watched, vips: Watched) -> None:
        self.cluster = cluster
        self.dns = dns
        self.vips = vips
        self.took: dict[tuple[str, str], list[float]] = defaultdict(list)
        """Switch and word → the seconds until each edit was seen."""

    def states(self) -> dict[str, str]:
        return self.dns.states() | self.vips.states()

    def edit(self, word: str, *names: str) -> None:
        """Edit the object, and wait until each of *names* follows on the wire; no other one has another answer."""
        wanted = dict.fromkeys(names, RIGHT if word == ON else NONE)
        others = {name: state for name, state in self.states().items() if name not in names}
        began = time.monotonic()
        self.cluster.admin.patch(RESOURCE, {"spec": spec(word, *names)})
        try:
            until(lambda: wanted.items() <= self.states().items(), f"{names} to be {word}")
        except LabError as error:
            raise LabError(f"{error}: {self.states()}") from error
        for name, state in wanted.items():
            seconds = (self.vips if name == "ingressHa" else self.dns).after(began, name, state)
            assert seconds is not None
            self.took[name, word].append(seconds)
        seen = [line for watched in (self.dns, self.vips) for line in watched.lines()]
        strange = {RIGHT: NONE, NONE: RIGHT}
        other = [
            line for line in seen if line[0] > began and line[1] in others and line[2] == strange.get(others[line[1]])
        ]
        assert other == [], "an edit changes nothing else"


def processes(node: Node) -> str:
    """Return the processes that no switch may restart."""
    return node.run("systemctl show -P MainPID nodenetd nodenet-hosted nodenet-keepalived nodenet-haproxy").stdout


def report(cluster: Cluster) -> Any:
    """Return the report of the node, None while there is none."""
    text = cluster.admin.get(NODE)["metadata"].get("annotations", {}).get(ANNOTATION)
    return parse(text) if text else None


def test_each_switch_and_all_of_them_take_effect_live_within_five_seconds(
    lab: Lab, lan: Lan, product: Path, tmp_path: Path
) -> None:
    """One boot; the spec comes from the object, and the report goes into the own Node object."""
    # With 1 s between two advertisements, VRRP alone waits 3.9 s before a VIP that was off is taken.
    # The site's server denies names of the cluster: where every server refuses a name, dnsmasq gives no answer.
    lan.start_dhcp(Dhcp(extra=(f"--local=/{DOMAIN}/",)))
    rig = Rig(lab, lan, product, Options(nodes=1, advert=0.5))
    node = rig.nodes["master-0"]
    with Cluster(lan) as cluster:
        for path in MANIFESTS:
            cluster.kubectl("apply", "-f", str(path))
        add_node(cluster, "master-0", 0)
        eventually(lambda: cluster.admin.find(RESOURCES), "the kind", timeout=60)
        cluster.admin.create(RESOURCES, resource())
        node.write("/etc/kubernetes/kubeconfig", cluster.node_client("master-0").kubeconfig(), 0o600)
        rig.boot()
        rig.quiet()
        with (
            dns_watched(node, tmp_path / "dns", NAMES) as dns,
            tcp_watched(lan, tmp_path / "vips", SERVERS) as vips,
        ):
            switches = Switches(cluster, dns, vips)
            until(lambda: switches.states() == dict.fromkeys((*SWITCHES, "API"), RIGHT), "everything")
            before = processes(node)
            for name in SWITCHES:
                switches.edit(OFF, name)
                switches.edit(ON, name)
            switches.edit(OFF, *SWITCHES)
            assert len(rig.document("master-0")["switched_off"]) == len(SWITCHES)
            switches.edit(ON, *SWITCHES)
        shown = {f"{name} {word}": [round(one, 1) for one in took] for (name, word), took in switches.took.items()}
        print(shown)  # noqa: T201  (a measurement)
        assert {name: took for name, took in switches.took.items() if min(took) > SECONDS} == {}
        assert processes(node) == before, "only dnsmasq reads its configuration by a restart"
        until(lambda: report(cluster) is not None, "the report")  # the first one; others follow once a minute
        assert (report(cluster).mode, report(cluster).stack) == ("self-hosted", "nodenet")
        assert report(cluster).generation >= 1
