"""One document and a table for many hosts: which row is this host's, and what is wrong with a table?"""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.errors import NodeFileInvalid
from nodenet.core.node_file.host_values import Identity, Table, filled, need_all, placeholders, read

DOCUMENT = """\
# the address is $(comment)
interfaces:
- name: eth0
  ipv4:
    address:
    - ip: $(address)
      prefix-length: 24
- name: eth0.$(vlan)
"""
TABLE = b"host,mac,serial,address,vlan\nworker-0,52:54:00:00:00:01,,192.0.2.10,100\nworker-1,,ABC123,192.0.2.11,200\n"


def row(table: Table, **known: object) -> int:
    return table.row_of(Identity(**known)).line  # type: ignore[arg-type]


def test_values_are_filled_in_and_lines_stay() -> None:
    table = read(TABLE)
    text = filled("cluster.yml", DOCUMENT, table, table.row_of(Identity("worker-0")))
    assert "    - ip: 192.0.2.10\n" in text
    assert "- name: eth0.100\n" in text
    assert text.count("\n") == DOCUMENT.count("\n")


def test_a_comment_asks_for_nothing() -> None:
    assert placeholders(DOCUMENT) == {"address": 6, "vlan": 8}


@pytest.mark.parametrize(
    ("known", "line"),
    [
        ({"hostname": "worker-0.example.com"}, 2),
        ({"hostname": "worker-1"}, 3),
        ({"macs": frozenset({"525400000001"})}, 2),
        ({"serial": "abc123"}, 3),
    ],
)
def test_a_host_is_known_by_name_mac_or_serial(known: dict[str, object], line: int) -> None:
    assert row(read(TABLE), **known) == line


@pytest.mark.parametrize("spelling", ["52:54:00:AA:BB:01", "52-54-00-aa-bb-01", "5254.00aa.bb01", "525400AABB01"])
def test_a_mac_in_each_spelling_is_the_same(spelling: str) -> None:
    assert row(read(f"mac,address\n{spelling},192.0.2.1\n".encode()), macs=frozenset({"525400aabb01"})) == 2


@pytest.mark.parametrize(
    "content",
    [
        "host;address\nworker-0;192.0.2.1\n".encode("utf-8-sig"),
        b"host\taddress\r\nworker-0\t192.0.2.1\r\n",
        b'"host","address"\n"worker-0","192.0.2.1"\n\n',
    ],
)
def test_tables_of_spreadsheets_are_read(content: bytes) -> None:
    table = read(content)
    assert filled("c.yml", "a: $(address)\n", table, table.row_of(Identity("worker-0"))) == "a: 192.0.2.1\n"


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"", "hosts.csv, line 1 has no column that identifies a host"),
        (b"name,address\n", "hosts.csv, line 1 has no column that identifies a host"),
        (b"host,Address\n", "hosts.csv, line 1, column 2: 'Address' is no name of a column"),
        (b"host,a,a\n", "hosts.csv, line 1: the column a is there twice"),
        (b"host,a\nworker-0\n", "hosts.csv, line 2 has 1 cells, and the header has 2"),
        (b"host,a\n,1\n", "hosts.csv, line 2 does not say which host it is for"),
        (b"host,a\nw,1\nW,2\n", "hosts.csv, line 3, column host: W is in line 2 already"),
        (
            b"mac,a\n52:54:00:00:00:01,1\n52-54-00-00-00-01,2\n",
            "hosts.csv, line 3, column mac: 52-54-00-00-00-01 is in line 2 already",
        ),
        (b"mac,a\nnone,1\n", "hosts.csv, line 2, column mac: 'none' is not a MAC address"),
        (b"host,a\nlocalhost,1\n", "hosts.csv, line 2, column host: 'localhost' is no host name: "),
        (b"host,a\nw,x y\n", "hosts.csv, line 2, column a: 'x y' is no address, prefix, number or name"),
        (b'host,a\nw,"x\n  - y"\n', "hosts.csv, line 3, column a: 'x\\n  - y' is no address, prefix, number or name"),
        (b"host,a\nw,{b: c}\n", "hosts.csv, line 2, column a: '{b: c}' is no address, prefix, number or name"),
        (b'host,a\nw,"x\n', "hosts.csv, line 2: unexpected end of data"),
        (b"host,a\nw,\xff\n", "hosts.csv, line 2 is not UTF-8"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_column(content: bytes, cause: str) -> None:
    with pytest.raises(NodeFileInvalid) as error:
        read(content)
    assert error.value.cause.startswith(cause)
    assert error.value.remedy


@pytest.mark.parametrize(
    ("known", "cause"),
    [
        ({"hostname": "worker-9"}, "hosts.csv: no row is for worker-9 (MAC addresses: none)"),
        ({}, "hosts.csv: no row is for this host, whose name is not known (MAC addresses: none)"),
        ({"hostname": "worker-0", "serial": "ABC123"}, "hosts.csv, lines 2 and 3 are for this host"),
        (
            {"hostname": "worker-0", "macs": frozenset({"525400000009"})},
            ("hosts.csv, line 2 is for worker-0, and this host has no NIC with the MAC address 52:54:00:00:00:01"),
        ),
    ],
)
def test_no_row_is_guessed(known: dict[str, object], cause: str) -> None:
    with pytest.raises(NodeFileInvalid) as error:
        row(read(TABLE), **known)
    assert error.value.cause == cause


def test_a_value_that_is_missing_is_named() -> None:
    table = read(b"host,address,vlan\nworker-0,192.0.2.1,\n")
    with pytest.raises(NodeFileInvalid, match="line 2, column vlan: worker-0 has no value"):
        filled("cluster.yml", DOCUMENT, table, table.rows[0])
    with pytest.raises(NodeFileInvalid) as error:
        filled("cluster.yml", "a: $(adress)\n", table, table.rows[0])
    assert (error.value.cause, error.value.remedy) == (
        "cluster.yml, line 1: hosts.csv has no column 'adress'",
        "Did you mean $(address)?",
    )


def test_a_value_that_no_file_asks_for_is_named() -> None:
    need_all("c.yml", "a: $(address)/$(vlan)\n", read(TABLE))
    with pytest.raises(NodeFileInvalid, match=r"hosts\.csv, line 1, column \d: c\.yml does not ask for vlan"):
        need_all("c.yml", "a: $(address)\n# $(vlan)\n", read(TABLE))


def test_a_table_of_100_000_hosts_is_read_in_seconds() -> None:
    """Its size is bounded before that: 1 MiB on a node, 32 MiB as an inventory."""
    rows = "".join(
        f"worker-{number},10.{number >> 16}.{number >> 8 & 255}.{number & 255}\n" for number in range(100_000)
    )
    began = time.process_time()
    table = read(f"host,address\n{rows}".encode())
    assert table.row_of(Identity("worker-99999")).cells["address"] == "10.1.134.159"
    assert time.process_time() - began < 10


@given(st.binary(max_size=200))
def test_any_bytes_give_a_table_or_one_error(content: bytes) -> None:
    refusal: NodeFileInvalid | None = None
    try:
        table = read(content)
    except NodeFileInvalid as error:
        refusal = error
    if refusal is None:
        assert all(set(each.cells) <= set(table.columns) for each in table.rows)
    else:
        assert refusal.cause.isprintable()
        assert refusal.remedy
