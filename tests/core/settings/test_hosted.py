"""The tables of hosted services: keys that contradict each other."""

from nodenet.core.settings.model import HostedSettings


def test_the_defaults_contradict_nothing() -> None:
    assert HostedSettings().contradiction is None


def test_ports_that_others_need() -> None:
    assert HostedSettings(lb_port=443, api_port=443).contradiction == (
        "hosted.lb_port and hosted.api_port are both 443: the API server needs its port itself"
    )
    assert HostedSettings(lb_port=53).contradiction == "hosted.lb_port is 53, the port of DNS"
