"""Why dnsmasq does not answer, each with what an administrator can do."""

from nodenet.core.hosted_services import dns
from nodenet.core.hosted_services.units import Running
from nodenet.core.messages import Message


def test_each_has_a_cause_and_a_remedy() -> None:
    found = dns.missing("/usr/sbin/dnsmasq")
    assert found.cause == "dnsmasq of this node is not started: /usr/sbin/dnsmasq is not installed"
    assert found.remedy == 'Install dnsmasq, or set `enabled = "no"` in `[hosted]`'
    assert dns.taken("x has it").message is Message.DNS_PORT_TAKEN
    assert dns.nameless().remedy == "See `journalctl -b -u dbus`"
    assert dns.of("cause", "").remedy == "See `systemctl status nodenet-dnsmasq.service`"


def test_a_unit_that_is_not_there_is_installed_and_one_that_fails_is_looked_at() -> None:
    assert dns.down(Running("not-found", "inactive")).remedy == "Install nodenet's units again"
    assert dns.down(Running("loaded", "failed")).remedy == "See `journalctl -u nodenet-dnsmasq.service`"
