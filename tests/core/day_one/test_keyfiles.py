"""What cannot become keyfiles is refused with the way out; what may leave a host dark is a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodenet.core.day_one.document import read
from nodenet.core.day_one.keyfiles import EARLY, refusals, warnings

SEED = Path(__file__).parents[3] / "fixtures" / "day_one" / "seed"


def test_the_seeds_first_step_is_taken() -> None:
    document = read((SEED / "ostest-master-0.yml").read_text())
    assert (refusals(document), warnings(document)) == ((), ())


def test_the_seeds_second_step_is_refused() -> None:
    assert refusals(read((SEED / "br-ex" / "master-0.yml").read_text())) == (
        f"br-ex: ovs-bridge needs Open vSwitch, which the image does not have: {EARLY}",
        f"br-ex: ovs-interface needs Open vSwitch, which the image does not have: {EARLY}",
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "capture: {}\n",
            "It is a policy with capture: that needs the running host. Write the state itself",
        ),
        ("hostname: {config: a}\n", "hostname is not part of a keyfile. Remove it; the installer sets host names"),
        ("ovs-db: {}\n", f"The image has no Open vSwitch: {EARLY}"),
        (
            "interfaces: [{name: eth0, type: ethernet, state: absent}]\n",
            "eth0: `state: absent` removes nothing from a new host. Remove the interface from the file",
        ),
        (
            "interfaces: [{name: eth0}]\n",
            "eth0: the type is missing, and only the running host knows it. Add `type: ethernet` or its like",
        ),
        (
            "interfaces: [{name: bond0, type: bond, copy-mac-from: eth0}]\n",
            "bond0: copy-mac-from needs the running host. Write `mac-address` instead",
        ),
    ],
)
def test_a_refusal_has_its_remedy(text: str, problem: str) -> None:
    assert refusals(read(text)) == (problem,)


def test_what_may_leave_a_host_dark_is_a_warning() -> None:
    ipv4 = "{enabled: true, address: [{ip: 192.0.2.5, prefix-length: 24}]}"
    static = f"interfaces: [{{name: eth0, type: ethernet, ipv4: {ipv4}}}]"
    assert warnings(read(static)) == (
        "No default route: the host reaches its own subnets only",
        "No DNS server: the host cannot resolve the name of the API",
        "eth0 is a name in the kernel's order, which can change: use `identifier: mac-address`",
    )
    leased = "interfaces: [{name: enp1s0, type: ethernet, ipv4: {enabled: true, dhcp: true}}]"
    assert warnings(read(leased)) == ()
    by_mac = "interfaces: [{name: eth0, type: ethernet, identifier: mac-address, ipv4: {enabled: true, dhcp: true}}]"
    assert warnings(read(by_mac)) == ()
