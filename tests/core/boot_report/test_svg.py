"""The picture of a boot: a person reads it without a pointer, in a mail or on paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from make_boots import BOOTS, PICTURE, PICTURED
from nodenet.cli.outputs import moment
from nodenet.core.boot_report.svg import headline
from nodenet.core.boot_report.svg import picture as drawn
from nodenet.core.boot_report.timeline import Kind, Mark, Report, Span, document, from_document

SVG = "{http://www.w3.org/2000/svg}"
BOOT = Report(
    "66f25bd7aaaa",
    began=1795249490.0,
    ready=4.0,
    work={"nodeip": 0.4},
    spans=(
        Span("nmstate", Kind.WORK, 0.0, 1.25, "failed: a.yml: no such link"),
        Span("resolv-prepender", Kind.WORK, 1.3, 1.3, "skipped: no VIPs"),
        Span("configure-ovs", Kind.WORK, 1.3, 1.3, "skipped: no br-ex"),
        Span("nodeip", Kind.WORK, 0.0, 0.4, "looked"),
        Span("nodeip", Kind.WAIT, 0.4, 2.9, "an address <of> eth0 & eth1"),
        Span("kubelet", Kind.WORK, 4.0, 4.25, "started"),
    ),
    marks=(Mark(4.0, "Ready"),),
    host="worker-0",
)
WAITS = Report(
    "66f25bd7aaaa", spans=(Span("nodeip", Kind.WAIT, 1.0, None, "eth0: no carrier"),), until=601.0, is_present=True
)


def picture(reports: Sequence[Report]) -> str:
    return drawn(reports, moment)


def texts(svg: str) -> list[str]:
    return [str(item.text) for item in ET.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314


def test_each_reason_and_each_duration_is_written_on_the_picture() -> None:
    """Also with characters that XML reserves."""
    shown = texts(picture([BOOT]))
    assert "waits 2.50 s: an address <of> eth0 & eth1" in shown
    assert "1.25 s: failed: a.yml: no such link" in shown
    assert "0.25 s: started" in shown
    assert "4.00 s: Ready" in shown


def test_host_date_and_kubelet_are_in_the_head() -> None:
    shown = texts(picture([BOOT]))
    assert shown[0] == "worker-0, 2026-11-21 08:24:50 UTC"
    assert shown[1] == headline(BOOT)
    assert headline(BOOT) == (
        "Boot 66f25bd7: ready after 4.00 s; nodenetd's own work 0.40 s (10.0%); kubelet started after 4.25 s"
    )


def test_stages_that_were_skipped_at_once_share_one_row() -> None:
    shown = texts(picture([BOOT]))
    assert "resolv-prepender, configure-ovs" in shown
    assert "configure-ovs" not in shown


def test_a_boot_that_waits_is_drawn_until_now() -> None:
    """The wait is ten minutes long on the picture, though the journal is silent since its first second."""
    svg = picture([WAITS])
    shown = texts(svg)
    assert "now, 10.02 min" in shown
    assert "waits 600.00 s so far: eth0: no carrier" in shown
    (bar,) = (item for item in ET.fromstring(svg).iter(f"{SVG}rect") if item.get("class") == "wait" and len(item))  # noqa: S314
    assert float(bar.attrib["width"]) > 870


def test_boots_are_below_one_another() -> None:
    """Twice the boot, twice the height."""
    one, two = (int(ET.fromstring(picture([BOOT] * count)).attrib["height"]) for count in (1, 2))  # noqa: S314
    assert two == 2 * one
    assert texts(picture([BOOT, BOOT])) == texts(picture([BOOT])) * 2


def test_a_document_becomes_the_same_picture() -> None:
    for what in (BOOT, WAITS):
        assert picture([from_document(document(what))]) == picture([what])


@pytest.mark.parametrize("wrong", [-1.0, 1e300, float("nan"), "1", True])
def test_a_document_with_a_time_that_cannot_be_is_refused(wrong: object) -> None:
    values = document(BOOT)
    values["spans"][0]["end"] = wrong
    with pytest.raises(ValueError, match="no number of seconds"):
        from_document(values)


def test_a_boot_with_very_many_spans_stays_small() -> None:
    many = tuple(Span(f"\x00{number}", Kind.WAIT, 0.0, 1e9, "x" * 1000) for number in range(10_000))
    svg = picture([replace(BOOT, spans=many)])
    assert len(svg) < 200_000
    assert "9600 spans of time" in texts(svg)


def test_the_picture_of_the_documentation_is_made_by_the_product() -> None:
    assert PICTURE.read_text() == (BOOTS / PICTURED / "expected.svg").read_text(), "run tools/make_boots.py"
