"""What `systemctl show` says of the units, and what follows from it."""

from __future__ import annotations

import pytest

from core.adoption.nodes import BEFORE, FORMER, adopted, with_units
from nodenet.core.adoption.steps import UnitState, in_charge, open_trial, unit_states
from nodenet.core.trial.trial import RUNNING, TrialState

SHOWN = """Id=nodeip-configuration.service
LoadState=loaded
ActiveState=inactive
UnitFileState=enabled
Job=1234
RequiredBy=kubelet-dependencies.target
WantedBy=
TriggeredBy=a.path b.timer
DropInPaths=/etc/systemd/system/a.conf /run/b.conf
ExecStart={ path=/usr/bin/podman ; argv[]=/usr/bin/podman run --platform BareMetal 192.0.2.2 ; }

Id=nodenet-compat-ovs-configuration.service
LoadState=loaded
ActiveState=active
UnitFileState=enabled

Id=nodenetd.service
LoadState=masked
ActiveState=inactive
UnitFileState=masked
"""


def test_units_are_known_by_their_own_names() -> None:
    """An alias of nodenet is no unit of the former chain."""
    found = unit_states(SHOWN)
    assert set(found) == {
        "nodeip-configuration.service",
        "nodenet-compat-ovs-configuration.service",
        "nodenetd.service",
    }
    assert found["nodeip-configuration.service"].command.endswith("192.0.2.2 ; }")
    assert found["nodeip-configuration.service"].job
    assert found["nodeip-configuration.service"].starters == ("kubelet-dependencies.target", "a.path", "b.timer")
    assert found["nodeip-configuration.service"].drop_ins == ("/etc/systemd/system/a.conf", "/run/b.conf")
    assert found["nodenetd.service"] == UnitState("masked", "inactive", "masked", "")
    assert unit_states("") == {}


def test_the_former_chain_is_what_is_loaded_and_not_in_its_place() -> None:
    assert BEFORE.former == FORMER
    masked = with_units(BEFORE, ovs_configuration__service=UnitState("masked", "inactive", "masked"))
    assert masked.former == FORMER[:2]
    assert BEFORE.unit("no-such.service").load == "not-found"


def test_what_runs_and_what_is_enabled() -> None:
    assert (BEFORE.runs, BEFORE.enabled, BEFORE.ours) == (False, False, ())
    assert (adopted().runs, adopted().enabled, len(adopted().ours)) == (True, True, 1)
    dns = with_units(adopted(), nodenet_dnsmasq__service=UnitState("loaded", "active", "static"))
    assert (adopted().hosts, dns.hosts) == ("", "nodenet-dnsmasq.service")
    companion = with_units(adopted(), nodenet_hosted__service=UnitState("loaded", "active", "static"))
    assert companion.hosts == ""


def test_the_former_chain_is_in_charge_where_it_is_started_at_boot() -> None:
    """Also by a unit that requires it. What is masked, started by nothing, or only checks does not configure it."""
    target = ("kubelet-dependencies.target",)
    units = {
        "nodeip-configuration.service": UnitState("loaded", file="static", starters=target),
        "nmstate-configuration.service": UnitState("loaded", file="disabled"),
        "ovs-configuration.service": UnitState("loaded", file="enabled"),
        "on-prem-resolv-prepender.path": UnitState("masked", file="masked", starters=target),
        "on-prem-resolv-prepender.service": UnitState(
            "loaded", file="static", starters=("on-prem-resolv-prepender.path",)
        ),
        "node-valid-hostname.service": UnitState("loaded", file="enabled"),
        "nodenet-compat-ovs-configuration.service": UnitState("loaded", file="enabled"),
    }
    assert in_charge(units, {}) == ("nodeip-configuration.service", "ovs-configuration.service")
    assert in_charge(units, {"configure-ovs": "unit:ovs-configuration.service", "nodeip": "skip"}) == ()
    assert in_charge({}, {}) == ()


@pytest.mark.parametrize("nodeip", [UnitState(), UnitState("loaded", file="disabled"), UnitState("masked")])
@pytest.mark.parametrize("ovs", [UnitState(), UnitState("loaded", file="enabled"), UnitState("masked")])
def test_a_part_of_the_former_chain_that_publishes_no_node_ips_is_not_in_charge(
    nodeip: UnitState, ovs: UnitState
) -> None:
    """Else kubelet would start without them. Where the chain has none to publish, its unit is absent or disabled."""
    names = ("nodeip-configuration.service", "ovs-configuration.service", "on-prem-resolv-prepender.path")
    units = dict(zip(names, (nodeip, ovs, UnitState("loaded", file="enabled")), strict=True))
    whole = ovs.load == "loaded" and nodeip.load != "masked"
    assert in_charge(units, {}) == (tuple(reversed(names[1:])) if whole else ())
    upi = {"nodeip-configuration-vsphere-upi.service": UnitState("loaded", file="enabled")}
    assert "nodeip-configuration-vsphere-upi.service" in in_charge(units | upi, {})


@pytest.mark.parametrize("state", TrialState)
def test_a_trial_holds_the_network_until_it_has_ended(state: TrialState) -> None:
    trial = {"state": state.value, "node_file": "worker-0.yml", "who": "root (process 7)"}
    held = "a trial of worker-0.yml holds the network; root (process 7) started it"
    assert open_trial({"trial": trial}) == (held if state in RUNNING else "")


def test_without_nodenetd_there_is_no_trial() -> None:
    """NetworkManager has rolled it back, or does."""
    trial = {"state": "holding", "node_file": "worker-0.yml", "who": "root"}
    assert open_trial({"trial": trial, "running": {"now": False}}) == ""
    assert open_trial({"trial": None}) == open_trial(None) == ""
