"""What does keepalived's configuration say, whose VRRP reaches it, and which packets ask who holds a VIP?

The configuration: keepalived.conf(5), RFC 3768, RFC 5798.

Router ids, priorities and unicast peers are those of the stack that nodenet replaces, so that old and new nodes form
one group during an upgrade. nodenet-hosted writes the weight of this node into the tracked files; keepalived runs no
script.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from ipaddress import IPv4Address, IPv6Address

from nodenet.core.hosted_services.duties import VipDuty
from nodenet.core.hosted_services.model import Inputs, Options, Place, Purpose, Role, of_family
from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.value import frozen

# What do the packets look like that ask who holds an address, and those that answer?
#
# ARP probes (RFC 5227: without a sender address they change no cache) and neighbour solicitations (RFC 4861). A packet
# that is not understood is None: any host of the LAN can send one.

ARP_ETHERTYPE = 0x0806
BROADCAST = b"\xff" * 6
VRRP_PROTOCOL = 112
NEIGHBOUR_ADVERT = 136
_ARP = struct.Struct("!HHBBH6s4s6s4s")
_ETHERNET, _IPV4, _REQUEST, _REPLY = 1, 0x0800, 1, 2
NEAR = 255
"""The TTL, or the hop limit, of what no router has passed on."""
_SOLICIT = 135
_SOURCE_ADDRESS, _TARGET_ADDRESS = 1, 2
_SOLICITED_NODE = int(IPv6Address("ff02::1:ff00:0"))


@frozen
class Claim:
    """A host says that *address* is at *mac*."""

    address: IPAddress
    mac: str


def arp_probe(mac: bytes, target: IPv4Address) -> bytes:
    """Return the ARP packet (without its Ethernet header) that asks for *target* from *mac*."""
    unspecified = IPv4Address(0).packed
    return _ARP.pack(_ETHERNET, _IPV4, 6, 4, _REQUEST, mac, unspecified, bytes(6), target.packed)


def arp_claim(packet: bytes) -> Claim | None:
    """Return what an ARP reply says."""
    return arp_sender(packet, (_REPLY,))


def arp_sender(packet: bytes, operations: Collection[int] = (_REQUEST, _REPLY)) -> Claim | None:
    """Return what an ARP packet says about its sender: a host announces an address by a request, too."""
    if len(packet) < _ARP.size:
        return None
    kind, protocol, hardware, length, operation, mac, sender, _, _ = _ARP.unpack_from(packet)
    if (kind, protocol, hardware, length) != (_ETHERNET, _IPV4, 6, 4) or operation not in operations:
        return None
    return Claim(IPv4Address(sender), shown(mac))


def neighbour_solicit(mac: bytes, target: IPv6Address) -> bytes:
    """Return the ICMPv6 message that asks for *target*; the kernel computes its checksum (RFC 3542, 3.1)."""
    option = struct.pack("!BB6s", _SOURCE_ADDRESS, 1, mac)
    return struct.pack("!BBHI16s", _SOLICIT, 0, 0, 0, target.packed) + option


def solicited_node(target: IPv6Address) -> IPv6Address:
    """Return the multicast address that the holder of *target* listens to (RFC 4291, 2.7.1)."""
    return IPv6Address(_SOLICITED_NODE | int(target) & 0xFFFFFF)


def neighbour_claim(message: bytes) -> Claim | None:
    """Return what a neighbour advertisement (ICMPv6, without the IPv6 header) says; None without a MAC."""
    if len(message) < 24 or message[0] != NEIGHBOUR_ADVERT:
        return None
    target, at = IPv6Address(message[8:24]), 24
    while at + 8 <= len(message) and message[at + 1]:
        if message[at] == _TARGET_ADDRESS and message[at + 1] == 1:
            return Claim(target, shown(message[at + 2 : at + 8]))
        at += 8 * message[at + 1]
    return None


def shown(mac: bytes) -> str:
    """Return a MAC as people write it."""
    return mac.hex(":")


# What does the configuration say?

RUN = "/run/nodenet/hosted"
WEIGHT_FILES = {Purpose.API: f"{RUN}/api-weight", Purpose.INGRESS: f"{RUN}/ingress-weight"}
"""Each holds one whole number that keepalived adds to the priority of the VIPs of that purpose."""
MUTE_FILES = {(purpose, family): f"{RUN}/{purpose}-{family.value}-mute" for purpose in Purpose for family in Family}
"""Each holds 0, or the number at which the instance of that VIP sends nothing and holds no address."""
PRIORITIES = {Purpose.API: 40, Purpose.INGRESS: 20}
FORMER_SECONDS = 1.0
"""The interval of the stack that nodenet replaces.

VRRPv2 counts whole seconds (RFC 3768, 5.3.7); a shorter interval needs VRRPv3 (RFC 5798, 5.2.7).
"""


def router_ids(cluster: str) -> dict[Purpose, int]:
    """Return the virtual router ids of a cluster's API and ingress VIPs, from 1 to 239.

    They differ for every name: the octets of ``-api`` and ``-ingress`` have different sums modulo 15.
    """
    return {purpose: _fletcher8(f"{cluster}-{purpose}") + 1 for purpose in Purpose}


def configuration(inputs: Inputs, vips: tuple[VipDuty, ...]) -> str | None:
    """Return the configuration, None when this node holds no VIP."""
    held = [duty for duty in vips if duty.wanted]
    if not held:
        return None
    purposes = [purpose for purpose in Purpose if any(duty.purpose is purpose for duty in held)]
    tracked = {_weight_of(purpose): WEIGHT_FILES[purpose] for purpose in purposes}
    tracked |= {_mute_of(duty): MUTE_FILES[duty.purpose, family_of(duty.address)] for duty in held}
    blocks = [_global(inputs), *(_track_file(name, path) for name, path in tracked.items())]
    blocks += [_instance(inputs, duty) for duty in held]
    blocks += [block for purpose in purposes for block in _sync_group(inputs, purpose, held)]
    return "# Made by nodenet-hosted; changes are overwritten.\n" + "\n".join(blocks)


def _fletcher8(text: str) -> int:
    """Return Fletcher's checksum of *text* with sums modulo 15, as the peers compute it."""
    first = second = 0
    for octet in text.encode():
        first = (first + octet) % 15
        second = (second + first) % 15
    return second << 4 | first


def _global(inputs: Inputs) -> str:
    return _block(
        "global_defs",
        f"router_id {inputs.here.name}",
        "enable_script_security",
        "max_auto_priority -1",
        "vrrp_garp_master_refresh 60",
        "vrrp_check_unicast_src",  # beside nft (``guard_rules``), which refuses more and may not be there
    )


def _weight_of(purpose: Purpose) -> str:
    return f"{purpose}_weight"


def _mute_of(duty: VipDuty) -> str:
    return f"{duty.purpose}_{family_of(duty.address).value}_mute"


def _track_file(name: str, path: str) -> str:
    return _block(f"track_file {name}", f'file "{path}"', "weight 1", "init_file 0")


def _instance(inputs: Inputs, duty: VipDuty) -> str:
    family, cluster = family_of(duty.address), inputs.options.cluster_domain.partition(".")[0]
    place = inputs.here.places[family]
    new = _is_version_3(inputs.options, family)
    lines = [
        "state BACKUP",
        f"interface {place.link}",
        f"virtual_router_id {router_ids(cluster)[duty.purpose]}",
        f"priority {PRIORITIES[duty.purpose]}",
        f"advert_int {inputs.options.advert_interval:g}",
        *(("version 3",) if new and family is Family.IPV4 else ()),
        *_unicast(place, peers(inputs, duty, place)),
    ]
    if not new:  # VRRPv3 has no authentication
        password = f"{cluster}_{duty.purpose}_vip"[:8]  # as much as keepalived uses, and no secret
        lines += ["authentication {", "    auth_type PASS", f"    auth_pass {password}", "}"]
    lines += ["virtual_ipaddress {", f"    {_virtual(duty.address)}", "}"]
    lines += ["track_file {", f"    {_weight_of(duty.purpose)}", f"    {_mute_of(duty)}", "}"]
    return _block(f"vrrp_instance {_instance_name(cluster, duty)}", *lines)


def _instance_name(cluster: str, duty: VipDuty) -> str:
    return f"{cluster}_{duty.purpose.upper()}_{family_of(duty.address).value}"


def _sync_group(inputs: Inputs, purpose: Purpose, held: list[VipDuty]) -> Iterator[str]:
    """Yield what keeps the VIPs of both families on one node: a port of OpenStack's network has both addresses."""
    cluster = inputs.options.cluster_domain.partition(".")[0]
    names = [_instance_name(cluster, duty) for duty in held if duty.purpose is purpose]
    if inputs.options.platform == "openstack" and len(names) > 1:
        members = ("group {", *(f"    {name}" for name in names), "}")
        yield _block(f"vrrp_sync_group {cluster}_{purpose.upper()}", *members, "sync_group_tracking_weight")


def _is_version_3(options: Options, family: Family) -> bool:
    """Return whether VRRPv3 is spoken: always for IPv6, and for intervals that VRRPv2 cannot say."""
    return family is Family.IPV6 or options.advert_interval < FORMER_SECONDS


def peers(inputs: Inputs, duty: VipDuty, place: Place) -> list[IPAddress]:
    """Return the unicast peers: the other nodes that may hold this VIP and have an address in its subnet."""
    roles = {Role.CONTROL_PLANE} if duty.purpose is Purpose.API else set(Role)
    others = [node for node in inputs.nodes if node.role in roles and node.name != inputs.here.name]
    # What a node reports as its address may be a VIP or another node's.
    taken = {place.address, *inputs.options.api_vips, *inputs.options.ingress_vips}
    left = (tuple(address for address in node.addresses if address not in taken) for node in others)
    found = (of_family(addresses, family_of(place.address)) for addresses in left)
    return sorted({peer for peer in found if peer is not None and peer in place.network}, key=int)


def _unicast(place: Place, others: Collection[IPAddress]) -> Iterator[str]:
    """Yield nothing without a peer: keepalived refuses a source address without peers."""
    if others:
        yield f"unicast_src_ip {place.address}"
        yield f"unicast_ttl {NEAR}"  # otherwise that of the kernel for IPv6, and no peer could know where it is from
        yield "unicast_peer {"
        yield from (f"    {peer}" for peer in others)
        yield "}"


def _virtual(address: IPAddress) -> str:
    """Return the VIP as an address without a subnet: the kernel never takes it as the source of a connection."""
    return f"{address}/128" if family_of(address) is Family.IPV6 else f"{address}/32 label vip"


def _block(head: str, *lines: str) -> str:
    return "\n".join([f"{head} {{", *(f"    {line}" for line in lines), "}", ""])


# Whose VRRP may reach this node's keepalived? That of the peers, on the link of the VIP, past no router. (nft(8))
#
# keepalived takes an advertisement with any TTL in unicast mode, and one of a host that is no peer restarts the timer
# of a holder in some versions. Pods and hosts of other subnets would otherwise move a VIP by one packet.

GUARD_TABLE = "inet nodenet_vrrp"
_LIMITS = {Family.IPV4: ("ip", "ttl"), Family.IPV6: ("ip6", "hoplimit")}


def guard_rules(inputs: Inputs, vips: tuple[VipDuty, ...]) -> str | None:
    """Return the rules in nft's syntax, which replace the table; None where this node holds no VIP."""
    held = [duty for duty in vips if duty.wanted]
    if not held:
        return None
    lines = "".join(f"        {line}\n" for line in (*_accepted(inputs, held), f"meta l4proto {VRRP_PROTOCOL} drop"))
    chain = f"    chain from_outside {{\n        type filter hook input priority -1; policy accept;\n{lines}    }}\n"
    return f"table {GUARD_TABLE}\ndelete table {GUARD_TABLE}\ntable {GUARD_TABLE} {{\n{chain}}}\n"


def _accepted(inputs: Inputs, held: list[VipDuty]) -> Iterator[str]:
    for family, (protocol, limit) in _LIMITS.items():
        allowed: set[IPAddress] = set()
        for duty in held:
            if family_of(duty.address) is family:
                allowed.update(peers(inputs, duty, inputs.here.places[family]))
        if allowed:
            shown = ", ".join(map(str, sorted(allowed, key=int)))
            link = inputs.here.places[family].link
            # The former stack sends VRRP by IPv6 with the hop limit of the kernel.
            former = family is Family.IPV6 and inputs.options.advert_interval >= FORMER_SECONDS
            near = "" if former else f"{protocol} {limit} {NEAR} "
            yield f'iifname "{link}" {protocol} saddr {{ {shown} }} {near}meta l4proto {VRRP_PROTOCOL} accept'
