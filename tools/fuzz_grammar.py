"""How do documents look that come from outside: nearly right, wrong in one place, or noise?

Everything is drawn from one ``random.Random``, so a seed, or hypothesis, decides everything.
"""

from __future__ import annotations

import json
import struct
from random import Random
from typing import Any

from nodenet.core.node_file import schema

WORDS = (
    *("eth0", "br-ex", "bond0", "192.0.2.5", "2001:db8::5", "192.0.2.0/24", "::/0", "0.0.0.0/0", "010", "1e3", "0x1F"),
    *("yes", "true", "~", "", "up", "absent", "ethernet", "ovs-bridge", "9000", "-1", "3.5", "52:54:05:00:23:48"),
    *("99999999999999999999999", "a b", "a,b", "\u00e4", "\u2028", "\x1b[31m", "localhost", "default", ".inf", "None"),
)
YAML_PIECES = (
    *(
        "---\n",
        "...\n",
        "%YAML 3.0\n",
        "%YAML 1.\n",
        "%TAG\n",
        "&a ",
        "*a ",
        "!! ",
        "!<",
        "? ",
        ": ",
        "- ",
        "|9\n",
        "<<: ",
    ),
    *(
        ">+1\n",
        "\\U00110000",
        "\\ud800",
        "[[ x ]]",
        "{{ x }}",
        "\ufeff",
        "\0",
        "\t",
        "\r",
        "'",
        '"',
        "[",
        "]",
        "{",
        "}",
    ),
    *(",", "#", "@", "`", "%", "\x85", "=", "\n", " ", "0", "a", "\\"),
)
TOML_PIECES = (
    *(
        '"',
        "'",
        "=",
        "[",
        "]",
        "{",
        "}",
        ",",
        ".",
        "\n",
        "#",
        "\\",
        "0x",
        "1_",
        "1979-05-27",
        "inf",
        "'''",
        '"""',
        "\t",
    ),
    *("platform", "network_type", "api_vips", "stages", "bridge.datapath", "\0", "\u00e4", "e9999", "true", "-"),
)
SECRET_PLACES = (
    ("802.1x", "password"),
    ("802.1x", "private-key-password"),
    ("libreswan", "psk"),
    ("macsec", "mka-cak"),
)


def mutated(rng: Random, text: str, pieces: tuple[str, ...], most: int = 6) -> str:
    """Return *text* after some insertions, deletions and doublings."""
    for _ in range(rng.randint(1, most)):
        at, kind = rng.randint(0, len(text)), rng.random()
        if kind < 0.6:
            text = text[:at] + rng.choice(pieces) + text[at:]
        elif kind < 0.85:
            text = text[:at] + text[at + rng.randint(1, 5) :]
        else:
            text = text[:at] + text[max(0, at - rng.randint(1, 30)) :]
    return text


def noise(rng: Random, most: int = 200) -> bytes:
    """Return bytes that mean nothing."""
    return rng.randbytes(rng.randint(0, most))


def secret(rng: Random) -> str:
    """Return a secret that nothing else looks like; some are numbers to YAML."""
    digits = str(rng.randint(10**9, 10**10 - 1))
    return rng.choice((digits, f"+{digits}", f"{digits}.50", f"hunter{digits}", f"'{digits}'", f"0x{int(digits):X}"))


def node_document(rng: Random, hidden: list[str]) -> dict[str, Any]:
    """Return an NMState document, mostly of known keys; its secrets are added to *hidden* as they are written."""
    document = _section(rng, schema.STATE, 0)
    if rng.random() < 0.5:
        section, key = rng.choice(SECRET_PLACES)
        hidden.append(secret(rng))
        link = {"name": "eth1", section: {key: hidden[-1]}}
        found = document.get("interfaces")
        document["interfaces"] = [*(found if isinstance(found, list) else []), link]
    return document


def _section(rng: Random, name: str, depth: int) -> dict[str, Any]:
    keys = list(schema.section(name).items())
    chosen = rng.sample(keys, min(len(keys), rng.randint(0, 4)))
    found = {key: _value(rng, kind, depth) for key, kind in chosen}
    if name == schema.INTERFACE:
        found |= {"name": rng.choice(WORDS), "type": rng.choice(("ethernet", "bond", "vlan", "ovs-bridge", "nonsense"))}
    if rng.random() < 0.1:
        found[rng.choice(WORDS)] = rng.choice(WORDS)
    return found


def _value(rng: Random, kind: str, depth: int) -> Any:  # noqa: ANN401  (a part of a document)
    if rng.random() < 0.08 or depth > 6:
        return rng.choice((rng.choice(WORDS), [], {}, [[]], {"a": "b"}))
    if kind.startswith("["):
        return [_value(rng, kind[1:-1], depth + 1) for _ in range(rng.randint(0, 3))]
    if kind.startswith("@"):
        return _section(rng, kind[1:], depth + 1)
    if kind.startswith("="):
        return rng.choice((*kind[1:].split(","), "nonsense"))
    likely = {"int": ("0", "1", "24", "48", "9000"), "flag": ("true", "no", "1"), "bool": ("true", "false")}
    return rng.choice((*likely.get(kind, ()), *WORDS))


def as_yaml(rng: Random, value: Any, indent: int = 0) -> str:  # noqa: ANN401
    """Return a document as block-style YAML; scalars are written as they are, or quoted where YAML needs it."""
    pad = "  " * indent
    if isinstance(value, dict) and value:
        return "".join(f"{pad}{_scalar(rng, key)}:{_below(rng, item, indent)}" for key, item in value.items())
    if isinstance(value, list) and value:
        return "".join(f"{pad}-{_below(rng, item, indent)}" for item in value)
    return f"{pad}{_scalar(rng, value)}\n"


def _below(rng: Random, value: Any, indent: int) -> str:  # noqa: ANN401
    if isinstance(value, (dict, list)) and value:
        return "\n" + as_yaml(rng, value, indent + 1)
    return f" {_scalar(rng, value)}\n"


def _scalar(rng: Random, value: Any) -> str:  # noqa: ANN401
    if isinstance(value, (dict, list)):
        return "{}" if isinstance(value, dict) else "[]"
    text = str(value)
    plain = (
        text.isascii() and text.isprintable() and not set(text) & set(" ,#[]{}&*!|>%@`\\\"'") and text[:1] not in "-?:"
    )
    if text[:1] == text[-1:] == "'" and len(text) > 2:
        return text  # a secret that is written in quotes
    return text if plain and text and rng.random() < 0.9 else json.dumps(text)


def json_value(rng: Random, depth: int = 0) -> Any:  # noqa: ANN401
    """Return any JSON value."""
    kind = rng.random()
    if kind < 0.15 and depth < 4:
        return [json_value(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    if kind < 0.3 and depth < 4:
        return {rng.choice(WORDS): json_value(rng, depth + 1) for _ in range(rng.randint(0, 3))}
    return rng.choice((None, True, False, 0, -1, 1.5, 10**30, float("nan"), *WORDS))


def disturbed(rng: Random, value: Any, chance: float = 0.06) -> Any:  # noqa: ANN401
    """Return *value* with some parts replaced by any JSON value, or left out."""
    if rng.random() < chance:
        return json_value(rng)
    if isinstance(value, dict):
        return {key: disturbed(rng, item, chance) for key, item in value.items() if rng.random() > chance}
    if isinstance(value, list):
        return [disturbed(rng, item, chance) for item in value if rng.random() > chance]
    return value


def netlink(rng: Random, kind: int, header: bytes) -> bytes:
    """Return a datagram of messages of *kind* whose bodies begin nearly like *header*."""
    found = b""
    for _ in range(rng.randint(1, 4)):
        body = bytearray(header)
        for _ in range(rng.randint(0, 3)):
            body[rng.randrange(len(body))] = rng.randrange(256)
        for _ in range(rng.randint(0, 6)):
            value = rng.randbytes(rng.choice((0, 1, 3, 4, 4, 8, 16, 16, 20)))
            attribute = struct.pack("=HH", len(value) + 4, rng.randint(0, 60)) + value
            body += attribute + bytes(-len(attribute) % 4)
        whole = struct.pack("=IHHII", len(body) + 16, kind, rng.choice((2, 2, 0x12)), 1, 0) + bytes(body)
        found += whole + bytes(-len(whole) % 4)
    if rng.random() < 0.3:
        at = rng.randrange(len(found))
        found = found[:at] + rng.randbytes(rng.randint(0, 4)) + found[at + rng.randint(0, 4) :]
    return found
