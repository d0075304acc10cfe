"""The node files of a directory beside each other."""

from __future__ import annotations

import pytest

from nodenet.core.node_file.content import cross_findings, is_node_file, judge
from nodenet.core.node_file.find import read

LINK = "interfaces: [{name: eth0, ipv4: {enabled: true, address: [{ip: 192.0.2.5, prefix-length: 24}]}}]\n"
PLAIN = "interfaces: [{name: eth0}]\n"


def said(**files: str) -> dict[str, list[str]]:
    """Return what is said of each file; `worker_0__yml` is worker-0.yml."""
    named = {key.replace("__", ".").replace("_", "-"): text for key, text in files.items()}
    judged = {name: judge(read(name, text.encode())) for name, text in named.items()}
    found = cross_findings(judged, sorted(named))
    return {name: [f"{each.severity}: {each.sentence()}" for each in each_file] for name, each_file in found.items()}


def test_an_empty_file_of_a_host_hides_the_file_of_all() -> None:
    """The node would get DHCP instead of what cluster.yml asks for (R51)."""
    assert said(worker_0__yml="# later\n", cluster__yml=PLAIN) == {
        "worker-0.yml": ["error: the file asks for nothing, and cluster.yml would be the node file without it"],
        "cluster.yml": [],
    }


def test_two_files_of_one_stem_are_rivals() -> None:
    both = "error: a.yaml and a.yml both claim to be the node file for 'a'"
    assert said(a__yml=PLAIN, a__yaml=PLAIN) == {"a.yml": [both], "a.yaml": [both]}


def test_one_address_for_two_hosts_is_an_error_and_for_all_a_warning() -> None:
    key = "interfaces[0].ipv4.address[0].ip = 192.0.2.5"
    assert said(a__yml=LINK, b__yml=LINK, cluster__yml=LINK) == {
        "a.yml": [],
        "b.yml": [f"error: {key}: a.yml, line 1 gives another host the same address"],
        "cluster.yml": [f"warning: {key}: every node without a file of its own gets this address"],
    }


def test_a_short_name_beside_the_whole_one_is_hidden() -> None:
    """Both are of one host, so they may share an address."""
    assert said(a__yml=LINK, a__example__com__yml=LINK) == {
        "a.yml": ["warning: the host a.example.com reads a.example.com.yml; this file is for other hosts named a only"],
        "a.example.com.yml": [],
    }


def test_a_name_that_no_host_has_is_warned_of() -> None:
    assert said(localhost__yml=PLAIN)["localhost.yml"] == [
        "warning: no host finds this file: it only means that the real name is not known yet"
    ]


@pytest.mark.parametrize(
    ("name", "read_by_some_host"),
    [("a.yml", True), ("a.yaml", True), (".a.yml", False), (".yml", False), ("a.yml~", False), ("applied", False)],
)
def test_only_names_that_nodenetd_reads_are_node_files(name: str, *, read_by_some_host: bool) -> None:
    assert is_node_file(name) is read_by_some_host
