"""The TOML of settings: every mistake names the file and the line, and none costs seconds or ends the daemon."""

import time

import pytest

from nodenet.core.errors import SettingsInvalid
from nodenet.core.settings.parse import MOST_BYTES, MOST_SHOWN, flat, shown

PATH = "/etc/nodenet/nodenet.toml"


def refusal(content: bytes) -> SettingsInvalid:
    with pytest.raises(SettingsInvalid) as caught:
        dict(flat(PATH, content, {"bridge"}))
    assert caught.value.exit_code == 78
    return caught.value


def test_tables_that_are_known_become_dotted_keys() -> None:
    assert dict(flat(PATH, b"platform = 'none'\n[bridge]\ndatapath = 'system'\n[other]\na = 1\n", {"bridge"})) == {
        "platform": "none",
        "bridge.datapath": "system",
        "other": {"a": 1},
    }


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"platform = 'none'\nhint =\n", f"{PATH}: not TOML: Invalid value (at line 2, column 7)"),
        (b"platform = 'none'\n# \xff\n", f"{PATH}: line 2 is not UTF-8"),
        (b"a = " + b"[" * 5000, f"{PATH}: not TOML: nested too deep"),
        (b"bridge = 1\n", f"{PATH}: bridge is a table"),
        (b"\napply_timeout = " + b"1" * 5000, f"{PATH}: line 2, 'apply_timeout': a number with more than 100 digits"),
        (b"apply_timeout = 0x" + b"f" * 5000, f"{PATH}: line 1, 'apply_timeout': a number with more than 100 digits"),
        (b"#" * (MOST_BYTES + 1), f"{PATH} is larger than 64 KiB"),
    ],
)
def test_the_cause_names_file_and_line(content: bytes, cause: str) -> None:
    """Exit 78 and no restart, whatever Python's parser raises (R44)."""
    assert refusal(content).cause == cause


def test_dotted_keys_that_would_take_seconds_are_refused_at_once() -> None:
    """The parser's time grows with the square of the parts: 60 KiB of them take a minute (R44)."""
    began = time.monotonic()
    assert refusal(b".".join([b"a"] * 30_000) + b" = 1").cause.endswith("more than 400 dots")
    assert time.monotonic() - began < 0.2


def test_a_comment_may_hold_anything() -> None:
    assert dict(flat(PATH, b"# " + b"9" * 5000 + b"." * 5000 + b"\nx = 1\n", set())) == {"x": 1}


def test_a_value_is_shown_in_toml_and_in_short() -> None:
    assert (shown(True), shown("x")) == ("true", "'x'")
    assert len(shown("x" * 5000)) == MOST_SHOWN
