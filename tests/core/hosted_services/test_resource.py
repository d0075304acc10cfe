"""What a HostedNetServices object may say, and how a wrong one is refused."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from ipaddress import ip_address
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosted_services_cases import CASES, read_inputs
from nodenet.core.hosted_services.cluster import Cluster, known
from nodenet.core.hosted_services.model import Origin, Spec
from nodenet.core.hosted_services.plan import plan
from nodenet.core.hosted_services.resource import GROUP, ResourceInvalid, document_of, spec_of


def document(spec: object = None, **changed: object) -> dict[str, Any]:
    made = {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "HostedNetServices",
        "metadata": {"name": "cluster"},
        "spec": spec,
    }
    return {**made, **changed}


def test_every_switch_and_address_is_read() -> None:
    dns = {"nodesResolution": "Disabled", "appsResolution": "Disabled", "apiInt": "Disabled"}
    found = spec_of(document({"dns": dns, "apiintIpAddress": "192.0.2.9", "ingressHa": "Disabled"}))
    assert found == Spec(
        nodes_resolution=False,
        apps_resolution=False,
        api_int=False,
        ingress_ha=False,
        api_int_addresses=(ip_address("192.0.2.9"),),
    )


def test_two_families_keep_their_order() -> None:
    both = ["2001:db8::9", "192.0.2.9"]
    assert spec_of(document({"apiintIpAddresses": both})).api_int_addresses == tuple(map(ip_address, both))


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ([], "the document is []; expected an object"),
        (document(apiVersion="v1"), f"apiVersion is 'v1'; expected {GROUP}/v1alpha1"),
        (document(kind="Config"), "kind is 'Config'; expected HostedNetServices"),
        (
            document(metadata={"name": "mine"}),
            "metadata.name is 'mine'; there is one object, and its name is cluster",
        ),
        (
            document({"colour": 1}),
            "spec has the unknown field 'colour'; expected apiintIpAddress, apiintIpAddresses, dns, ingressHa",
        ),
        (document({"ingressHa": True}), "spec.ingressHa is True; expected Enabled or Disabled"),
        (document({"dns": {"apiInt": "enabled"}}), "spec.dns.apiInt is 'enabled'; expected Enabled or Disabled"),
        (document({"apiintIpAddress": 7}), "spec.apiintIpAddress is 7; expected an IP address"),
        (
            document({"apiintIpAddress": "192.0.2.9/24"}),
            "spec.apiintIpAddress is '192.0.2.9/24'; expected an IP address",
        ),
        (
            document({"apiintIpAddress": "127.0.0.1"}),
            "spec.apiintIpAddress is '127.0.0.1'; expected an address that other hosts can reach",
        ),
        (
            document({"apiintIpAddress": "::ffff:192.0.2.9"}),
            "spec.apiintIpAddress is '::ffff:192.0.2.9'; expected an address that other hosts can reach",
        ),
        (
            document({"apiintIpAddress": "2001:db8::1%eth0"}),
            "spec.apiintIpAddress is '2001:db8::1%eth0'; expected an address that other hosts can reach",
        ),
        (
            document({"apiintIpAddress": "192.0.2.9", "dns": {"apiintIpAddress": "192.0.2.8"}}),
            "spec.apiintIpAddress and spec.dns.apiintIpAddress differ: keep one of them",
        ),
        (
            document({"apiintIpAddresses": ["192.0.2.9", "192.0.2.8"]}),
            "spec.apiintIpAddresses has two addresses of one family: keep one a family",
        ),
        (document({"apiintIpAddresses": []}), "spec.apiintIpAddresses is not a list of one or two addresses"),
        (
            document({"apiintIpAddress": "192.0.2.7", "apiintIpAddresses": ["192.0.2.9"]}),
            "spec.apiintIpAddress is not in spec.apiintIpAddresses: keep one of the two",
        ),
    ],
)
def test_a_wrong_object_is_refused_by_field(wrong: object, text: str) -> None:
    with pytest.raises(ResourceInvalid) as caught:
        spec_of(wrong)
    assert str(caught.value) == text


SWITCHED = ("nodesResolution", "appsResolution", "apiInt")
NO_TEXT: tuple[Any, ...] = (True, False, 0, 7, 1.5, [], ["Enabled"], {}, {"a": 1})
NO_SWITCH = (*NO_TEXT, None, "", "enabled", "ENABLED", "Disabled ", "on", "no", "Removed")
NO_ADDRESS = (
    *NO_TEXT,
    *("", " ", "VIP", "lb.example.com", "192.0.2", "192.0.2.256", "192.0.2.09", " 192.0.2.9", "192.0.2.9\n", "0x7f.1"),
    *("192.0.2.9:6443", "https://192.0.2.9", "192.0.2.9/32", "[2001:db8::9]", "2001:db8::9/128", "2001:db8::9%1"),
    *("0.0.0.0", "127.0.0.1", "169.254.1.1", "224.0.0.18", "240.0.0.1", "255.255.255.255"),  # noqa: S104
    *("::", "::1", "fe80::1", "ff02::12", "::ffff:192.0.2.9"),
)
NO_OBJECT: tuple[Any, ...] = (True, False, 0, 7, "", "x", [], [{}])
NO_LIST: tuple[Any, ...] = (
    True,
    7,
    "",
    "192.0.2.9",
    {},
    [],
    ["192.0.2.9"] * 3,
    ["192.0.2.9", "192.0.2.8"],
    [None],
    [["192.0.2.9"]],
)
WRONG = [
    *(({"dns": {key: value}}, f"spec.dns.{key}") for key in SWITCHED for value in NO_SWITCH),
    *(({"ingressHa": value}, "spec.ingressHa") for value in NO_SWITCH),
    *(({"apiintIpAddress": value}, "spec.apiintIpAddress") for value in NO_ADDRESS),
    *(({"dns": {"apiintIpAddress": value}}, "spec.dns.apiintIpAddress") for value in NO_ADDRESS),
    *(({"apiintIpAddresses": [value]}, "spec.apiintIpAddresses[0]") for value in NO_ADDRESS),
    *(({"apiintIpAddresses": value}, "spec.apiintIpAddresses") for value in NO_LIST),
    *(({"dns": value}, "spec.dns") for value in NO_OBJECT),
    *((value, "spec") for value in NO_OBJECT),
    *(({"dns": {key: "Enabled"}}, "spec.dns") for key in ("apiint", "NodesResolution", "ingressHa", "")),
    *(({key: "Enabled"}, "spec") for key in ("apiInt", "IngressHa", "nodesResolution", "")),
]


def test_every_field_wrong_in_every_way_is_named_and_stops_nothing_that_runs() -> None:
    inputs = read_inputs(CASES / "control-plane")
    good = known(Cluster({Origin.LIVE: document({"ingressHa": "Disabled"})}), inputs.options, inputs.here)
    before = plan(replace(good.inputs, nodes=inputs.nodes))
    for spec, field in WRONG:
        with pytest.raises(ResourceInvalid) as caught:
            spec_of(document(spec))
        text = str(caught.value)
        assert text.startswith(field), (spec, text)
        assert text.isprintable()
        found = known(Cluster({Origin.LIVE: document(spec)}), inputs.options, inputs.here, good.specs)
        assert found.problems == (f"HostedNetServices (cr) is not used: {text}",)
        assert plan(replace(found.inputs, nodes=inputs.nodes)) == before, spec


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
KEYS = st.sampled_from(("dns", "apiintIpAddress", "apiintIpAddresses", "ingressHa", "nodesResolution", "apiInt"))


@given(st.dictionaries(KEYS, JSON | st.dictionaries(KEYS, JSON, max_size=3), max_size=4))
def test_whatever_stands_in_a_spec_is_read_or_refused_in_one_printable_line(spec: dict[str, Any]) -> None:
    try:
        spec_of(document(spec))
    except ResourceInvalid as error:
        refused = str(error)
    else:
        refused = ""
    assert refused.isprintable()


TENFOLD = "".join(f"{name}: &{name} [{', '.join(['*' + before] * 10)}]\n" for before, name in pairwise("abcdefgh"))


@pytest.mark.parametrize(
    "content",
    [
        b"%YAML 1.3\n---\na: 1\n",
        b"[[ mtu ]]: 9000\n",
        b"a: &x [*x]\n",
        b"&x\nspec: *x\n",
        b"a: !!map b\n  c: d\n",
        b'a: "\\U00110000"\n',
        b"a: \xff\n",
        b"[" * 5000,
        f"a: &a [x]\n{TENFOLD}".encode(),
        b"a: 1\na: 2\n",
        b"b:\n- a: 1\n  a: 2\n",
    ],
)
def test_a_file_that_cannot_be_read_is_one_line_whatever_it_contains(content: bytes) -> None:
    """As a node file: neither an exception of the parser nor a bomb of aliases reaches the loop (R42, R43)."""
    with pytest.raises(ValueError, match=r"^/f.* ") as caught:
        document_of("/f", content)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("content", [b"a: !!bool foo\n", b"a: !!int ''\n", b"? {a: b}\n: 1\n", b"!!set {a}\n"])
def test_a_tag_makes_no_object(content: bytes) -> None:
    """A constructor of the YAML library may raise anything (R42)."""
    with contextlib.suppress(ValueError):
        spec_of(document_of("/f", content))
