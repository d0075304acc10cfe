"""The guard of port 53: its rules are nft's, and a link's name cannot write into them."""

from __future__ import annotations

import os
import shutil
import subprocess
from ipaddress import ip_address, ip_network

import pytest

from nodenet.core.hosted_services.dns_guard import REMOVAL, rules
from nodenet.core.hosted_services.model import Here, Place
from nodenet.core.ip import Family

V4 = Place(ip_address("192.0.2.10"), "br-ex", ip_network("192.0.2.0/24"))
V6 = Place(ip_address("2001:db8::10"), "br-ex", ip_network("2001:db8::/64"))


def test_a_rule_for_each_family() -> None:
    made = rules(Here("n", {Family.IPV4: V4, Family.IPV6: V6}))
    assert 'iifname "br-ex" ip daddr 192.0.2.10 meta l4proto { tcp, udp } th dport 53 reject\n' in made
    assert 'iifname "br-ex" ip6 daddr 2001:db8::10 meta l4proto { tcp, udp } th dport 53 reject\n' in made
    assert made.startswith(REMOVAL)


def test_a_link_s_name_cannot_write_into_the_rules() -> None:
    hostile = Place(V4.address, 'a"; drop', V4.network)
    assert "; drop" not in rules(Here("n", {Family.IPV4: hostile}))
    assert 'iifname != "lo" ip daddr' in rules(Here("n", {Family.IPV4: hostile}))


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("nft") is None, reason="needs root and nft")
def test_nft_accepts_the_rules_twice_and_their_removal() -> None:
    made = rules(Here("n", {Family.IPV4: V4, Family.IPV6: V6})) * 2 + REMOVAL * 2
    done = subprocess.run(
        ["unshare", "--net", "nft", "-f", "-"], input=made, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
