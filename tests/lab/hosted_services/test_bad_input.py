"""Bad input on a booted node: named with the remedy, what is valid goes on, and nothing that runs is stopped."""

from __future__ import annotations

from dns_questions import ask
from factories import NodeFactory
from harness import Dhcp, Ipv6, Lan, Node
from nodenet.core.hosted_services.cluster import Cached, render_cached
from story import nothing_left, settle, status

API_INT = "api-int.c.example.com"
CASE = "/etc/nodenet/nodenet.toml.d/30-case.toml"
RESOURCE = "/etc/nodenet/hostednetservices.yaml"
AUTHORITY = "/etc/nodenet/nodenet.toml.d/20-ca.toml"
CA = "The CA /etc/kubernetes/ca.crt cannot be read: No such file or directory"
NODES = [
    {
        "metadata": {"name": name, "labels": {f"node-role.kubernetes.io/{role}": ""}},
        "status": {"addresses": [{"type": "InternalIP", "address": address}]},
    }
    for name, role, address in (("m0", "control-plane", "10.88.0.250"), ("w0", "worker", "10.88.0.251"))
]
FILED = """apiVersion: clusterhostednetservices.operator.io/v1alpha1
kind: HostedNetServices
metadata: {{name: {name}}}
spec: {spec}
"""
NOT_USED = "HostedNetServices (file) is not used"
PID = "systemctl show -P MainPID nodenet-keepalived"


def last_cause(node: Node) -> str:
    error = status(node)["last_error"]
    return str(error["cause"]) if error else ""


def reload(node: Node) -> None:
    node.run("nodenetctl reload --wait", check=False, timeout=120)
    settle(node)


def test_what_cannot_be_right_is_named_and_nothing_is_torn_down(
    hosted_node: NodeFactory,
    lan: Lan,
) -> None:
    """One boot, one contradiction after another: settings, the resource as a file, and a CA that is missing."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    cache = render_cached(Cached(NODES, "c.example.com", "7"))
    no_ca = 'hosted.ca_file = "/etc/kubernetes/ca.crt"\n'
    node = hosted_node(files={"/var/lib/nodenet/hosted/nodes.json": cache, AUTHORITY: no_ca})
    node.boot()
    assert settle(node)["health"] == "ok", last_cause(node)
    node.wait_until("systemctl is-active nodenet-keepalived", timeout=20)
    pid = node.run(PID).stdout
    # A CA that does not exist: named by the companion; DNS and VIPs do not depend on it.
    node.wait_until(f"journalctl -b -u nodenet-hosted | grep -q '{CA}'", timeout=30)
    cases = [
        ('ingress_vips = ["10.88.0.251"]\n', "", "The VIP 10.88.0.251 is the address of node w0"),
        ('ingress_vips = ["192.0.2.3"]\n', "", "No subnet of this node contains the VIP 192.0.2.3"),
        (
            '[hosted]\nrole = "worker"\n',
            "",
            "`[hosted] role` is worker and the cluster lists this node as control-plane",
        ),
        (
            "",
            FILED.format(name="cluster", spec="{apiintIpAddress: 10.88.0.7, dns: {apiintIpAddress: 10.88.0.8}}"),
            f"{NOT_USED}: spec.apiintIpAddress and spec.dns.apiintIpAddress differ: keep one of them",
        ),
        (
            "",
            FILED.format(name="other", spec="{}"),
            f"{NOT_USED}: metadata.name is 'other'; there is one object, and its name is cluster",
        ),
        (
            "",
            FILED.format(name="cluster", spec="{apiintIpAddress: 10.88.0.250}"),
            "apiintIpAddress 10.88.0.250 is the address of node m0",
        ),
    ]
    for settings, filed, cause in cases:
        node.write(CASE, settings)
        node.write(RESOURCE, filed or FILED.format(name="cluster", spec="{}"))
        reload(node)
        assert last_cause(node) == cause
        assert status(node)["health"] == "degraded"
        assert ask(node, API_INT) == "NOERROR 10.88.0.5"
    node.write(CASE, '[hosted]\nrole = "master"\n')
    refused = node.run("nodenetctl reload --wait", check=False, timeout=60)
    assert refused.returncode == 78
    assert "hosted.role = 'master': expected one of auto, control-plane, worker" in refused.stderr
    node.run(["rm", CASE, RESOURCE])
    reload(node)
    assert status(node)["health"] == "ok", last_cause(node)
    # keepalived is the same process as before: only reloads came its way.
    assert node.run(PID).stdout == pid
    nothing_left(node)
