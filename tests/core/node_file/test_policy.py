"""NMState policies: what is wrong with one, and to which document it leads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nodenet.core.errors import NodeFileInvalid
from nodenet.core.node_file import content, policy
from nodenet.core.node_file.captures import CaptureWrong, find, parse
from nodenet.core.node_file.find import NodeFile
from nodenet.core.node_file.yaml_text import Block, load

NETWORK: dict[str, Any] = {
    "interfaces": [
        {
            "name": "eno1",
            "type": "ethernet",
            "state": "up",
            "mac-address": "02:00:00:00:00:0A",
            "mtu": 1500,
            "lldp": {"enabled": False},
            "alt-names": [{"name": "enx1"}, {"name": "storage"}],
            "ipv4": {
                "enabled": True,
                "dhcp": True,
                "address": [{"ip": "192.0.2.7", "prefix-length": 24, "valid-life-time": "300sec"}],
            },
        },
        {"name": "eno2", "type": "ethernet", "state": "down", "mtu": 9000},
    ],
    "routes": {
        "running": [
            {"destination": "0.0.0.0/0", "next-hop-interface": "eno1", "next-hop-address": "192.0.2.1", "metric": 100},
            {"destination": "198.51.100.0/24", "next-hop-interface": "eno1", "next-hop-address": "192.0.2.9"},
        ]
    },
    "dns-resolver": {"running": {"server": ["192.0.2.53"]}, "config": {}},
}
UPLINK = """capture:
  uplink: interfaces.name==capture.gateway.routes.running.0.next-hop-interface
  gateway: routes.running.destination=="0.0.0.0/0"
"""


def block(text: str) -> Block:
    document = load("a.yml", text)
    assert isinstance(document, Block)
    return document


def document_of(text: str, network: dict[str, Any] = NETWORK) -> Any:
    assert list(policy.findings(block(text))) == []
    return policy.filled("a.yml", block(text), network).document


def said(text: str) -> list[str]:
    found = content.judge(NodeFile.of("a.yml", text)).findings
    return [f"{each.line}:{each.column} {each.sentence()}" for each in found]


def test_a_bridge_takes_over_the_link_of_the_default_route() -> None:
    """Captures are evaluated in the order in which they need each other, whatever the file has."""
    text = (
        UPLINK
        + """  of-uplink: routes.running.next-hop-interface==capture.uplink.interfaces.0.name
  of-bridge: capture.of-uplink | routes.running.next-hop-interface:="br1"
desiredState:
  interfaces:
  - name: br1
    type: linux-bridge
    mac-address: "{{ capture.uplink.interfaces.0.mac-address }}"
    bridge: {port: [{name: "{{ capture.uplink.interfaces.0.name }}"}]}
  - {name: "{{ capture.uplink.interfaces.0.name }}.7", type: vlan}
  routes: {config: "{{ capture.of-bridge.routes.running }}"}
"""
    )
    made = document_of(text)
    bridge, vlan = made["interfaces"]
    assert (bridge["mac-address"], bridge["bridge"]["port"]) == ("02:00:00:00:00:0A", [{"name": "eno1"}])
    assert vlan["name"] == "eno1.7"
    assert [each["next-hop-interface"] for each in made["routes"]["config"]] == ["br1", "br1"]
    assert [each.get("metric") for each in made["routes"]["config"]] == [100, None]


@pytest.mark.parametrize(
    ("expression", "reference", "value"),
    [
        ('interfaces.alt-names.name=="storage"', "interfaces.0.name", "eno1"),
        ("interfaces.mtu==9000", "interfaces.0.mtu", 9000),
        ("dns-resolver.running", "dns-resolver.running.server.0", "192.0.2.53"),
        ("everything that there is", "interfaces.1.name", "eno2"),
        ("interfaces.lldp.enabled:=true", "interfaces.1.lldp", {"enabled": True}),
        ("interfaces.lldp:=null", "interfaces.0.lldp", None),
        ("interfaces.mtu:=1400", "interfaces.0.mtu", 1400),
    ],
)
def test_what_captures_find_and_change(expression: str, reference: str, value: object) -> None:
    text = f"capture: {{a: '{expression}'}}\ndesired: {{description: '{{{{ capture.a.{reference} }}}}'}}\n"
    if value is None:
        with pytest.raises(NodeFileInvalid, match="there is no 'lldp'"):
            document_of(text)
        return
    assert document_of(text)["description"] == value


def test_a_capture_that_finds_nothing_is_refused_with_its_place() -> None:
    text = UPLINK + 'desiredState: {interfaces: [{name: "{{ capture.uplink.interfaces.0.name }}"}]}\n'
    with pytest.raises(NodeFileInvalid) as refused:
        document_of(text, {**NETWORK, "routes": {"running": []}})
    assert refused.value.cause == (
        'a.yml, line 3, column 12: capture.gateway = routes.running.destination=="0.0.0.0/0": '
        "no route of this node has destination = '0.0.0.0/0'"
    )
    assert "ip route" in refused.value.remedy


@pytest.mark.parametrize(
    ("key", "said"), [("type", "type = 'x' (there: ethernet, veth)"), ("wifi.psk", "wifi.psk = 'x'")]
)
def test_the_values_that_there_are_are_named_unless_they_may_be_secrets(key: str, said: str) -> None:
    """A capture of `ethernet` on a virtual machine whose NICs have another type is a usual mistake."""
    links = [{"name": "a", "type": "veth", "wifi": {"psk": "hunter2"}}, {"name": "b", "type": "ethernet"}]
    with pytest.raises(CaptureWrong) as refused:
        find(parse(f"interfaces.{key}==x"), {"interfaces": links}, {})
    assert str(refused.value) == f"no interface of this node has {said}"


def test_the_kept_document_asks_for_no_more_than_the_policy() -> None:
    """An entry that a capture gives whole asks for what differs; the address of a lease is no wish."""
    text = """capture:
  nics: interfaces.type=="ethernet"
  quiet: capture.nics | interfaces.lldp.enabled:=true
desiredState:
  interfaces:
  - "{{ capture.quiet.interfaces.0 }}"
  - {name: br1, type: linux-bridge, ipv4: "{{ capture.nics.interfaces.0.ipv4 }}"}
  - name: br2
    type: linux-bridge
    ipv4: {enabled: true, dhcp: false, address: "{{ capture.nics.interfaces.0.ipv4.address }}"}
"""
    made = policy.filled("a.yml", block(text), NETWORK)
    differs = {"interfaces": [{"name": "eno1", "type": "ethernet", "lldp": {"enabled": True}}]}
    kept = policy.resolved(NodeFile.of("a.yml", text), made, differs)
    assert (kept.written, kept.digest) == (text, NodeFile.of("a.yml", kept.text).digest)
    eno1, leased, static = json.loads(kept.text.partition("\n")[2])["interfaces"]
    assert eno1 == {"name": "eno1", "type": "ethernet", "state": "up", "lldp": {"enabled": True}}
    assert leased["ipv4"] == {"enabled": True, "dhcp": True}
    assert static["ipv4"]["address"] == [{"ip": "192.0.2.7", "prefix-length": 24}]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('capture: {a: "interfaces.name=x"}\n', "1:14 capture.a = interfaces.name=x: `=x` is no operator, at char"),
        ("capture: {a: 'interfaces.name==\"x'}\n", '1:14 capture.a = interfaces.name=="x: a quoted text has no end'),
        ('capture: {a: "interfaces.name=="}\n', "1:14 capture.a = interfaces.name==: behind `==` stands no value"),
        ('capture: {a: "interfaces.name==b==c"}\n', "1:14 capture.a = interfaces.name==b==c: a second `==`"),
        ('capture: {a: "nics.name==b"}\n', "1:14 capture.a = nics.name==b: 'nics.name' is no path into a network"),
        ('capture: {a: "capture.b | c"}\n', "1:14 capture.a = capture.b | c: behind `|` stands no path"),
        ('capture: {a: "interfaces..name==b"}\n', "1:14 capture.a = interfaces..name==b: the path has an empty part"),
        ("capture: {a: [b]}\n", "1:14 capture.a: an expression was expected"),
        ('capture: {"a\\n": all}\n', "1:11 capture.a\\n: no name of a capture"),
        ('capture: {a: "all\\u0007b"}\n', "1:14 capture.a = all\\x07b: the expression has a control character"),
        (f"capture: {{a: {'x' * 1001}}}\n", "1:14 capture.a = "),
        (
            'capture: {a: "capture.a | interfaces.name==b"}\n',
            "1:11 capture.a: the capture needs its own result, or that of one which does",
        ),
        (
            'capture: {a: "capture.c | interfaces.name==b", c: "interfaces.name==capture.a.interfaces.0.name"}\n',
            "1:11 capture.a: the capture needs its own result",
        ),
        ('capture: {a: "capture.b | interfaces.name==b"}\n', "1:11 capture.a: there is no capture 'b'"),
        (
            f"capture: {{{', '.join(f'a{number}: all' for number in range(101))}}}\n",
            "1:10 capture: more than 100 captures",
        ),
        ("capture: all\n", "1:10 capture: a mapping was expected"),
        ("current: {}\n", "1:1 current: an NMState policy has no such key"),
    ],
)
def test_each_mistake_of_a_capture_has_its_place(text: str, sentence: str) -> None:
    found = said(text + "desiredState: {interfaces: []}\n")
    assert found[0].startswith(sentence), found


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        (
            '{interfaces: [{name: "{{ capture.b.interfaces.0.name }}"}]}',
            "2:36 {{ capture.b.interfaces.0.name }}",
        ),
        ('{interfaces: [{name: "{{ capture.a }}"}]}', "2:36 {{ capture.a }}: not one reference"),
        ('{interfaces: [{name: "{{ capture.a.b.c }} {{ capture.a.b.c }}"}]}', "2:36 {{ capture.a.b.c }} {{"),
        ('{interfaces: [{name: "a{b"}]}', "2:36 a{b: not one reference"),
        ('{interfaces: [{name: "v1.5{{ capture.a.b.c }}"}]}', "2:36 v1.5{{ capture.a.b.c }}: NMState allows no dots"),
        ('{interfaces: [{name: "{{ capture.a.b.c }}", mtuu: 1}]}', "2:59 interfaces[0].mtuu: NMState has no such key"),
        ("[]", "1:1 this NMState policy has no `desiredState`"),
    ],
)
def test_each_mistake_of_a_template_has_its_place(template: str, sentence: str) -> None:
    found = said(f"capture: {{a: all}}\ndesiredState: {template}\n")
    assert len(found) == 1
    assert found[0].startswith(sentence), found


def test_a_document_of_any_size_is_not_built() -> None:
    """A template may repeat what a capture found: 2000 times 4 KiB are refused before they are written."""
    network = {"interfaces": [{"name": "eno1", "description": "x" * 4096}]}
    links = ", ".join(['"{{ capture.a.interfaces.0 }}"'] * 2000)
    with pytest.raises(NodeFileInvalid, match="the document would be larger than 1024 KiB"):
        policy.filled("a.yml", block(f"capture: {{a: all}}\ndesired: {{interfaces: [{links}]}}\n"), network)


def test_the_bridges_that_a_template_names_are_known_before_it_is_resolved() -> None:
    """configure-ovs stands aside for a unit that has applied the policy."""
    text = "capture: {a: all}\ndesired: {interfaces: [{name: br-ex, type: ovs-bridge}, {name: eth0}]}\n"
    assert content.judge(NodeFile.of("a.yml", text)).desired.brings_bridge


def test_the_record_keeps_the_newest_documents() -> None:
    found: dict[str, str] = {}
    for number in range(5):
        found = policy.kept(found, str(number), f"# NMState policy a.yml ({number})\n{{}}")
    found = policy.kept(found, "3", '# NMState policy a.yml (3)\n{"interfaces": []}')
    assert policy.parse_record(policy.render(found)) == found
    assert [*found] == ["2", "4", "3"]
    for wrong, said in ((1, "another type"), (found["2"], "another policy"), ("", "another policy")):
        with pytest.raises(ValueError, match=said):
            policy.parse_record(json.dumps({"version": 1, "resolved": {"a": wrong}}).encode())


@pytest.mark.parametrize("document", ["", "{", "[]", '{"interfaces": [{"name": "eth', "\0\0\0", "[" * 100_000])
def test_a_document_that_is_damaged_inside_the_record_is_none(document: str) -> None:
    """The record is set aside, and the policy is resolved again: nothing is wrong with the node file."""
    text = f"# NMState policy a.yml, resolved on this node (a)\n{document}"
    assert not policy.is_of(text, "a")
    with pytest.raises(ValueError, match="a document is damaged"):
        policy.parse_record(policy.render({"a": text}))


def test_a_word_with_a_colon_needs_quotes() -> None:
    """A MAC address without quotes is the usual mistake."""
    with pytest.raises(CaptureWrong) as wrong:
        parse("interfaces.mac-address==02:00:00:00:00:01")
    assert "in double quotes" in wrong.value.remedy
