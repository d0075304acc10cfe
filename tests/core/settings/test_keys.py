"""The keys of the settings files: one for every value, and nothing beside them."""

import pytest

from nodenet.core.settings.model import Settings, values
from nodenet.core.settings.parse import KEYS, PLATFORMS, Refused, meant


def test_every_value_has_a_key_and_accepts_its_default() -> None:
    defaults = values(Settings())
    assert set(KEYS) == set(defaults)
    for key, default in defaults.items():
        KEYS[key](default)


def test_a_key_refuses_what_it_does_not_take() -> None:
    with pytest.raises(Refused, match="expected one of auto, yes, no"):
        KEYS["hosted.enabled"]("maybe")


def test_what_was_meant() -> None:
    assert meant("baremtal", PLATFORMS) == " (did you mean 'baremetal'?)"
    assert meant("zebra", PLATFORMS) == ""
