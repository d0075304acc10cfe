"""How does the kubelet of this node learn its node IP, and which one does a running kubelet have?

kubelet takes it only from `--node-ip` on its command line. OpenShift's unit passes KUBELET_NODE_IP. kubeadm's unit
passes variables such as KUBELET_KUBECONFIG_ARGS (10-kubeadm.conf) and KUBELET_EXTRA_ARGS, the administrator's. k3s and
RKE2 read files (config.yaml.d) and pass what they read. Units are judged by their ExecStart=, not by a name.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address

from nodenet.core.ip import IPAddress
from nodenet.core.value import frozen

KUBELET = "kubelet.service"
MICROK8S = "snap.microk8s.daemon-kubelite.service"
RANCHER = {
    **{f"k3s{suffix}.service": "k3s" for suffix in ("", "-agent")},
    **{f"rke2-{role}.service": "rke2" for role in ("server", "agent")},
}
"""Units that run a kubelet inside, and the directory of each below /etc/rancher."""
UNITS = (KUBELET, *RANCHER, MICROK8S)
PROGRAMS = ("kubelet", "kubelite")
"""Programs that take the options of a kubelet on their command line; k3s does not: it contains a kubelet."""
FLAG = "--node-ip"


@frozen
class Wiring:
    """What the units of this node need, besides variables, to start kubelet with the node IP.

    *variable*: one that kubelet.service passes to kubelet as arguments, and its value; None: it needs none, or has
    none that no environment file sets. *rancher*: the units of k3s and RKE2, and whether each has to read the node IP
    from a file: one with `--node-ip` in its own command would get both.
    """

    variable: tuple[str, str] | None = None
    rancher: tuple[tuple[str, bool], ...] = ()


def has_node_ip(words: Sequence[str]) -> bool:
    """Return whether the command *words* names a node IP."""
    return any(word == FLAG or word.startswith(f"{FLAG}=") for word in words)


def given(arguments: Sequence[str]) -> str | None:
    """Return the value of `--node-ip` in the *arguments* of a kubelet, None without any; the last one counts."""
    found = None
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        if word == FLAG:
            found = following
        elif word.startswith(f"{FLAG}="):
            found = word.partition("=")[2]
    return found or None


def means(value: str, node_ips: Sequence[IPAddress]) -> bool:
    """Return whether kubelet with `--node-ip` of *value* has the published *node_ips*, or the primary one alone."""
    try:
        addresses = [ip_address(text.strip()) for text in value.split(",")]
    except ValueError:
        return False
    return addresses in (list(node_ips), list(node_ips[:1]))
