"""Which keys do bridges have, the kernel's and Open vSwitch's?"""

from .interface import InterfaceType


class Bridge:
    """Keys of any bridge."""

    CONFIG_SUBTREE = "bridge"
    OPTIONS_SUBTREE = "options"
    PORT_SUBTREE = "port"
    PORTS_SUBTREE = "ports"

    class Port:
        """An element of `port`."""

        NAME = "name"
        VLAN_SUBTREE = "vlan"

        class Vlan:
            """VLAN filtering of a port."""

            MODE = "mode"
            TAG = "tag"
            TRUNK_TAGS = "trunk-tags"
            ENABLE_NATIVE = "enable-native"

            class Mode:
                """Values of `mode`."""

                ACCESS = "access"
                TRUNK = "trunk"
                UNKNOWN = "unknown"

            class TrunkTags:
                """An element of `trunk-tags`."""

                ID = "id"
                ID_RANGE = "id-range"
                MIN_RANGE = "min"
                MAX_RANGE = "max"


class LinuxBridge(Bridge):
    """Keys of the kernel's bridge."""

    TYPE = InterfaceType.LINUX_BRIDGE
    STP_SUBTREE = "stp"
    MULTICAST_SUBTREE = "multicast"

    class Options:
        """Keys of `options`; the two timers at the end are read-only."""

        GROUP_ADDR = "group-addr"
        GROUP_FORWARD_MASK = "group-forward-mask"
        GROUP_FWD_MASK = "group-fwd-mask"
        HASH_ELASTICITY = "hash-elasticity"
        HASH_MAX = "hash-max"
        MAC_AGEING_TIME = "mac-ageing-time"
        VLAN_PROTOCOL = "vlan-protocol"

        MULTICAST_LAST_MEMBER_COUNT = "multicast-last-member-count"
        MULTICAST_LAST_MEMBER_INTERVAL = "multicast-last-member-interval"
        MULTICAST_MEMBERSHIP_INTERVAL = "multicast-membership-interval"
        MULTICAST_QUERIER = "multicast-querier"
        MULTICAST_QUERIER_INTERVAL = "multicast-querier-interval"
        MULTICAST_QUERY_INTERVAL = "multicast-query-interval"
        MULTICAST_QUERY_RESPONSE_INTERVAL = "multicast-query-response-interval"
        MULTICAST_QUERY_USE_IFADDR = "multicast-query-use-ifaddr"
        MULTICAST_ROUTER = "multicast-router"
        MULTICAST_SNOOPING = "multicast-snooping"
        MULTICAST_STARTUP_QUERY_COUNT = "multicast-startup-query-count"
        MULTICAST_STARTUP_QUERY_INTERVAL = "multicast-startup-query-interval"

        HELLO_TIMER = "hello-timer"
        GC_TIMER = "gc-timer"

    class Port(Bridge.Port):
        """An element of `port`."""

        STP_HAIRPIN_MODE = "stp-hairpin-mode"
        STP_PATH_COST = "stp-path-cost"
        STP_PRIORITY = "stp-priority"

    class STP:
        """Keys of `stp`."""

        ENABLED = "enabled"
        FORWARD_DELAY = "forward-delay"
        HELLO_TIME = "hello-time"
        MAX_AGE = "max-age"
        PRIORITY = "priority"


class OvsDB:
    """Keys of `ovs-db`; the columns keep the database's underscores."""

    KEY = "ovs-db"
    OVS_DB_SUBTREE = "ovs-db"

    EXTERNAL_IDS = "external_ids"
    OTHER_CONFIG = "other_config"


class OVSInterface(OvsDB):
    """Keys of an Open vSwitch interface."""

    TYPE = InterfaceType.OVS_INTERFACE
    PATCH_CONFIG_SUBTREE = "patch"
    DPDK_CONFIG_SUBTREE = "dpdk"

    class Patch:
        """Keys of `patch`."""

        PEER = "peer"

    class Dpdk:
        """Keys of `dpdk`."""

        DEVARGS = "devargs"
        RX_QUEUE = "rx-queue"
        N_RXQ_DESC = "n_rxq_desc"
        N_TXQ_DESC = "n_txq_desc"


class OVSBridge(Bridge, OvsDB):
    """Keys of an Open vSwitch bridge."""

    TYPE = InterfaceType.OVS_BRIDGE

    class Options:
        """Keys of `options`."""

        DATAPATH = "datapath"
        FAIL_MODE = "fail-mode"
        MCAST_SNOOPING_ENABLED = "mcast-snooping-enable"
        RSTP = "rstp"
        STP = "stp"

    class Port(Bridge.Port):
        """An element of `port`."""

        LINK_AGGREGATION_SUBTREE = "link-aggregation"

        class LinkAggregation:
            """A bond made by Open vSwitch."""

            MODE = "mode"
            PORT_SUBTREE = "port"
            OVS_DB_SUBTREE = "ovs-db"

            class Port:
                """An element of `port`."""

                NAME = "name"

            class Options:
                """Timers of the bond, in milliseconds."""

                DOWN_DELAY = "bond-downdelay"
                UP_DELAY = "bond-updelay"

            class Mode:
                """Values of `mode`."""

                ACTIVE_BACKUP = "active-backup"
                BALANCE_SLB = "balance-slb"
                BALANCE_TCP = "balance-tcp"
                LACP = "lacp"
