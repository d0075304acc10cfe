"""Secrets: hidden in every spelling, with everything that may be one."""

from __future__ import annotations

import pytest

from nodenet.core.node_file.secret import HIDDEN, NO_SECRETS, is_secret, secrets_of
from nodenet.core.node_file.yaml_text import load


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
    """What is not known to be open may be a part of the secret, or another spelling of it."""
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
