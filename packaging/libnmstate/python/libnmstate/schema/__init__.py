"""How are the keys and values of a state spelled?

One class for each section of a document; constants hold the spelling, so that a typo is an
AttributeError here and not an unknown key there.
"""

from .bridges import Bridge, LinuxBridge, OVSBridge, OvsDB, OVSInterface
from .hardware import LLDP, Ethernet, Ethtool, Ieee8021X
from .host import DNS, Constants, Description, HostNameState, Ovn, Route, RouteRule
from .interface import (
    Interface,
    InterfaceIP,
    InterfaceIPv4,
    InterfaceIPv6,
    InterfaceState,
    InterfaceType,
    Mptcp,
)
from .virtual import (
    VLAN,
    VRF,
    VXLAN,
    Bond,
    BondMode,
    Hsr,
    InfiniBand,
    IpVlan,
    MacSec,
    MacVlan,
    MacVtap,
    Veth,
)

__all__ = [
    "DNS",
    "LLDP",
    "VLAN",
    "VRF",
    "VXLAN",
    "Bond",
    "BondMode",
    "Bridge",
    "Constants",
    "Description",
    "Ethernet",
    "Ethtool",
    "HostNameState",
    "Hsr",
    "Ieee8021X",
    "InfiniBand",
    "Interface",
    "InterfaceIP",
    "InterfaceIPv4",
    "InterfaceIPv6",
    "InterfaceState",
    "InterfaceType",
    "IpVlan",
    "LinuxBridge",
    "MacSec",
    "MacVlan",
    "MacVtap",
    "Mptcp",
    "OVSBridge",
    "OVSInterface",
    "Ovn",
    "OvsDB",
    "Route",
    "RouteRule",
    "Veth",
]
