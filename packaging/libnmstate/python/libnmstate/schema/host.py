"""Which keys belong to the host as a whole?"""

from .interface import Interface


class Route:
    """Keys of `routes` and of a route."""

    KEY = "routes"

    CONFIG = "config"
    RUNNING = "running"

    STATE = "state"
    STATE_ABSENT = "absent"

    DESTINATION = "destination"
    NEXT_HOP_ADDRESS = "next-hop-address"
    NEXT_HOP_INTERFACE = "next-hop-interface"
    METRIC = "metric"
    TABLE_ID = "table-id"
    WEIGHT = "weight"
    SOURCE = "source"
    ROUTE_TYPE = "route-type"

    USE_DEFAULT_METRIC = -1
    USE_DEFAULT_ROUTE_TABLE = 0


class RouteRule:
    """Keys of `route-rules` and of a rule."""

    KEY = "route-rules"

    CONFIG = "config"

    STATE = "state"
    STATE_ABSENT = "absent"

    FAMILY = "family"
    FAMILY_IPV4 = "ipv4"
    FAMILY_IPV6 = "ipv6"

    IP_FROM = "ip-from"
    IP_TO = "ip-to"
    IIF = "iif"
    FWMARK = "fwmark"
    FWMASK = "fwmask"
    SUPPRESS_PREFIX_LENGTH = "suppress-prefix-length"
    PRIORITY = "priority"
    ROUTE_TABLE = "route-table"

    ACTION = "action"
    ACTION_BLACKHOLE = "blackhole"
    ACTION_PROHIBIT = "prohibit"
    ACTION_UNREACHABLE = "unreachable"

    USE_DEFAULT_PRIORITY = -1
    USE_DEFAULT_ROUTE_TABLE = 0


class DNS:
    """Keys of `dns-resolver`."""

    KEY = "dns-resolver"

    CONFIG = "config"
    RUNNING = "running"

    SERVER = "server"
    SEARCH = "search"
    OPTIONS = "options"


class HostNameState:
    """Keys of `hostname`."""

    KEY = "hostname"

    CONFIG = "config"
    RUNNING = "running"


class Description:
    """The remark on a whole document."""

    KEY = "description"


class Ovn:
    """Keys of `ovn`."""

    KEY = "ovn"
    BRIDGE_MAPPINGS = "bridge-mappings"

    class BridgeMappings:
        """An element of `bridge-mappings`."""

        LOCALNET = "localnet"
        BRIDGE = "bridge"
        STATE = "state"


class Constants:
    """Sections of a document."""

    INTERFACES = Interface.KEY
    ROUTES = Route.KEY
    DNS = DNS.KEY
