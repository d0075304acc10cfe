"""Which documents are taken, which refused, and is what is taken kept as written?"""

from __future__ import annotations

from pathlib import Path

import pytest

import libnmstate
from libnmstate.error import NmstateValueError
from libnmstate.schema import InterfaceType
from nodenet.core.node_file.values import MADE, SHOWN

NOTHING = "interfaces: []"
DOCUMENTS = sorted((Path(__file__).parent / "documents").glob("*.yml"))
TYPES = [path.stem for path in DOCUMENTS if path.stem != "br-ex"]


def document(kind: str, extra: str = "") -> str:
    """A valid document with one interface, `x0` of that type, and `extra` as one more line of it."""
    return (Path(__file__).parent / "documents" / f"{kind}.yml").read_text() + extra


def test_the_types_that_nodenet_takes_are_those_of_the_module(caplog: pytest.LogCaptureFixture) -> None:
    """A type that the crate does not know it only logs, so nodenet refuses it; the two must agree."""
    named = {value for name, value in vars(InterfaceType).items() if name.isupper() and isinstance(value, str)}
    assert named - MADE - SHOWN == {"type", "ovs-port", "other"}  # a key, a part of a bridge, and no type at all
    assert set(TYPES) == MADE
    for path in DOCUMENTS:
        libnmstate.validate(path.read_text())
    assert "Unsupported interface type" not in caplog.text
    libnmstate.validate("interfaces: [{name: x0, type: other}]")
    assert "Unsupported interface type other" in caplog.text


def refused(text: str) -> NmstateValueError:
    with pytest.raises(NmstateValueError) as caught:
        libnmstate.validate(text)
    return caught.value


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_every_interface_type_is_accepted(path: Path) -> None:
    libnmstate.validate(path.read_text())


@pytest.mark.parametrize("kind", TYPES)
def test_an_unknown_key_is_refused_on_every_interface_type(kind: str) -> None:
    error = refused(document(kind, "  ipv44: {}\n"))
    assert (error.interface, error.key) == ("x0", "ipv44")
    assert "x0" in str(error)
    assert "ipv44" in str(error)


def test_an_absent_interface_may_carry_what_it_had() -> None:
    libnmstate.validate("interfaces: [{name: eth0, type: ethernet, state: absent, anything: 1}]")


@pytest.mark.parametrize("section", ["bond: {mode: broadcast, port: []}", "vlan: {id: 1}", "mtu: 9000"])
def test_an_interface_without_type_may_have_any_types_section(section: str) -> None:
    libnmstate.validate(f"interfaces:\n- name: x0\n  {section}\n")


def test_an_unknown_key_is_refused_without_type_as_well() -> None:
    assert refused("interfaces:\n- name: x0\n  mtuu: 9000\n").key == "mtuu"


@pytest.mark.parametrize(
    ("kind", "extra", "key"),
    [
        ("veth", "veth: {peer: veth1, pear: veth1}", "veth.pear"),
        ("ethernet", "802.1x: {identity: node, eap: [tls]}", "802.1x.eap"),
        (
            "bond",
            "link-aggregation: {mode: 1, ports-config: [{name: a, prio: 1}]}",
            "link-aggregation.ports-config.prio",
        ),
        ("bond", "bond: {mode: 1, ports-config: [{name: a, prio: 1}]}", "bond.ports-config.prio"),
        ("vlan", "vlan: {id: 1, egress-qos-map: [{from: 1, to: 2, too: 3}]}", "vlan.egress-qos-map.too"),
        (
            "ovs-bridge",
            "bridge: {ports: [{name: b, bond: {mode: lacp, ports: [{name: a, x: 1}]}}]}",
            "bridge.ports.bond.ports.x",
        ),
        ("dummy", "dispatch: {post-activate: x}", "dispatch.post-activate"),
        ("dummy", "ipv4: {enabled: true, adress: []}", "adress"),
    ],
)
def test_an_unknown_nested_key_is_refused_even_where_the_crate_drops_it(kind: str, extra: str, key: str) -> None:
    assert refused(f"interfaces:\n- name: x0\n  type: {kind}\n  {extra}\n").key == key


@pytest.mark.parametrize(
    "text",
    [
        "interface: []",
        "routes: {config: [{destination: 192.0.2.0/24, gateway: 192.0.2.1}]}",
        "dns-resolver: {config: {servers: [192.0.2.1]}}",
        "route-rules: {config: [{ip_from: 192.0.2.0/24}]}",
        "ovn: {bridge-mappings: [{localnet: physnet, bridges: br-ex}]}",
    ],
)
def test_unknown_keys_outside_interfaces_are_refused(text: str) -> None:
    assert refused(text).line == 1


def test_a_syntax_error_carries_line_and_column() -> None:
    error = refused("interfaces:\n- name: eth0\n  type: [ethernet\n")
    assert (error.line, error.column) == (4, 1)


def test_a_wrong_interface_is_found_by_line() -> None:
    text = "interfaces:\n- name: eth0\n  type: ethernet\n- name: eth1\n  type: ethernet\n  mtu: big\n"
    error = refused(text)
    assert (error.interface, error.line) == ("eth1", 4)


@pytest.mark.parametrize("check", [libnmstate.apply, libnmstate.generate_configurations])
def test_nothing_is_applied_or_generated_from_a_document_with_unknown_keys(check: object) -> None:
    assert callable(check)
    with pytest.raises(NmstateValueError) as caught:
        check(document("dummy", "  ipv44: {}\n"))
    assert caught.value.key == "ipv44"
    assert caught.value.checkpoint is None


def test_a_difference_is_not_made_for_a_document_with_unknown_keys() -> None:
    with pytest.raises(NmstateValueError, match="ipv44"):
        libnmstate.generate_differences(document("dummy", "  ipv44: {}\n"), NOTHING)


def first_interface(text: str) -> dict[str, object]:
    interfaces: list[dict[str, object]] = libnmstate.generate_differences(text, NOTHING)["interfaces"]
    return interfaces[0]


def test_a_mac_address_that_looks_base_60_survives() -> None:
    text = "interfaces: [{name: x0, type: dummy, mac-address: 52:54:05:00:23:48}]"
    assert first_interface(text)["mac-address"] == "52:54:05:00:23:48"


@pytest.mark.parametrize("name", ["010", '"1e3"', "yes", "on", '"1000"'])
def test_names_that_look_like_something_else_survive(name: str) -> None:
    assert first_interface(f"interfaces: [{{name: {name}, type: dummy}}]")["name"] == name.strip('"')


@pytest.mark.parametrize("name", ["1e3", "1000", "0o17", "0x1f"])
def test_a_name_that_is_a_number_in_yaml_is_refused_with_the_remedy(name: str) -> None:
    assert "quote the value" in str(refused(f"interfaces:\n- name: {name}\n  type: dummy\n"))


def test_a_dict_and_its_yaml_say_the_same() -> None:
    as_dict = {
        "interfaces": [
            {"name": "x0", "type": "dummy", "state": "up", "ipv4": {"enabled": True, "dhcp": False, "address": []}}
        ]
    }
    as_yaml = libnmstate.PrettyState(as_dict).yaml
    assert libnmstate.generate_differences(as_dict, NOTHING) == libnmstate.generate_differences(as_yaml, NOTHING)


def test_a_dict_that_json_cannot_write_is_a_value_error() -> None:
    with pytest.raises(NmstateValueError, match="JSON"):
        libnmstate.validate({"interfaces": {1, 2}})


@pytest.mark.parametrize("text", ["", "# only a remark\n", "---\n"])
def test_an_empty_document_asks_for_nothing(text: str) -> None:
    assert libnmstate.generate_differences(text, NOTHING) == {"interfaces": []}


def test_with_the_current_state_ports_must_exist() -> None:
    text = document("linux-bridge")
    with pytest.raises(NmstateValueError, match="eth0"):
        libnmstate.validate(text, NOTHING)
