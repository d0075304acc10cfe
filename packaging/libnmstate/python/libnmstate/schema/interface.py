"""Which keys does every interface have?"""


class Interface:
    """An element of the list `interfaces`."""

    KEY = "interfaces"

    NAME = "name"
    TYPE = "type"
    STATE = "state"
    DESCRIPTION = "description"
    PROFILE_NAME = "profile-name"
    IDENTIFIER = "identifier"
    DRIVER = "driver"
    CONTROLLER = "controller"
    WAIT_IP = "wait-ip"

    MAC = "mac-address"
    PERMANENT_MAC = "permanent-mac-address"
    PCI_ADDRESS = "pci-address"
    COPY_MAC_FROM = "copy-mac-from"
    ACCEPT_ALL_MAC_ADDRESSES = "accept-all-mac-addresses"
    ALT_NAMES = "alt-names"

    MTU = "mtu"
    MIN_MTU = "min-mtu"
    MAX_MTU = "max-mtu"

    IPV4 = "ipv4"
    IPV6 = "ipv6"
    MPTCP = "mptcp"
    DISPATCH = "dispatch"


class InterfaceState:
    """What an interface shall be."""

    KEY = Interface.STATE

    UP = "up"
    DOWN = "down"
    ABSENT = "absent"
    IGNORE = "ignore"


class InterfaceType:
    """Kinds of interfaces."""

    KEY = Interface.TYPE

    BOND = "bond"
    DUMMY = "dummy"
    ETHERNET = "ethernet"
    HSR = "hsr"
    INFINIBAND = "infiniband"
    IPSEC = "ipsec"
    IPVLAN = "ipvlan"
    IP_TUNNEL = "ip-tunnel"
    LINUX_BRIDGE = "linux-bridge"
    LOOPBACK = "loopback"
    MACSEC = "macsec"
    MAC_VLAN = "mac-vlan"
    MAC_VTAP = "mac-vtap"
    OVS_BRIDGE = "ovs-bridge"
    OVS_INTERFACE = "ovs-interface"
    OVS_PORT = "ovs-port"
    TUN = "tun"
    VETH = "veth"
    VLAN = "vlan"
    VRF = "vrf"
    VXLAN = "vxlan"
    XFRM = "xfrm"
    OTHER = "other"
    UNKNOWN = "unknown"

    VIRT_TYPES = (
        BOND,
        DUMMY,
        LINUX_BRIDGE,
        OVS_BRIDGE,
        OVS_PORT,
        OVS_INTERFACE,
        VETH,
        VLAN,
        VXLAN,
    )


class InterfaceIP:
    """Keys of `ipv4` and `ipv6` alike."""

    ENABLED = "enabled"
    DHCP = "dhcp"
    FORWARDING = "forwarding"

    ADDRESS = "address"
    ADDRESS_IP = "ip"
    ADDRESS_PREFIX_LENGTH = "prefix-length"
    ALLOW_EXTRA_ADDRESS = "allow-extra-address"
    MPTCP_FLAGS = "mptcp-flags"

    AUTO_DNS = "auto-dns"
    AUTO_GATEWAY = "auto-gateway"
    AUTO_ROUTES = "auto-routes"
    AUTO_ROUTE_TABLE_ID = "auto-route-table-id"
    AUTO_ROUTE_METRIC = "auto-route-metric"

    DHCP_SEND_HOSTNAME = "dhcp-send-hostname"
    DHCP_CUSTOM_HOSTNAME = "dhcp-custom-hostname"


class InterfaceIPv4(InterfaceIP):
    """Keys of `ipv4`."""

    DHCP_CLIENT_ID = "dhcp-client-id"


class InterfaceIPv6(InterfaceIP):
    """Keys of `ipv6`."""

    AUTOCONF = "autoconf"
    DHCP_DUID = "dhcp-duid"
    TOKEN = "token"  # noqa: S105 - the host part of an address, no secret
    ADDR_GEN_MODE = "addr-gen-mode"
    ADDR_GEN_MODE_EUI64 = "eui64"
    ADDR_GEN_MODE_STABLE_PRIVACY = "stable-privacy"


class Mptcp:
    """Keys of `mptcp`."""

    ADDRESS_FLAGS = "address-flags"

    FLAG_SIGNAL = "signal"
    FLAG_SUBFLOW = "subflow"
    FLAG_BACKUP = "backup"
    FLAG_FULLMESH = "fullmesh"
