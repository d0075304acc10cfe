"""Scalars of YAML 1.2 as a libnmstate that takes no text gets them."""

import pytest

from nodenet.core.node_file.yaml_text import load, plain, typed


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("010", "010"),
        ("0x10", 16),
        ("0o17", 15),
        ("-3", -3),
        ("1e3", 1000.0),
        ("true", True),
        ("yes", "yes"),
        ("null", None),
        ("52:54:05:00:23:48", "52:54:05:00:23:48"),
        ("2026-11-22", "2026-11-22"),
        ("9" * 50, "9" * 50),
    ],
)
def test_a_scalar_of_yaml_1_2_has_its_type(text: str, value: object) -> None:
    found = typed(text)
    assert (found, type(found)) == (value, type(value))


def test_below_interfaces_scalars_are_typed_and_elsewhere_they_are_text() -> None:
    text = "hostname:\n  config: 010\ninterfaces:\n- name: '1'\n  mtu: 1500\n  ipv4: {enabled: true}\n"
    assert plain(load("a.yml", text)) == {
        "hostname": {"config": "010"},
        "interfaces": [{"name": "1", "mtu": 1500, "ipv4": {"enabled": True}}],
    }
