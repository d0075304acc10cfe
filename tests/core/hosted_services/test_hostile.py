"""A HostedNetServices object or a Node cannot write a line of its own into a configuration.

Every kubelet writes its own Node, and names, addresses and labels end up in the files of five programs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosted_services_cases import CASES, directories, files_of, read_inputs
from nodenet.core.hosted_services.cluster import Cluster, known
from nodenet.core.hosted_services.model import Origin
from nodenet.core.hosted_services.plan import plan, release_batch
from nodenet.core.hosted_services.resource import GROUP

EXAMPLES = 80
HOSTILE = [
    "m0\nserver=/./192.0.2.66",
    "m0 extra",
    'x"; include "/etc/passwd',
    "a\r\nlocal=/x/",
    "..",
    "-x",
    "a" * 300,
    "bücher",
    "\x1b[2J",
    "${IFS}",
    "$(reboot)",
    "} frontend x {",
    "10.0.0.1\n10.0.0.2",
    "10.0.0.1/8",
    "::1%eth0\nx",
    "2001:db8::1%eth0\nserver x",
    "fe80::1%a",
    "::ffff:10.0.0.1",
    "0.0.0.0",  # noqa: S104
    "255.255.255.255",
    "192.0.2.1",
    "2001:db8::66",
    "worker-9",
]
TEXT = st.sampled_from(HOSTILE) | st.text(max_size=20)
JSON = st.recursive(
    TEXT | st.integers() | st.booleans() | st.none() | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
USABLE = st.sampled_from(["192.0.2.66", "2001:db8::66", "10.0.0.1"])
ADDRESS = st.fixed_dictionaries({"type": st.just("InternalIP"), "address": USABLE | TEXT})
NODE = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries({"name": TEXT, "labels": st.dictionaries(TEXT, TEXT, max_size=2)}),
        "status": st.fixed_dictionaries({"addresses": st.lists(ADDRESS, max_size=4)}),
    }
)
LISTED = st.fixed_dictionaries(
    {
        "name": TEXT,
        "role": st.sampled_from(["worker", "control-plane", "x\ny"]),
        "addresses": st.lists(USABLE | TEXT, max_size=3),
    }
)
SPEC = st.dictionaries(
    st.sampled_from(["dns", "apiintIpAddress", "apiintIpAddresses", "ingressHa"]), TEXT | JSON, max_size=3
)
ADDRESSES = re.compile(r"[0-9a-f]*[:.][0-9a-f:.]+(/\d+)?")
WORD = re.compile(rf"{ADDRESSES.pattern}|[a-z0-9][a-z0-9.-]*|\d+")


def shapes(texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield file and shape of each line: what can be a name, an address or a number is the same in all shapes."""
    for name, text in texts.items():
        if name != "expected.json":
            yield from ((name, _shape(*line.strip().partition(" "))) for line in text.splitlines())


def _shape(keyword: str, space: str, rest: str) -> str:
    return ADDRESSES.sub("x", keyword) + space + WORD.sub("x", rest)


KNOWN = {shape for path in directories() for shape in shapes(files_of(plan(read_inputs(path))))}
"""The shapes of all lines of all golden files."""


def texts(cluster: Cluster) -> dict[str, str]:
    """Return the files of master-0 with this cluster."""
    given = read_inputs(CASES / "control-plane")
    found = known(cluster, replace(given.options, role=None), given.here)
    assert all(line.isprintable() for line in found.problems)
    made = plan(found.inputs)
    assert all(line.isprintable() for line in made.problems)
    lines = release_batch(made).splitlines()
    assert all(re.fullmatch(r"address flush to [0-9a-f.:]+/\d+", line) for line in lines), lines
    return dict(files_of(made))


def resource(spec: Any, nodes: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "HostedNetServices",
        "metadata": {"name": "cluster"},
        "spec": spec,
        "status": {"nodes": nodes},
    }


def own() -> dict[str, Any]:
    return {
        "metadata": {"name": "master-0", "labels": {"node-role.kubernetes.io/control-plane": ""}},
        "status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.10"}]},
    }


@settings(max_examples=EXAMPLES)
@given(st.lists(NODE | JSON, max_size=6))
def test_nodes_write_no_line_of_their_own(nodes: list[Any]) -> None:
    made = texts(Cluster(nodes={Origin.LIVE: [own(), *nodes]}))
    assert set(shapes(made)) <= KNOWN


@settings(max_examples=EXAMPLES)
@given(SPEC | JSON, st.lists(LISTED | JSON, max_size=6) | JSON)
def test_an_object_writes_no_line_of_its_own(spec: Any, nodes: Any) -> None:
    made = texts(Cluster({Origin.LIVE: resource(spec, nodes)}, {Origin.LIVE: [own()]}))
    assert set(shapes(made)) <= KNOWN


@settings(max_examples=EXAMPLES)
@given(JSON, JSON, JSON)
def test_documents_of_any_shape_are_used_or_named(live: Any, cached: Any, nodes: Any) -> None:
    resources = {Origin.LIVE: live, Origin.CACHE: cached}
    made = texts(Cluster(resources, {Origin.LIVE: nodes}, nodes if isinstance(nodes, dict) else None))
    assert set(shapes(made)) <= KNOWN


@pytest.mark.parametrize("text", HOSTILE)
def test_each_hostile_text_as_a_name_and_as_an_address(text: str) -> None:
    def node(name: str, address: str) -> dict[str, Any]:
        status = {"addresses": [{"type": "InternalIP", "address": address}]}
        return {"metadata": {"name": name, "labels": {}}, "status": status}

    listed = [
        {"name": text, "role": "control-plane", "addresses": ["192.0.2.67"]},
        {"name": "worker-8", "role": "worker", "addresses": [text]},
    ]
    nodes = [own(), node(text, "192.0.2.66"), node("worker-9", text)]
    for cluster in (
        Cluster(nodes={Origin.LIVE: nodes}),
        Cluster({Origin.LIVE: resource({}, listed)}),
        Cluster({Origin.LIVE: resource({"apiintIpAddress": text}, [])}, {Origin.LIVE: [own()]}),
    ):
        assert set(shapes(texts(cluster))) <= KNOWN


def test_a_shape_can_be_unknown() -> None:
    """So that the tests above can fail."""
    assert not set(shapes({"hosts": "192.0.2.1 a b\n", "haproxy.cfg": 'x"; y\n'})) <= KNOWN
    assert not set(shapes({"dnsmasq.conf": "server=/./192.0.2.66\n"})) <= KNOWN
