"""What keeps our services from running beside another stack."""

from ipaddress import ip_address

import pytest

from nodenet.core.hosted_services.model import Service
from nodenet.core.hosted_services.units import Listener, Others, why_waiting

PORTS = (9445, 9444)


@pytest.mark.parametrize("service", [Service.KEEPALIVED, Service.HAPROXY])
@pytest.mark.parametrize("suffix", [".yaml", ".yml", ".json"])
def test_a_static_pod_of_the_same_service_is_waited_for(service: Service, suffix: str) -> None:
    others = Others(manifests={f"{service}{suffix}", "etcd.yaml"})
    assert why_waiting(service, others, PORTS) == (
        f"kubelet has the static pod /etc/kubernetes/manifests/{service}{suffix}: "
        "move that file away to let nodenet serve instead"
    )


def test_static_pods_of_others_and_files_that_were_moved_away_are_nothing() -> None:
    others = Others(manifests={"etcd.yaml", "haproxy.yaml.bak", "coredns.yaml"})
    assert why_waiting(Service.HAPROXY, others, PORTS) is None
    assert why_waiting(Service.KEEPALIVED, others, ()) is None


def test_a_foreign_listener_on_our_port_is_waited_for_and_our_own_is_not() -> None:
    ours, foreign = Listener(9445, ours=True), Listener(9445, ours=False)
    assert why_waiting(Service.HAPROXY, Others(listeners=(ours,)), PORTS) is None
    assert why_waiting(Service.HAPROXY, Others(listeners=(ours, foreign)), PORTS) == (
        "another program listens on port 9445: see `ss -ltnp sport = :9445`"
    )
    assert why_waiting(Service.HAPROXY, Others(listeners=(Listener(6443, ours=False),)), PORTS) is None


def test_the_former_stack_s_coredns_goes_before_our_dnsmasq() -> None:
    reason = why_waiting(Service.DNSMASQ, Others(manifests={"coredns.yaml"}), ())
    assert reason
    assert reason.startswith("kubelet has the static pod /etc/kubernetes/manifests/coredns.yaml")


def test_a_foreign_listener_is_named_and_one_on_another_address_is_in_nobody_s_way() -> None:
    named = Listener(53, ours=False, address=ip_address("127.0.0.53"), program="named.service")
    assert why_waiting(Service.DNSMASQ, Others(listeners=(named,)), (53,)) == (
        "named.service listens on port 53: see `ss -ltnp sport = :53`"
    )
    assert not named.is_at((ip_address("127.0.0.1"), ip_address("192.0.2.10")))
    assert Listener(53, ours=False, address=ip_address("::")).is_at(())


def test_another_program_that_speaks_vrrp_keeps_keepalived_only() -> None:
    assert why_waiting(Service.KEEPALIVED, Others(speakers=1), ()) == (
        "another program of this node speaks VRRP: see `ss -lwnp`, and stop it"
    )
    assert why_waiting(Service.HAPROXY, Others(speakers=1), PORTS) is None
