"""Keys and kinds of values: every mistake at once, with its place and what was probably meant."""

from __future__ import annotations

import pytest

from nodenet.core.node_file import schema
from nodenet.core.node_file.keys import wrong_keys
from nodenet.core.node_file.secret import HIDDEN, NO_SECRETS, is_secret, secrets_of
from nodenet.core.node_file.yaml_text import Block, load

FOUR = """interfaces:
- name: eth0
  tpye: ethernet
  mtu: 9k
  ipv4:
    enabeld: true
    address:
    - ip: 192.0.2.5
      prefix_length: 24
routes:
  confg: []
"""


def said(text: str) -> list[str]:
    document = load("w.yml", text)
    assert isinstance(document, Block)
    return [f"{each.line}:{each.column} {each.sentence()}. {each.remedy}" for each in wrong_keys(document)]


def test_all_mistakes_are_found_at_once_with_what_was_meant() -> None:
    """Libnmstate stops at the first and does not name its line (R50)."""
    key = "NMState has no such key here"
    assert said(FOUR) == [
        f"3:3 interfaces[0].tpye: {key}. Did you mean `type`?",
        (
            "4:8 interfaces[0].mtu = 9k: a whole number was expected. "
            "Write a number without unit, fraction or other characters"
        ),
        f"6:5 interfaces[0].ipv4.enabeld: {key}. Did you mean `enabled`?",
        f"9:7 interfaces[0].ipv4.address[0].prefix_length: {key}. Did you mean `prefix-length`?",
        f"11:3 routes.confg: {key}. Did you mean `config`?",
    ]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (
            "apiVersion: nmstate.io/v1\nkind: NodeNetworkConfigurationPolicy\nspec: {desiredState: {}}\n",
            (
                "1:1 apiVersion: this is a Kubernetes manifest, not an NMState document. "
                "Put only the part below `spec.desiredState` into the file, moved to the left margin"
            ),
        ),
        (
            "interfaces: [{name: a, <<: {mtu: 5}}]",
            "1:24 interfaces[0].<<: NMState does not know merge keys. Write the keys themselves in the place of `<<`",
        ),
        (
            "interfaces: [{name: a, prefix-length: 5}]",
            (
                "1:24 interfaces[0].prefix-length: NMState has no such key here. "
                "It belongs into `address`: check the indentation"
            ),
        ),
        (
            "interfaces: [{name: a, routes: {}}]",
            (
                "1:24 interfaces[0].routes: NMState has no such key here. "
                "It belongs at the left margin: check the indentation"
            ),
        ),
        (
            "interfaces: [{name: 1e3}]",
            (
                "1:21 interfaces[0].name = 1e3: a string was expected, and YAML reads a number or a boolean. "
                "Write the value in quotes"
            ),
        ),
        ("interfaces: {}", "1:13 interfaces: a list was expected. Write each entry in a line of its own that begins"),
        ("interfaces: [5]", "1:14 interfaces[0] = 5: a mapping was expected. Write its keys below it"),
        ("description: [a]", "1:14 description: a single value was expected. Write the value in the line of the key"),
        ("interfaces: [{name: a, lldp: {enabled: 2}}]", "1:40 interfaces[0].lldp.enabled = 2: true or false was exp"),
        (
            "interfaces: [{name: a, state: upp}]",
            "1:31 interfaces[0].state = upp: not a value that NMState knows. D",
        ),
    ],
)
def test_each_kind_of_mistake_has_its_remedy(text: str, first: str) -> None:
    """(R48, R50)."""
    assert said(text)[0].startswith(first)


@pytest.mark.parametrize(
    "text",
    [
        "interfaces: [{name: a, state: absent, whatever: 1}]",
        "interfaces: [{name: a, ipv4: {enabled: 'yes', dhcp: 1, auto-route-metric: '48'}}]",
        "description: 5",
        "interfaces:",
    ],
)
def test_what_libnmstate_takes_is_taken(text: str) -> None:
    assert said(text) == []


def test_no_value_of_a_secret_is_shown() -> None:
    """Not even where it has the wrong type, or a mistyped key (R46)."""
    text = "interfaces: [{name: a, 802.1x: {password: 4912345678, pasword: hunter2}, libreswan: {psk: [hunter2]}}]"
    found = " ".join(said(text))
    assert ("hunter2" in found, "4912345678" in found) == (False, False)
    assert len(said(text)) == 3


# The table of NMState's keys; tests/libnmstate holds it to the crate.


@pytest.mark.parametrize("section", sorted(schema._TABLE))
def test_every_section_that_a_key_leads_to_is_in_the_table(section: str) -> None:
    for entry in schema._TABLE[section].split():
        _, _, kind = entry.partition(":")
        kind = kind.strip("[]")
        if kind.startswith("@"):
            assert kind[1:] in schema._TABLE, entry


@pytest.mark.parametrize("section", sorted(schema._TABLE))
def test_every_kind_is_a_known_one(section: str) -> None:
    for entry in schema._TABLE[section].split():
        key, _, kind = entry.partition(":")
        assert key, entry
        kind = kind.strip("[]")
        assert kind in {"text", "flag", "bool", "int", "any"} or kind[:1] in "=@", entry


# Secrets: hidden in every spelling, with everything that may be one.


def hidden(secret: str, words: str) -> str:
    text = f"interfaces:\n- name: eth1\n  mtu: 9000\n  802.1x:\n    identity: me\n    password: {secret}\n"
    return secrets_of(load("w.yml", text)).hidden_in(words)


@pytest.mark.parametrize(
    ("written", "quoted"),
    [
        ("+4912345678", "4912345678"),
        ("12345678.50", "12345678.5"),
        ("0x1F2E3D4C", "523124044"),
        ("1e30", "1000000000000000000000000000000"),
        ("'a\"b'", 'a\\"b'),
        ('"p\\u00e4ss"', "päss"),
        ("|\n      first line\n      second line", "second line"),
        ("0042", "0042"),
    ],
)
def test_a_secret_is_hidden_as_libnmstate_spells_it(written: str, quoted: str) -> None:
    """It quotes what it read, not what is written (R46)."""
    words = f'interface "eth1" (type ethernet): invalid type: integer `{quoted}`, expected a string at line 7'
    told = hidden(written, words)
    assert quoted not in told
    assert told.startswith('interface "eth1" (type ethernet): invalid type: integer ')
    assert told.endswith(", expected a string at line 7")


def test_of_a_document_with_secrets_only_its_open_words_are_quoted() -> None:
    """A word that is not known to be harmless may be a part of the secret, or another spelling of the secret."""
    words = "eth1.mtu is 9000, `802.1x` has \"hunter\" and 49123456 for 'me'"
    assert hidden("hunter2hunter2", words) == (f"eth1.mtu is 9000, `802.1x` has \"{HIDDEN}\" and {HIDDEN} for 'me'")


def test_without_secrets_nothing_is_hidden() -> None:
    assert secrets_of(load("w.yml", "interfaces: [{name: eth0}]")) is NO_SECRETS
    assert NO_SECRETS.hidden_in("a `b` 123456") == "a `b` 123456"


@pytest.mark.parametrize(
    ("key", "secret"),
    [
        *((key, True) for key in ("password", "psk", "mka-cak", "private-key-password", "mka_cak", "Password")),
        *((key, True) for key in ("pasword", "wifi-psk", "pssword", "shared-secret")),
        *((key, False) for key in ("private-key", "mka-ckn", "identity", "name", "port", "peer", "ipv4")),
    ],
)
def test_the_key_of_a_secret_is_known_when_it_is_mistyped(key: str, secret: bool) -> None:  # noqa: FBT001
    assert is_secret(key) is secret


def test_all_below_the_key_of_a_secret_is_secret() -> None:
    found = secrets_of(load("w.yml", "libreswan: {psk: [one111, {two222: three333}]}"))
    assert found.hidden_in("one111 three333") == f"{HIDDEN} {HIDDEN}"
