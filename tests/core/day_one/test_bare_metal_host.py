"""What do the installer's manifests, BareMetalHost and install-config, contain of the network?"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from nodenet.core.day_one.manifests import FIELD, content_in, fill, host_patch, hosts, named, secret, secret_name
from nodenet.core.day_one.reading import ArtefactInvalid


@given(st.binary(max_size=300))
def test_the_node_file_comes_back(content: bytes) -> None:
    found = YAML(typ="safe", pure=True).load(secret("worker-2", content))
    assert found["metadata"] == {"name": "worker-2-network-config-secret", "namespace": "openshift-machine-api"}
    assert content_in(found) == content


def test_string_data_is_read() -> None:
    assert content_in({"kind": "Secret", "stringData": {"nmstate": "interfaces: []\n"}}) == b"interfaces: []\n"


def test_the_host_names_its_secret() -> None:
    found = YAML(typ="safe", pure=True).load(host_patch("worker-2"))
    assert found["spec"] == {"preprovisioningNetworkDataName": "worker-2-network-config-secret"}


@pytest.mark.parametrize("host", ["", "Worker", "a_b", "a\nb", "-a", "a" * 300, "a b"])
def test_a_name_that_kubernetes_refuses_is_refused(host: str) -> None:
    with pytest.raises(ArtefactInvalid, match="is not a valid name of a BareMetalHost"):
        secret_name(host)


@pytest.mark.parametrize("found", [None, {}, {"kind": "Secret"}, {"kind": "Secret", "data": {"nmstate": "%"}}])
def test_what_holds_no_node_file_is_refused(found: object) -> None:
    with pytest.raises(ArtefactInvalid):
        content_in(found)


# A BareMetalHost gets the name of its Secret, and every other byte stays.


HOST = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: {name}\nspec:\n  online: true\n"
LINE = f"  {FIELD}: w-network-config-secret\n"
SECRET = "w-network-config-secret"  # noqa: S105 - the name of an object


@settings(deadline=None)  # a pure-Python parser on a busy machine
@given(
    st.lists(st.sampled_from((HOST.format(name="v"), "kind: Secret\ndata: {a: b}\n", "# nothing\n", "")), max_size=3),
    st.sampled_from(("", "# the host\n\n", "---\n")),
    st.sampled_from(("", "  extra: &x [1, 'it''s'] # kept\n", "  note: |\n    two\n\n    lines\n", "status: {}\n")),
    st.sampled_from(("\n", "\r\n")),
)
def test_only_one_line_is_added(others: list[str], head: str, tail: str, newline: str) -> None:
    own = (HOST.format(name="w") + tail).replace("\n", newline)
    text = head.replace("\n", newline) + f"---{newline}".join([*(each.replace("\n", newline) for each in others), own])
    made = named(text, "w", SECRET)
    assert made == text.replace(own, own.replace(f"spec:{newline}", f"spec:{newline}{LINE[:-1]}{newline}"))
    assert named(made, "w", SECRET) == made


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "has no BareMetalHost w"),
        (HOST.format(name="v"), "has no BareMetalHost w"),
        (HOST.format(name="w") + "---\n" + HOST.format(name="w"), "has the BareMetalHost w 2 times"),
        (
            HOST.format(name="w").replace("  online: true\n", "").replace("spec:", "spec: {}"),
            "line 5: `spec` of w is not a mapping with a key a line",
        ),
        (HOST.format(name="w") + f"  {FIELD}: other\n", f"line 7: w names another Secret: remove `{FIELD}`"),
    ],
)
def test_what_cannot_be_named_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ArtefactInvalid) as caught:
        named(text, "w", SECRET)
    assert str(caught.value) == problem


SEED = Path(__file__).parents[3] / "fixtures" / "day_one" / "seed"
TEXT = (SEED / "install-config.yaml").read_text()
FILES = {path.stem: path.read_text() for path in SEED.glob("*.yml")}


def without_inserted(before: str, after: str) -> str:
    """Return *after* without the lines that *before* has not, each taken once, in order."""
    left = iter(before.splitlines(keepends=True))
    wanted = next(left, None)
    kept = []
    for line in after.splitlines(keepends=True):
        if line == wanted:
            kept.append(line)
            wanted = next(left, None)
    return "".join(kept)


def test_a_host_without_a_node_file_is_named() -> None:
    assert fill(TEXT, {"ostest-master-0": FILES["ostest-master-0"]}).without_file == ("ostest-master-1",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "install-config is empty"),
        ("a: [", "install-config is not YAML: line 1, column 5: expected the node content, but found '<stream end>'"),
        (
            "platform: {aws: {}}",
            "install-config has no platform.baremetal.hosts: it is not one of a bare-metal cluster",
        ),
        ("platform:\n  baremetal:\n    hosts: 3\n", "line 3: $.platform.baremetal.hosts is not a list"),
        (
            "platform:\n  baremetal:\n    hosts:\n    - role: master\n",
            "line 4: $.platform.baremetal.hosts[0] has no name",
        ),
        (
            "platform:\n  baremetal:\n    hosts:\n    - {name: a}\n",
            "line 4: host a is written in braces: write a key a line",
        ),
        (
            "platform:\n  baremetal:\n    hosts:\n    - name: a\n    - name: a\n",
            "line 5: host a is there twice",
        ),
        (
            "platform:\n  baremetal:\n    hosts:\n    - name: a\n      networkConfig:\n        interfaces: []\n",
            "line 6: host a has another networkConfig: remove it, or its node file",
        ),
        ("platform: {}\nplatform: {}\n", "line 2: $ has platform twice"),
    ],
)
def test_what_cannot_be_filled_is_refused_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(ArtefactInvalid) as caught:
        fill(text, {"a": "interfaces:\n- name: eth0\n"})
    assert str(caught.value) == problem


COMMENT = st.sampled_from(("", "  # why", " #", "   "))
NAME = st.integers(0, 999).map(lambda number: f"node-{number}")
EXTRA = st.sampled_from(
    (
        "role: master",
        "note: |\n        two\n        lines",
        "note: >-\n        folded\n\n        text",
        "labels: {a: 'b # no comment', c: \"d\"}",
        "anchor: &x [1, 2]",
        "list:\n      - 1\n      - two: 2",
        "quoted: 'it''s'",
    )
)


@settings(deadline=None)  # a pure-Python parser on a busy machine
@given(
    st.lists(
        st.tuples(NAME, st.lists(EXTRA, max_size=3, unique_by=lambda line: line.partition(":")[0]), COMMENT),
        min_size=1,
        max_size=4,
        unique_by=lambda row: row[0],
    ),
    st.sampled_from(("", "\n", "\n    # between\n")),
    st.sampled_from(("pullSecret: x\n", "", "# the end\n", "sshKey: |\n  a\n  b\n")),
    st.sampled_from(tuple(FILES.values())),
)
def test_whatever_it_looks_like_every_other_byte_stays(
    rows: list[tuple[str, list[str], str]], between: str, tail: str, node_file: str
) -> None:
    """Comments, block scalars, anchors, quoting, blank lines, order (property)."""
    blocks = [
        f"    - name: {name}{comment}\n"
        + "".join(f"      {line}{comment if chr(10) not in line else ''}\n" for line in extra)
        for name, extra, comment in rows
    ]
    text = "platform:\n  baremetal:\n    hosts:\n" + between.join(blocks) + tail
    wanted = {name: node_file for name, _, _ in rows}
    made = fill(text, wanted)
    assert made.filled == hosts(text)
    assert without_inserted(text, made.text) == text
    assert fill(made.text, wanted).text == made.text
