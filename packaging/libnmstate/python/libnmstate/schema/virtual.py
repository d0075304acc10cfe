"""Which keys do interfaces have that exist only in software?"""

from .interface import InterfaceType


class Bond:
    """Keys of `link-aggregation`."""

    KEY = InterfaceType.BOND
    CONFIG_SUBTREE = "link-aggregation"
    OPTIONS_SUBTREE = "options"
    PORTS_CONFIG_SUBTREE = "ports-config"

    MODE = "mode"
    PORT = "port"
    PORTS = "ports"

    class PortsConfig:
        """An element of `ports-config`."""

        NAME = "name"
        PRIORITY = "priority"
        QUEUE_ID = "queue-id"


class BondMode:
    """Values of a bond's `mode`."""

    ROUND_ROBIN = "balance-rr"
    ACTIVE_BACKUP = "active-backup"
    XOR = "balance-xor"
    BROADCAST = "broadcast"
    LACP = "802.3ad"
    TLB = "balance-tlb"
    ALB = "balance-alb"


class Veth:
    """Keys of `veth`."""

    TYPE = InterfaceType.VETH
    CONFIG_SUBTREE = "veth"

    PEER = "peer"


class VLAN:
    """Keys of `vlan`."""

    TYPE = InterfaceType.VLAN
    CONFIG_SUBTREE = "vlan"

    ID = "id"
    BASE_IFACE = "base-iface"
    PROTOCOL = "protocol"
    PROTOCOL_802_1AD = "802.1ad"
    PROTOCOL_802_1Q = "802.1q"


class VXLAN:
    """Keys of `vxlan`."""

    TYPE = InterfaceType.VXLAN
    CONFIG_SUBTREE = "vxlan"

    ID = "id"
    BASE_IFACE = "base-iface"
    LOCAL = "local"
    REMOTE = "remote"
    LEARNING = "learning"
    DESTINATION_PORT = "destination-port"


class VRF:
    """Keys of `vrf`."""

    TYPE = InterfaceType.VRF
    CONFIG_SUBTREE = "vrf"
    PORT_SUBTREE = "port"

    ROUTE_TABLE_ID = "route-table-id"


class InfiniBand:
    """Keys of `infiniband`."""

    TYPE = InterfaceType.INFINIBAND
    CONFIG_SUBTREE = "infiniband"

    BASE_IFACE = "base-iface"
    MODE = "mode"
    PKEY = "pkey"
    DEFAULT_PKEY = 0xFFFF

    class Mode:
        """Values of `mode`."""

        DATAGRAM = "datagram"
        CONNECTED = "connected"


class MacVlan:
    """Keys of `mac-vlan`."""

    TYPE = InterfaceType.MAC_VLAN
    CONFIG_SUBTREE = "mac-vlan"

    BASE_IFACE = "base-iface"
    MODE = "mode"
    PROMISCUOUS = "promiscuous"

    class Mode:
        """Values of `mode`."""

        BRIDGE = "bridge"
        PASSTHRU = "passthru"
        PRIVATE = "private"
        SOURCE = "source"
        VEPA = "vepa"
        UNKNOWN = "unknown"


class MacVtap(MacVlan):
    """Keys of `mac-vtap`."""

    TYPE = InterfaceType.MAC_VTAP
    CONFIG_SUBTREE = "mac-vtap"


class IpVlan:
    """Keys of `ipvlan`."""

    TYPE = InterfaceType.IPVLAN
    CONFIG_SUBTREE = "ipvlan"

    BASE_IFACE = "base-iface"
    MODE = "mode"
    PRIVATE = "private"
    VEPA = "vepa"

    class Mode:
        """Values of `mode`."""

        L2 = "l2"
        L3 = "l3"
        L3S = "l3s"


class MacSec:
    """Keys of `macsec`."""

    TYPE = InterfaceType.MACSEC
    CONFIG_SUBTREE = "macsec"

    BASE_IFACE = "base-iface"
    ENCRYPT = "encrypt"
    MKA_CAK = "mka-cak"
    MKA_CKN = "mka-ckn"
    PORT = "port"
    SEND_SCI = "send-sci"
    VALIDATION = "validation"
    OFFLOAD = "offload"


class Hsr:
    """Keys of `hsr`."""

    TYPE = InterfaceType.HSR
    CONFIG_SUBTREE = "hsr"

    PORT1 = "port1"
    PORT2 = "port2"
    INTERLINK = "interlink"
    SUPERVISION_ADDRESS = "supervision-address"
    MULTICAST_SPEC = "multicast-spec"
    PROTOCOL = "protocol"
