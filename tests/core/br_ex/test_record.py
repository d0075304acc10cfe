"""What is remembered of the bridges, across boots and releases."""

from __future__ import annotations

import json

import pytest

from nodenet.core.br_ex.lease import Moment, StaticLease
from nodenet.core.br_ex.record import BridgeRecord, ProfileSettings, parse, render
from nodenet.core.network_manager.objects import KeptProfile

LEASE = StaticLease("192.0.2.5", Moment("boot-1", 100.0, 1_700_000_000.0), 3600.0)
KEYFILE = "[connection]\nid=uplink\ninterface-name=eth0\n# eth0 is in slot 3\n"
SETTINGS = {"connection": ["dict", {"interface-name": ["variant", "s", ["plain", "eth0"]]}]}
KEPT = KeptProfile("u-1", "uplink", "/etc/x.nmconnection", in_memory=False, settings=SETTINGS, keyfile=KEYFILE)
FINISH: ProfileSettings = {"br-ex": {"ipv4": {"address-data": []}}, "br-ex1": {"ipv4": {"address-data": []}}}
RECORD = BridgeRecord(
    {"br-ex": "eth0", "br-ex1": "eth1"},
    {"eth0": "52:54:00:00:00:01"},
    ("192.0.2.5",),
    {"eth0": KEPT},
    ("u-1",),
    FINISH,
    {"br-ex": LEASE},
)


def test_a_record_survives_being_stored() -> None:
    """With everything that is in it."""
    assert parse(render(RECORD)) == RECORD


@pytest.mark.parametrize(
    ("content", "said"), [(b'{"version": 1, "uplinks": {}}', "complete"), (b"[]", "version"), (b"{", "Expecting")]
)
def test_a_record_that_cannot_be_read_is_refused(content: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse(content)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("node_ips", ["eth0"]),
        ("node_ips", "192.0.2.5"),
        ("uplinks", {"br-ex": 7}),
        ("uplinks", ["br-ex"]),
        ("macs", {"eth0": None}),
        ("present", [1]),
        ("finish", {"br-ex": {"ipv4": 5}}),
        ("finish", {"br-ex": ["ipv4"]}),
        ("originals", {"eth0": {"uuid": 1, "name": "a", "path": "", "in_memory": True, "settings": {}}}),
        ("originals", {"eth0": {"uuid": "u", "name": "a", "path": "", "in_memory": True, "settings": []}}),
        ("leases", {"br-ex": {"address": "eth0", "noted": {"boot_id": "b", "boottime": 1, "unix": 1}}}),
        ("leases", {"br-ex": {"address": "192.0.2.5", "noted": {"boot_id": "b", "boottime": "1", "unix": 1}}}),
        ("removed_in", 5),
        ("removed_in", []),
        ("finish", []),
        ("leases", {"br-ex": {"address": "::1", "noted": {"boot_id": "b", "boottime": 1, "unix": 1}, "seconds": ""}}),
    ],
)
def test_a_record_with_a_value_of_another_type_is_refused(key: str, value: object) -> None:
    """The stage that chooses the node IP reads it: an error there would hold kubelet back for ever (R15)."""
    document = json.loads(render(RECORD)) | {key: value}
    with pytest.raises(ValueError):  # noqa: PT011  (each in its own words)
        parse(json.dumps(document).encode())


def test_a_removed_bridge_takes_nothing_of_the_other_bridge_with_it() -> None:
    """Its uplink's own profile, and what is still to be done for its lease (R28)."""
    left = RECORD.without(["br-ex1"])
    assert (left.finish, left.leases, left.originals) == ({"br-ex": FINISH["br-ex"]}, {"br-ex": LEASE}, {"eth0": KEPT})
    left = RECORD.without(["br-ex"])
    assert (left.finish, left.leases, left.originals) == ({"br-ex1": FINISH["br-ex1"]}, {}, {})
    left = RECORD.without()
    assert (left.finish, left.leases, left.originals, left.uplinks) == (None, {}, {}, RECORD.uplinks)


def test_leases_are_finished_for_each_bridge() -> None:
    """One server may be silent while the other has answered (R28)."""
    assert RECORD.finished(["br-ex1"]).finish == {"br-ex": FINISH["br-ex"]}
    assert RECORD.finished(["br-ex1"]).leases == {"br-ex": LEASE}
    assert (RECORD.finished().finish, RECORD.finished().leases) == (None, {})


def test_a_record_follows_a_link_to_its_new_name() -> None:
    """The profile matches the new name; what else the file says stays (R26)."""
    renamed = RECORD.renamed("eth0", "ens7")
    assert (renamed.uplinks, renamed.macs) == ({"br-ex": "ens7", "br-ex1": "eth1"}, {"ens7": "52:54:00:00:00:01"})
    kept = renamed.originals["ens7"]
    assert kept.settings == {"connection": ["dict", {"interface-name": ["variant", "s", ["plain", "ens7"]]}]}
    assert kept.keyfile == KEYFILE.replace("interface-name=eth0", "interface-name=ens7")
