"""How do the peers learn at once that keepalived of this node has died? (RFC 3768, 5.3; RFC 5798, 5.2)

An advertisement with priority 0 says that its sender gives the VIP up: the peers elect the next holder after a part of
one interval, and not after three. keepalived sends it when it ends. When it was killed, nodenet-hosted removes the VIP
and sends it instead.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from nodenet.core.hosted_services.duties import VipDuty
from nodenet.core.hosted_services.keepalived import is_version_3, peers, router_ids, secret
from nodenet.core.hosted_services.model import Inputs
from nodenet.core.hosted_services.packets import VRRP_PROTOCOL
from nodenet.core.ip import IPAddress, family_of

_SIMPLE_PASSWORD = 1
_AUTHENTICATION_BYTES = 8
_VERSION_2, _VERSION_3 = 0x21, 0x31


@dataclass(frozen=True, slots=True)
class Resignation:
    """One packet of IP protocol 112, without its IP header."""

    source: IPAddress
    peer: IPAddress
    packet: bytes


def resignations(inputs: Inputs, vips: Collection[VipDuty], left: Collection[IPAddress]) -> tuple[Resignation, ...]:
    """Return what says to each peer that this node gives the VIPs up that keepalived has *left* behind."""
    return tuple(_resignations(inputs, [duty for duty in vips if duty.wanted and duty.address in left]))


def _resignations(inputs: Inputs, duties: Collection[VipDuty]) -> Iterator[Resignation]:
    cluster = inputs.options.cluster_domain.partition(".")[0]
    for duty in duties:
        place = inputs.here.places[family_of(duty.address)]
        number, interval = router_ids(cluster)[duty.purpose], inputs.options.advert_interval
        for peer in peers(inputs, duty, place):
            if is_version_3(inputs.options, family_of(duty.address)):
                packet = _version_3(number, interval, duty.address, place.address, peer)
            else:
                packet = _version_2(number, interval, duty.address, secret(cluster, duty.purpose))
            yield Resignation(place.address, peer, packet)


def _version_2(number: int, interval: float, vip: IPAddress, password: str) -> bytes:
    head = struct.pack("!BBBBBB", _VERSION_2, number, 0, 1, _SIMPLE_PASSWORD, int(interval))
    tail = vip.packed + password.encode().ljust(_AUTHENTICATION_BYTES, b"\0")
    return head + struct.pack("!H", _checksum(head + bytes(2) + tail)) + tail


def _version_3(number: int, interval: float, vip: IPAddress, source: IPAddress, peer: IPAddress) -> bytes:
    head = struct.pack("!BBBBH", _VERSION_3, number, 0, 1, round(interval * 100))
    length = len(head) + 2 + len(vip.packed)
    layout = "!HH" if vip.version == 4 else "!IxxxB"
    order = (VRRP_PROTOCOL, length) if vip.version == 4 else (length, VRRP_PROTOCOL)
    above = source.packed + peer.packed + struct.pack(layout, *order)
    return head + struct.pack("!H", _checksum(above + head + bytes(2) + vip.packed)) + vip.packed


def _checksum(octets: bytes) -> int:
    """Return the Internet checksum (RFC 1071) of an even number of octets."""
    total = sum(int.from_bytes(octets[at : at + 2]) for at in range(0, len(octets), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
