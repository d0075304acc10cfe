"""Which keys do network cards have?"""

from .interface import InterfaceType


class Ethernet:
    """Keys of `ethernet`."""

    TYPE = InterfaceType.ETHERNET
    CONFIG_SUBTREE = "ethernet"
    SRIOV_SUBTREE = "sr-iov"

    AUTO_NEGOTIATION = "auto-negotiation"
    SPEED = "speed"
    DUPLEX = "duplex"
    FULL_DUPLEX = "full"
    HALF_DUPLEX = "half"

    class SRIOV:
        """Keys of `sr-iov`."""

        DRIVERS_AUTOPROBE = "drivers-autoprobe"
        TOTAL_VFS = "total-vfs"
        VFS_SUBTREE = "vfs"

        class VFS:
            """An element of `vfs`."""

            ID = "id"
            MAC_ADDRESS = "mac-address"
            SPOOF_CHECK = "spoof-check"
            TRUST = "trust"
            MIN_TX_RATE = "min-tx-rate"
            MAX_TX_RATE = "max-tx-rate"
            VLAN_ID = "vlan-id"
            QOS = "qos"


class Ethtool:
    """Keys of `ethtool`."""

    CONFIG_SUBTREE = "ethtool"

    class Pause:
        """Keys of `pause`."""

        CONFIG_SUBTREE = "pause"

        AUTO_NEGOTIATION = "autoneg"
        RX = "rx"
        TX = "tx"

    class Feature:
        """Features have the kernel's names: `ethtool -k`."""

        CONFIG_SUBTREE = "feature"

    class Ring:
        """Keys of `ring`."""

        CONFIG_SUBTREE = "ring"

        RX = "rx"
        RX_JUMBO = "rx-jumbo"
        RX_MINI = "rx-mini"
        TX = "tx"

    class Coalesce:
        """Keys of `coalesce`."""

        CONFIG_SUBTREE = "coalesce"

        ADAPTIVE_RX = "adaptive-rx"
        ADAPTIVE_TX = "adaptive-tx"
        PKT_RATE_HIGH = "pkt-rate-high"
        PKT_RATE_LOW = "pkt-rate-low"
        SAMPLE_INTERVAL = "sample-interval"
        STATS_BLOCK_USECS = "stats-block-usecs"

        RX_FRAMES = "rx-frames"
        RX_FRAMES_HIGH = "rx-frames-high"
        RX_FRAMES_IRQ = "rx-frames-irq"
        RX_FRAMES_LOW = "rx-frames-low"
        RX_USECS = "rx-usecs"
        RX_USECS_HIGH = "rx-usecs-high"
        RX_USECS_IRQ = "rx-usecs-irq"
        RX_USECS_LOW = "rx-usecs-low"

        TX_FRAMES = "tx-frames"
        TX_FRAMES_HIGH = "tx-frames-high"
        TX_FRAMES_IRQ = "tx-frames-irq"
        TX_FRAMES_LOW = "tx-frames-low"
        TX_USECS = "tx-usecs"
        TX_USECS_HIGH = "tx-usecs-high"
        TX_USECS_IRQ = "tx-usecs-irq"
        TX_USECS_LOW = "tx-usecs-low"


class Ieee8021X:
    """Keys of `802.1x`."""

    CONFIG_SUBTREE = "802.1x"

    IDENTITY = "identity"
    EAP_METHODS = "eap-methods"
    PHASE2_AUTH = "phase2-auth"
    CA_CERT = "ca-cert"
    CLIENT_CERT = "client-cert"
    PRIVATE_KEY = "private-key"
    PRIVATE_KEY_PASSWORD = "private-key-password"  # noqa: S105 - the name of a key
    PASSWORD = "password"  # noqa: S105 - the name of a key


class LLDP:
    """Keys of `lldp`."""

    CONFIG_SUBTREE = "lldp"
    NEIGHBORS_SUBTREE = "neighbors"

    ENABLED = "enabled"

    class Neighbors:
        """A TLV that a neighbour sent."""

        DESCRIPTION = "_description"
        ORGANIZATION_CODE = "oui"
        TLV_TYPE = "type"
        TLV_SUBTYPE = "subtype"
