"""What can be set about persistent IPs: the table ``[ipam]``?"""

from __future__ import annotations

from enum import StrEnum

from nodenet.core.value import frozen


class NotAllowed(StrEnum):
    """``[ipam] claim_not_allowed``: what a pod gets that references a claim on a network without allowPersistentIPs.

    *ignore*: an address that is released with the pod, as if there were no reference.
    """

    ERROR = "error"
    IGNORE = "ignore"


@frozen
class IpamSettings:
    """The table ``[ipam]``."""

    kubeconfig: str = ""
    """Credentials of the API for claims; empty: those of ``[kubernetes]``."""
    cni_bin_dirs: tuple[str, ...] = ("/opt/cni/bin", "/var/lib/cni/bin")
    """Directories that get a copy of the CNI plugin, where they exist."""
    lease_namespace: str = "nodenet-ipam"
    """The namespace of the Leases that make an address unique in the cluster; the same on every node."""
    claim_not_allowed: NotAllowed = NotAllowed.ERROR
