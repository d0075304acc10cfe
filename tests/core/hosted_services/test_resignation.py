"""The packet that says that a node gives its VIPs up: the same as the one that keepalived itself sends at its end."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from dataclasses import replace
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from edge.namespace import Namespace
from hosted_services_cases import CASES, read_inputs
from nodenet.core.hosted_services.keepalived import RUN
from nodenet.core.hosted_services.model import Here, Inputs, Place
from nodenet.core.hosted_services.plan import plan
from nodenet.core.hosted_services.resignation import resignations
from nodenet.core.ip import Family

PATIENCE_SECONDS = 30.0
_VRRP, _PRIORITY = 112, 2


def inputs(advert: float) -> Inputs:
    """Return a control-plane node with both families on a link of a namespace."""
    made = read_inputs(CASES / "dual-stack-control-plane")
    here = Here(
        made.here.name,
        {family: Place(place.address, "eth0", place.network) for family, place in made.here.places.items()},
    )
    return replace(made, here=here, options=replace(made.options, advert_interval=advert))


def test_each_peer_is_notified_of_each_vip_that_was_left_behind() -> None:
    given = inputs(1.0)
    vips = plan(given).vips
    api = given.options.api_vips[0]
    assert [(str(one.source), str(one.peer)) for one in resignations(given, vips, {api})] == [
        ("192.0.2.10", "192.0.2.11"),
        ("192.0.2.10", "192.0.2.12"),
    ]
    assert resignations(given, vips, {ip_address("192.0.2.99")}) == ()
    assert resignations(given, vips, set()) == ()


def sent_by_keepalived(given: Inputs, directory: Path) -> dict[tuple[int, int], set[bytes]]:
    """Return what a keepalived that held the VIPs sends at its end: IP version and router id → packets."""
    host = Namespace()
    try:
        return host.call(lambda: _sent(host, given, directory))
    finally:
        host.close()


def _sent(host: Namespace, given: Inputs, directory: Path) -> dict[tuple[int, int], set[bytes]]:
    host.ip("link add eth0 type veth peer name far0", "link set far0 up", "link set eth0 up")
    for family, place in given.here.places.items():
        prefix = place.network.prefixlen
        host.ip(f"address add {place.address}/{prefix} dev eth0{' nodad' if family is Family.IPV6 else ''}")
    for node in given.nodes:
        for address in node.addresses:
            if address not in given.here.addresses:
                host.ip(f"neighbour replace {address} lladdr 02:00:00:00:00:01 dev eth0 nud permanent")
    text = plan(given).texts
    configuration = next(made for made in text.values() if "vrrp_instance" in made)
    path = directory / "keepalived.conf"
    path.write_text(configuration.replace(RUN, str(directory)))
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3)) as line:
        line.bind(("far0", 3))
        command = ["keepalived", "-n", "-l", "-D", "-P", "-f", str(path)]
        command += [f"-{option}{directory}/{option}.pid" for option in "pr"]
        with (directory / "log").open("ab") as log, subprocess.Popen(command, stdout=log, stderr=log) as program:
            try:
                wanted = {str(vip) for vip in (*given.options.api_vips, *given.options.ingress_vips)}
                until = time.monotonic() + PATIENCE_SECONDS
                while not all(vip in str(host.ip_json("address show dev eth0")) for vip in wanted):
                    assert time.monotonic() < until, (directory / "log").read_text()
                    time.sleep(0.1)
            finally:
                program.terminate()
                program.wait()
        return _resigned(line)


def _resigned(line: socket.socket) -> dict[tuple[int, int], set[bytes]]:
    """Return the advertisements with priority 0 that came by a line."""
    found: dict[tuple[int, int], set[bytes]] = {}
    line.settimeout(0.2)
    while True:
        try:
            packet = line.recv(2048)
        except TimeoutError:
            return found
        version = packet[0] >> 4
        protocol, head = (packet[9], 4 * (packet[0] & 15)) if version == 4 else (packet[6], 40)
        vrrp = packet[head : head + int.from_bytes(packet[2:4]) - head] if version == 4 else packet[head:]
        if protocol == _VRRP and vrrp[_PRIORITY] == 0:
            found.setdefault((version, vrrp[1]), set()).add(vrrp)


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("keepalived") or not shutil.which("nsenter"),
    reason="keepalived in a network namespace needs root and the program",
)
@pytest.mark.parametrize("advert", [1.0, 0.1])
def test_it_is_what_keepalived_sends_itself(tmp_path: Path, advert: float) -> None:
    """Versions 2 and 3, both families, with checksums, passwords and intervals: peers refuse anything else."""
    given = inputs(advert)
    assert ip_network("192.0.2.0/24") in {place.network for place in given.here.places.values()}
    vips = (*given.options.api_vips, *given.options.ingress_vips)
    ours: dict[tuple[int, int], set[bytes]] = {}
    for one in resignations(given, plan(given).vips, set(vips)):
        ours.setdefault((one.source.version, one.packet[1]), set()).add(one.packet)
    assert len(ours) == 4
    assert sent_by_keepalived(given, tmp_path) == ours
