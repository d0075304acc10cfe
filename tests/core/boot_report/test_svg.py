"""The picture of a boot."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from nodenet.core.boot_report.svg import headline, picture
from nodenet.core.boot_report.timeline import Kind, Mark, Report, Span

BOOT = Report(
    "66f25bd7aaaa",
    ready=4.0,
    work={"nodeip": 0.4},
    spans=(
        Span("nodeip", Kind.WORK, 0.0, 0.4, "looked"),
        Span("nodeip", Kind.WAIT, 0.4, None, "an address <of> eth0 & eth1"),
    ),
    marks=(Mark(4.0, "Ready"),),
)


def titles(svg: str) -> list[str]:
    return [str(item.text) for item in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}title")]  # noqa: S314


def test_each_span_and_mark_explains_itself_under_the_pointer() -> None:
    """Also one that lasts, and with characters that XML reserves."""
    assert titles(picture([BOOT])) == [
        "nodeip, 0.000 s, 0.400 s: looked",
        "nodeip, 0.400 s, running: an address <of> eth0 & eth1",
        "4.000 s: Ready",
    ]


def test_boots_are_below_one_another() -> None:
    """Twice the boot, twice the height."""
    one, two = (int(ET.fromstring(picture([BOOT] * count)).attrib["height"]) for count in (1, 2))  # noqa: S314
    assert two == 2 * one
    assert titles(picture([BOOT, BOOT])) == titles(picture([BOOT])) * 2


def test_the_headline_has_the_boot_and_its_own_work() -> None:
    assert headline(BOOT) == "Boot 66f25bd7: ready after 4.00 s; nodenetd's own work 0.40 s (10.0%)"
