"""What does Open vSwitch's database hold: bridges, their ports and interfaces?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from nodenet.core.network_manager.profiles import MADE_BY_NM, _nothing
from nodenet.core.value import frozen

PHYSICAL = frozenset({"", "system", "dpdk", "afxdp"})
"""Types of interfaces of Open vSwitch that are a link of the host (ovs-vswitchd.conf.db(5), Interface)."""


@frozen
class OvsInterface:
    """A row of the table Interface; *kind* is its ``type`` ("" or ``system``, ``internal``, ``patch`` …).

    *ofport* is its OpenFlow port number, None while it has none; *ofport_request* the one that it is to have. *options*
    are those of its kind: the ``peer`` of a patch port.
    """

    name: str
    kind: str = ""
    error: str | None = None
    external_ids: Mapping[str, str] = field(default_factory=_nothing)
    ofport: int | None = None
    ofport_request: int | None = None
    options: Mapping[str, str] = field(default_factory=_nothing)


@frozen
class OvsPort:
    """A row of the table Port."""

    name: str
    interfaces: tuple[OvsInterface, ...] = ()
    external_ids: Mapping[str, str] = field(default_factory=_nothing)

    @property
    def by_network_manager(self) -> bool:
        """Whether NetworkManager put it there."""
        return MADE_BY_NM in self.external_ids


@frozen
class OvsBridge:
    """A row of the table Bridge; *datapath* is ``datapath_type``: "" or ``system``, ``netdev``."""

    name: str
    datapath: str = ""
    ports: tuple[OvsPort, ...] = ()
    external_ids: Mapping[str, str] = field(default_factory=_nothing)
