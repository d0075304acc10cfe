"""Units: which of systemd's states mean that a service runs, and the words for the others."""

from nodenet.core.hosted_services.units import Running


def test_what_runs() -> None:
    assert Running("loaded", "active").is_up
    assert Running("loaded", "reloading").is_up
    assert not Running("loaded", "activating").is_up


def test_what_is_about_to_run() -> None:
    assert Running("loaded", "activating").is_settling
    assert Running("loaded", "inactive", job=True).is_settling
    assert not Running("loaded", "failed").is_settling


def test_why_it_does_not_run() -> None:
    assert Running("not-found", "inactive").why_down == "systemd has no such unit (not-found)"
    assert Running("loaded", "failed", result="start-limit-hit").why_down == "failed, result start-limit-hit"
    assert Running("loaded", "inactive").why_down == "inactive"
