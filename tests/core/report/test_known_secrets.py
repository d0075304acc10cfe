"""Which secrets keyfiles and records have."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.report.secrets import in_json, in_lines, is_name, is_place

KEYFILE = """[connection]
id=uplink
[wifi-security]
key-mgmt=wpa-psk
psk=ab\\;cd\\sef
psk-flags=1
[802-1x]
identity=me
password-raw=104;117;110;116;101;114;50;
private-key=data:;base64,TUlJQkFB
ca-cert=file:///etc/pki/ca.pem
pin=4711
[wireguard]
private-key=/Fx+QLJgbd3r=
listen-port=51820
[wireguard-peer.abc=]
preshared-key=abcdefgh=
[vpn-secrets]
Xauth password=xauth-word
cert-pass=of-a-certificate
anything=else
[ipv4]
method=auto
"""


def test_secrets_of_a_keyfile() -> None:
    """nm-settings-keyfile(5): a backslash begins an escape, bytes are numbers, and a blob may be base64."""
    known = in_lines(KEYFILE)
    assert {"ab\\;cd\\sef", "ab;cd ef", "hunter2", "TUlJQkFB", "4711"} <= known
    assert {"/Fx+QLJgbd3r=", "abcdefgh=", "xauth-word", "of-a-certificate", "else"} <= known
    assert not {"me", "wpa-psk", "auto", "51820", "1", "file:///etc/pki/ca.pem", "uplink"} & known


def test_a_keyfile_that_names_the_file_of_a_key_has_no_secret() -> None:
    assert in_lines("[802-1x]\nprivate-key=file:///etc/pki/key.pem\nprivate-key=/var/lib/key.pem\n") == frozenset()


def test_secrets_of_a_record() -> None:
    """In the text of a keyfile, and in settings with their D-Bus types."""
    secret = {"psk": ["variant", "s", ["plain", "hunter2"]], "password-raw": ["variant", "ay", ["bytes", "68756e74"]]}
    found = in_json(json.dumps({"a": [{"keyfile": KEYFILE, "settings": {"802-1x": ["dict", secret]}}], "id": "me"}))
    assert {"hunter2", "68756e74", "hunt", "xauth-word"} <= found
    assert not {"variant", "plain", "dict", "bytes", "me", "s", "ay"} & found


@pytest.mark.parametrize("text", ["", "{", "1", '"psk"', "[" * 100_000])
def test_a_record_that_cannot_be_read_has_none(text: str) -> None:
    assert in_json(text) == frozenset()


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "802-1x.private-key-password",
        "PSK",
        "preshared-key",
        "private_key",
        "clientKeyData",
        "API_TOKEN",
        "pin",
    ],
)
def test_the_name_of_a_secret(name: str) -> None:
    assert is_name(name)


@pytest.mark.parametrize(
    "name", ["identity", "key-mgmt", "public-key", "psk-flags", "ping", "mapping", "passive", "ip"]
)
def test_the_name_of_something_else(name: str) -> None:
    assert not is_name(name)


def test_a_key_that_begins_with_a_slash_is_not_the_name_of_a_file() -> None:
    assert is_place("/etc/pki/key.pem")
    assert is_place("file:///run/key")
    assert not is_place("/Etc+/")
    assert not is_place("etc/pki")


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    in_lines(text)
    in_json(text)
