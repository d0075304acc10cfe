"""A hint becomes the file that nodenetd reads as this hint."""

import pytest

from nodenet.core.day_one.files import ArtefactInvalid
from nodenet.core.day_one.machine_config import hint_file
from nodenet.core.node_ip.hints import parse_environment


@pytest.mark.parametrize("hint", ["192.0.2.5", "192.0.2.0/24", "2001:db8::5", "enp2s0", "192.0.2.5 2001:db8::5"])
def test_it_is_read_back(hint: str) -> None:
    file = hint_file(hint)
    reading = parse_environment(file.content.decode(), str(file.path))
    assert ([each.text for each in reading.hints], reading.problems) == (hint.split(), ())


@pytest.mark.parametrize("hint", ["", "  ", "192.0.2.300", "fe80::1%eth0"])
def test_what_is_no_hint_is_refused(hint: str) -> None:
    with pytest.raises(ArtefactInvalid):
        hint_file(hint)
