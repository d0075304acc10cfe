"""What does haproxy's configuration say on a node that balances the API? (haproxy's configuration manual, 2.6)

haproxy passes TCP on; TLS ends at the API servers. It asks each API server for ``/readyz`` over TLS and believes only a
certificate that the cluster's CA signed for ``api-int``.

A control-plane node balances for the clients of the VIP that it may hold. A worker that balances does so for its own
programs alone: haproxy listens on loopback there, and connections of other hosts are not redirected. kubelet then has
the API while no node holds the VIP.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from ipaddress import ip_address

from nodenet.core.hosted_services.duties import Duty, role_of
from nodenet.core.hosted_services.model import SERVER_STATES, Inputs, Role, Service, of_family
from nodenet.core.ip import Family, IPAddress, family_of

SOCKET = "/run/nodenet-haproxy/admin.sock"
"""haproxy's own socket, in a directory that systemd makes for it: it runs as a user that may write nowhere else."""
READY_SOCKET = "/run/nodenet-haproxy/ready.sock"
"""haproxy answers ``/haproxy_ready`` here: the health check of this node's own balancer.

A Unix socket for the group of haproxy's user alone. On a port, any user of the node could take all its connections, and
a healthy balancer would lose the VIP.
"""
STATE_SOCKET = "/run/nodenet-haproxy/state.sock"
"""haproxy says here which API servers are alive, and takes no order: for the same group."""
CLIENT_SECONDS = 86400
"""Watches of the API are long and may be silent."""
MOST_CONNECTIONS = 20000
"""Connections of clients at a time; further ones wait in the kernel's queue."""
MOST_OF_ONE = MOST_CONNECTIONS // 4
"""Connections of one address: no host alone closes the API to the others."""
SILENT_SECONDS = 10
"""A client of TLS speaks first; one that says nothing is cut off, as API servers do."""
MOST_CHECKS = 100
"""Connections of health checks, beyond those of clients: haproxy that serves all it can is healthy."""


def configuration(inputs: Inputs, duties: tuple[Duty, ...]) -> str | None:
    """Return the configuration, None when this node does not balance the API."""
    if not any(duty.wanted for duty in duties if duty.service is Service.HAPROXY):
        return None
    sections = (_global(inputs), _DEFAULTS, _frontends(inputs), _backend(inputs))
    return "# Made by nodenet-hosted; changes are overwritten.\n" + "\n".join(sections)


def backends(inputs: Inputs) -> tuple[tuple[str, IPAddress], ...]:
    """Return name and address of each API server, by name; the family is that of this node's first node IP."""
    family = next((family_of(address) for address in inputs.here.addresses), Family.IPV4)
    found = [(node.name, of_family(node.addresses, family)) for node in inputs.nodes if node.role is Role.CONTROL_PLANE]
    return tuple(sorted((name, address) for name, address in found if address is not None))


def _global(inputs: Inputs) -> str:
    return "\n".join(
        (
            "global",
            f"    stats socket {SOCKET} mode 600 level admin expose-fd listeners",
            f"    stats socket {STATE_SOCKET} mode 660 level user",
            f"    server-state-file {SERVER_STATES}",
            f"    hard-stop-after {inputs.options.drain_seconds}s",
            f"    maxconn {MOST_CONNECTIONS + MOST_CHECKS}",
            "    no strict-limits",  # fewer connections, and not none, where the system allows fewer open files
            "",
        )
    )


# An API server that refuses a connection is dead: the next attempt goes to another one, at once. A connection that one
# side has closed ends soon: abandoned ones would otherwise fill the table for a day (OCPBUGS-62232).
_DEFAULTS = f"""\
defaults
    mode tcp
    timeout connect 2s
    timeout client {CLIENT_SECONDS}s
    timeout server {CLIENT_SECONDS}s
    timeout client-fin 5s
    timeout server-fin 5s
    timeout check 5s
    option redispatch 1
    retries 3
"""


def _frontends(inputs: Inputs) -> str:
    families = {family_of(address) for address in inputs.here.addresses}
    port = inputs.options.lb_port
    v4, v6 = ("127.0.0.1:", "[::1]:") if role_of(inputs) is Role.WORKER else ("0.0.0.0:", "[::]:")
    binds = [f"    bind {v4}{port}"] if Family.IPV4 in families else []
    binds += [f"    bind {v6}{port} v6only"] if Family.IPV6 in families else []
    lines = ["frontend clients", f"    maxconn {MOST_CONNECTIONS}", *binds, *_CLIENTS]
    lines += ["frontend ready", f"    maxconn {MOST_CHECKS}", "    mode http", f"    bind {READY_SOCKET} mode 660"]
    lines += ["    timeout client 5s"]
    lines += ["    monitor-uri /haproxy_ready", "    monitor fail if { nbsrv(api) lt 1 }", ""]
    return "\n".join(lines)


# Without a server that passes its check, all are asked: slow ones still serve, and dead ones cost one attempt.
_CLIENTS = (
    "    stick-table type ipv6 size 100k expire 1m store conn_cur",
    "    tcp-request connection track-sc0 src",
    f"    tcp-request connection reject if {{ sc0_conn_cur gt {MOST_OF_ONE} }}",
    f"    tcp-request inspect-delay {SILENT_SECONDS}s",
    "    tcp-request content accept if { req.len gt 0 }",
    "    tcp-request content reject if WAIT_END",
    "    use_backend unchecked if { nbsrv(api) lt 1 }",
    "    default_backend api",
    "",
)


def _backend(inputs: Inputs) -> str:
    name = inputs.options.api_int_name
    check = (
        f"    default-server check check-ssl check-sni {name} verify required verifyhost {name} "
        f"ca-file {inputs.options.ca_file} inter 1s fastinter 500ms fall 3 rise 3 "
        "slowstart 10s on-marked-down shutdown-sessions"
    )
    lines = [f"# CA: {inputs.authority}"] if inputs.authority else []
    lines += ["backend api", "    balance roundrobin", "    load-server-state-from-file global", "    option httpchk"]
    lines += [
        f"    http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host {name}",
        "    http-check expect status 200",
    ]
    lines += [check]
    port = inputs.options.api_port
    servers = [f"    server {server} {_bracketed(address)}:{port}" for server, address in backends(inputs)]
    lines += [*servers, "", "backend unchecked", "    balance roundrobin", *servers]
    return "\n".join([*lines, ""])


def _bracketed(address: IPAddress) -> str:
    return f"[{address}]" if family_of(address) is Family.IPV6 else str(address)


# Which rules send connections to an API VIP through this node's haproxy? (nft(8))
#
# The table is nodenet's own and is replaced as a whole in one transaction. It exists only while this node's haproxy is
# alive, on a worker only while an API server answers it: without the table a connection to the VIP reaches the API
# server of the node that holds the VIP.

TABLE = "inet nodenet_hosted"
_BEFORE = -100
"""NF_IP_PRI_NAT_DST; nft knows its name, dstnat, in the hook prerouting only."""
REMOVAL = f"table {TABLE}\ndelete table {TABLE}\n"
"""Removes the table, and is no error where there is none: it is declared first."""
BY_WIRE = 0x20
"""The mark (SO_MARK, socket(7)) of connections from this node that go to the holder of the VIP."""
_TO_ANOTHER_NODE = f'        meta mark {BY_WIRE:#x} oifname != "lo" accept'
"""Otherwise this node's check of the VIP would end at its own haproxy, and say nothing about the holder."""


def redirect_rules(inputs: Inputs, duties: tuple[Duty, ...]) -> str | None:
    """Return the rules in nft's syntax, None when this node balances no VIP."""
    if not any(duty.wanted for duty in duties if duty.service is Service.REDIRECT):
        return None
    lines = []
    for vip in inputs.options.api_vips:
        protocol = "ip6" if family_of(vip) is Family.IPV6 else "ip"
        match = f"{protocol} daddr {vip} tcp dport {inputs.options.api_port}"
        lines.append(f"        {match} redirect to :{inputs.options.lb_port}")
    chains = [_chain("from_here", "output", [_TO_ANOTHER_NODE, *lines])]
    if role_of(inputs) is not Role.WORKER:
        chains.insert(0, _chain("from_outside", "prerouting", lines))
    return f"{REMOVAL}table {TABLE} {{\n" + "\n".join(chains) + "}\n"


def ports(text: str) -> frozenset[str]:
    """Return the ports to which the rules in *text* lead; they may be as nft prints them."""
    return frozenset(re.findall(r"redirect to :(\d+)", text))


def _chain(name: str, hook: str, lines: list[str]) -> str:
    head = f"    chain {name} {{\n        type nat hook {hook} priority {_BEFORE}; policy accept;\n"
    return head + "\n".join(lines) + "\n    }\n"


# With which state of each API server does haproxy begin when it is reloaded? (its management guide, 9.3)
#
# By itself it begins with every server as alive, until a check has failed. A server that is new, or was dead before the
# reload, would get connections until then. In the state file such a server is stopped until its checks are good.

QUESTION = "show servers state api"
Server = tuple[str, IPAddress]
"""Name and address."""
_VERSION = 1
_NAME, _ADDRESS, _STATE = 3, 4, 5
_FIELDS = 20
_STOPPED = "0"


def alive(answer: str) -> Mapping[Server, bool]:
    """Return which servers haproxy has, and whether each is alive; what cannot be understood is left out."""
    found: dict[Server, bool] = {}
    for line in answer.splitlines():
        fields = line.split()
        if len(fields) >= _FIELDS and not line.startswith("#"):
            with suppress(ValueError):
                found[fields[_NAME], ip_address(fields[_ADDRESS])] = fields[_STATE] != _STOPPED
    return found


def render_states(servers: Collection[Server], before: Mapping[Server, bool], port: int) -> str:
    """Return the state file for *servers* on *port*; *before*: those that haproxy has, and whether each is alive.

    Where none of them is known to be alive, all begin as alive: haproxy would have no server at all.
    """
    doubtful = [server for server in servers if not before.get(server)]
    if len(doubtful) == len(servers):
        doubtful = []
    return "".join(f"{line}\n" for line in (str(_VERSION), *(_stopped(*server, port) for server in doubtful)))


def _stopped(name: str, address: IPAddress, port: int) -> str:
    """Return the line of a server that is stopped, with weight 1 and checks that are configured and enabled."""
    return f"0 api 0 {name} {address} {_STOPPED} 0 1 1 0 0 0 0 6 0 0 0 - {port} -"
