"""Which stages exist, in which order, and which module builds each? The only table of stages.

Everything that names a stage (settings, status, `nodenetctl wait`, evidence of units, boot report) derives from it. To
add a stage is to add a row here and the module that it names.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class StageName(StrEnum):
    """The stages, under the names that administrators of such nodes know, in their order.

    A row has the name, and the module below ``nodenet.stages`` whose function ``build`` makes the stage; "" for a stage
    that this version does not have: it is skipped, and says so.
    """

    HOSTNAME = "hostname", "hostname"
    NMSTATE = "nmstate", "nmstate.stage"
    RESOLV_PREPENDER = "resolv-prepender", "resolver"
    NODEIP = "nodeip", "node_ip.stage"
    CONFIGURE_OVS = "configure-ovs", "br_ex.wiring"
    HOSTED_SERVICES = "hosted-services", "hosted_services.stage"

    module: str

    def __new__(cls, name: str, module: str = "") -> Self:
        """Return a member whose value is its *name*."""
        member = str.__new__(cls, name)
        member._value_, member.module = name, module
        return member
