"""Secrets stay out of a report, however they are spelled."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.node_file.yaml_text import typed
from nodenet.core.report.secrets import Redaction, document, in_lines, node_file, node_file_lines

ODD = "h\u00fcn'ter \"2\\: #x"
NODE_FILE = """
# the password is {comment}
interfaces:
- name: eth0
  802.1x:
    identity: me
    password: {written}
    private-key-password: [1, {{deeper: 12345678.50}}]
"""


def shown(written: str) -> tuple[str, frozenset[str]]:
    text, known = node_file("worker-0.yml", NODE_FILE.format(comment=ODD, written=written))
    assert text is not None
    return text, known


@pytest.mark.parametrize(
    "written",
    [
        json.dumps(ODD),
        json.dumps(ODD, ensure_ascii=False),
        "'" + ODD.replace("'", "''") + "'",
        '"h\\xfcn\\u0027ter\\x20\\"2\\\\: #x"',
        f"|-\n      {ODD}",
        "!!str " + json.dumps(ODD),
        "&anchor " + json.dumps(ODD),
    ],
)
def test_a_node_file_has_its_values_but_not_its_secrets(written: str) -> None:
    text, known = shown(written)
    document = json.loads(text)
    assert document["interfaces"][0]["802.1x"] == {
        "identity": "me",
        "password": "<hidden>",
        "private-key-password": ["<hidden>", {"deeper": "<hidden>"}],
    }
    assert ODD in known
    assert "12345678.5" in known
    redaction = Redaction(known)
    for spelling in (ODD, json.dumps(ODD), json.dumps(ODD, ensure_ascii=False), "12345678.5", "12345678.50"):
        hidden = redaction.hidden_in(f"libnmstate says: {spelling} is bad")
        assert "ter" not in hidden
        assert "12345678" not in hidden


def is_long(text: str) -> bool:
    return len(text.strip()) >= 3 and typed(text.strip()) not in (True, False, None)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=3).filter(is_long))
def test_no_secret_survives_anywhere_in_a_text(secret: str) -> None:
    _, known = shown('"' + "".join(f"\\U{ord(char):08x}" for char in secret) + '"')
    hidden = Redaction(known).hidden_in(f"before{secret}after\n{json.dumps(secret)}")
    assert secret.strip() not in hidden.replace("<hidden>", "\x00")


def test_what_is_behind_an_alias_is_hidden_in_both_places() -> None:
    text, known = node_file("w.yml", "a: &x {password: abcdef}\nb: *x\nc: abcdef\n")
    assert Redaction(known).hidden_in(text or "") == (
        '{\n "a": {\n  "password": "<hidden>"\n },\n "b": {\n  "password": "<hidden>"\n },\n "c": "<hidden>"\n}\n'
    )


def test_a_file_that_cannot_be_read_is_left_out_and_its_secrets_are_known() -> None:
    text, known = node_file("w.yml", "interfaces: [\n  password: 'hunter2'\n  mtu: 1500\n")
    assert text is None
    assert "hunter2" in known
    assert "1500" not in known


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("the password=hunter2 was wrong\nmtu: 1500", "the password=<hidden>\nmtu: 1500"),
        ("802-1x.password:  hunter2", "802-1x.password:  <hidden>"),
        ('{"psk": "hunter2", "mtu": 1500}', '{"psk": "<hidden>", "mtu": 1500}'),
        ('options : {psk="hunter2", remote_ip="192.0.2.1"}', 'options : {psk="<hidden>", remote_ip="192.0.2.1"}'),
        ("API_TOKEN='hunter2' done", "API_TOKEN='<hidden>' done"),
        ("Authorization: Bearer hunter2hunter2", "Authorization: Bearer <hidden>"),
        ("at https://me:hunter2@host.example/path", "at https://<hidden>@host.example/path"),
        ("it is eyJhbGciOi.eyJzdWIi.hunter2-_ now", "it is <hidden> now"),
        ("-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----\nx", "<hidden>\nx"),
        ("-----BEGIN PRIVATE KEY-----\nhunter2 and no end", "<hidden>"),
        ("802-1x.password:  --\npassword=", "802-1x.password:  --\npassword="),
        ("wireguard.private-key=QLJg+/=", "wireguard.private-key=<hidden>"),
        ("preshared-key: /Fx+aQ=", "preshared-key: <hidden>"),
        ("802-1x.private-key:  /etc/pki/key.pem", "802-1x.private-key:  /etc/pki/key.pem"),
        ("802-1x.password-flags:  0 (none)", "802-1x.password-flags:  0 (none)"),
        ("client-key-data: LS0tLS1CRUdJTiBSU0Eg", "client-key-data: <hidden>"),
        ("from the file LS0tLS1CRUdJTiBSU0Eg+/= it came", "from the file <hidden> it came"),
        ("ca: LS0tLS1CRUdJTiBDRVJUSUZJ", "ca: LS0tLS1CRUdJTiBDRVJUSUZJ"),
        ("kubelet --bootstrap-token abc.def --v 2", "kubelet --bootstrap-token <hidden> --v 2"),
    ],
)
def test_what_looks_like_a_secret_is_hidden_in_its_place(text: str, hidden: str) -> None:
    assert Redaction(()).hidden_in(text) == hidden


@pytest.mark.parametrize(
    "text",
    [
        "ssh://host.example/path and https://[2001:db8::1]:6443/readyz",
        "nodeip waits: an IPv6 router on eth0",
        '"address": "192.0.2.7/24"',
        "link/ether 02:00:00:00:00:01",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Redaction({"ab", "hunter2"}).hidden_in(text) == text


RECORD = {
    "originals": {
        "eth0": {
            "settings": {"802-1x": ["dict", {"password": ["variant", "s", ["plain", "hunter2"]], "pin": 4711}]},
            "keyfile": "[802-1x]\nidentity=me\npassword=hunter3\n",
        }
    },
    "mtu": 1500,
    "up": True,
}


def test_a_record_has_its_values_but_not_its_secrets() -> None:
    """A setting is stored with its type, and JSON has one line for each part of it."""
    shown = document(json.dumps(RECORD, indent=1), Redaction(()))
    assert shown is not None
    (original,) = json.loads(shown)["originals"].values()
    hidden = ["<hidden>", "<hidden>", ["<hidden>", "<hidden>"]]
    assert original["settings"] == {"802-1x": ["dict", {"password": hidden, "pin": "<hidden>"}]}
    assert original["keyfile"] == "[802-1x]\nidentity=me\npassword=<hidden>\n"
    assert (json.loads(shown)["mtu"], json.loads(shown)["up"]) == (1500, True)


def test_a_document_has_no_known_secret_in_keys_and_numbers_either() -> None:
    shown = document('{"hunter2": [12345678, 5, "", null]}', Redaction({"hunter2", "12345678"}))
    assert shown is not None
    assert json.loads(shown) == {"<hidden>": ["<hidden>", 5, "", None]}


@pytest.mark.parametrize("text", ["", "{", "no document", "[" * 100_000])
def test_what_is_no_document_is_not_taken_for_one(text: str) -> None:
    assert document(text, Redaction(())) is None


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    """A report is made of what is broken."""
    _, known = node_file("w.yml", text)
    Redaction(known).hidden_in(text)
    in_lines(text)


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "a.",
        "psk ",
        "--psk ",
        "LS0tLS1CRUdJTi",
        "://",
        "eyJaaaaaa.",
        "password",
        "password=",
        "-----BEGIN PRIVATE KEY-----",
    ],
)
def test_no_text_takes_the_square_of_its_length(piece: str) -> None:
    """Forty times the text would take 1600 times as long; a machine that pauses is no reason to fail."""
    times = []
    for length in (1 << 14, 40 << 14):
        text = piece * (length // len(piece))
        began = time.process_time()
        Redaction({"hunter2"}).hidden_in(text)
        times.append(time.process_time() - began)
    assert times[1] < 300 * times[0] + 1.0


FILE = """# password: of-comment
interfaces:
- name: eth0   # hunter-comment
  802.1x:
    password: "hunter\\x32-escaped"
    private-key-password: |
      hunter-block
      hunter-more
    identity: me
    password: hunter-third
  mtu: 1500
- {name: eth1, 802.1x: {password: "hunter-a
   hunter-b", identity: you}}
- name: eth2
  802.1x:
    password: hunter-once
    password: hunter-twice
    psk:
    - hunter-in-list
  description: &a hunter-anchor
- name: eth3
  802.1x: {password: *a}
"""


def test_the_lines_of_a_node_file_keep_their_numbers_and_lose_secrets_and_comments() -> None:
    """However a secret is written: escaped, in several lines, twice, in a list, or by an alias."""
    shown = node_file_lines("a.yml", FILE)
    assert shown is not None
    assert "hunter" not in shown
    assert "of-comment" not in shown
    lines, written = shown.splitlines(), FILE.splitlines()
    assert len(lines) == len(written)
    kept = [number for number, line in enumerate(written) if line == lines[number]]
    assert {written[number].strip() for number in kept} >= {
        *("interfaces:", "identity: me", "mtu: 1500", "- name: eth2", "- name: eth3")
    }
    assert lines[4] == "    password: <hidden>"
    assert "identity: you" in lines[12]


def test_a_node_file_that_is_no_yaml_has_no_lines() -> None:
    assert node_file_lines("a.yml", "interfaces: [\n  password: hunter\n") is None
