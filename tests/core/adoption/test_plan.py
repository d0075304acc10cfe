"""Which steps a node still needs; each plan leads to a node that needs none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.adoption.nodes import BEFORE, OLD, OURS, PATHS, adopted, with_units
from nodenet.core.adoption import plan
from nodenet.core.adoption.former_chain import NODENETD, RESOLVER_PATH
from nodenet.core.adoption.plan import AdoptionRefused, refuse_adoption, refuse_hand_back
from nodenet.core.adoption.steps import AdoptionFacts, Kind, Step, UnitState
from nodenet.core.br_ex.condition import Owner

IN_MEMORY = replace(OURS, on_disk=(), in_memory=("a", "b"))


def names(steps: tuple[Step, ...]) -> list[str]:
    return [str(step) for step in steps]


def after(facts: AdoptionFacts, step: Step) -> AdoptionFacts:  # noqa: PLR0911  (one for each kind)
    """Return the node once *step* is done."""
    state = facts.unit(NODENETD)
    match step.kind:
        case Kind.OLD_RECORD:
            return replace(facts, remembered=False)
        case Kind.DROP_INS:
            missing, present = ((), PATHS) if step.forward else (PATHS, ())
            return replace(facts, missing=missing, present=present)
        case Kind.ENABLED:
            return with_units(facts, nodenetd__service=replace(state, file="enabled" if step.forward else "disabled"))
        case Kind.MARKER:
            return replace(facts, marker=step.forward)
        case Kind.NOT_HELD:
            return replace(facts, held=not step.forward)
        case Kind.BRIDGE_ON_DISK:
            return replace(facts, bridges=(OURS if step.forward else IN_MEMORY,))
        case Kind.PREPENDER_STOPPED:
            path = replace(facts.unit(RESOLVER_PATH), active="inactive" if step.forward else "active")
            return with_units(facts, on_prem_resolv_prepender__path=path)
        case Kind.NODENETD:
            return with_units(facts, nodenetd__service=replace(state, active="active" if step.forward else "inactive"))
    return facts


def states(facts: AdoptionFacts, steps: tuple[Step, ...]) -> list[AdoptionFacts]:
    """Return the node before the first step and after each."""
    found = [facts]
    for step in steps:
        found.append(after(found[-1], step))
    return found


def test_a_node_that_never_had_the_former_chain_is_refused() -> None:
    """As one on which nodenetd already runs, and on which nothing is to be done."""
    running = UnitState("loaded", "active", "enabled")
    with pytest.raises(AdoptionRefused) as refused:
        plan.adoption(AdoptionFacts(units={NODENETD: running}, missing=PATHS))
    assert refused.value.cause == (
        "this node cannot be adopted: it has no unit of the former chain that does a stage of nodenetd"
    )


def test_a_br_ex_of_nodenet_is_given_back_in_this_order() -> None:
    assert names(plan.hand_back(adopted())) == [
        "nodenetd-",
        "not-held-",
        "bridge-on-disk-",
        "marker-",
        "enabled-",
        "resolv-conf-",
        "prepender-stopped-",
        "drop-ins-",
        "check-",
    ]


@pytest.mark.parametrize("facts", [BEFORE, adopted(), adopted(bridges=(OLD,)), adopted(bridges=())])
def test_both_are_idempotent_and_can_be_repeated_from_every_step(facts: AdoptionFacts) -> None:
    """A kill between two steps leaves a node on which either verb gets to its end."""
    there, back = (plan.adoption, plan.hand_back) if not facts.marker else (plan.hand_back, plan.adoption)
    ends = states(facts, there(facts))
    assert there(ends[-1]) == ()
    for moment in ends:
        assert there(states(moment, there(moment))[-1]) == ()
        assert back(states(moment, back(moment))[-1]) == ()


@pytest.mark.parametrize("facts", [adopted(), adopted(bridges=(OLD,))])
def test_a_hand_back_that_was_killed_at_any_step_is_completed_by_the_next(facts: AdoptionFacts) -> None:
    """The former chain writes resolv.conf again; only the check at the end may be left out."""
    for moment in states(facts, plan.hand_back(facts)):
        for steps in (plan.hand_back(moment), plan.uninstall(moment)):
            end = states(moment, steps)[-1]
            assert (end.unit(RESOLVER_PATH).active, end.present, end.marker) == ("active", (), False)
            assert ("resolv-conf-" in names(steps)) is bool(moment.present)


@pytest.mark.parametrize("facts", [BEFORE, adopted(), adopted(bridges=(OLD,))])
def test_a_power_cut_at_any_moment_leaves_one_of_the_two(facts: AdoptionFacts) -> None:
    """With the marker: nodenetd is enabled and every drop-in is there. Without it: nothing but inert drop-ins."""
    verb = plan.hand_back if facts.marker else plan.adoption
    for moment in states(facts, verb(facts)):
        if moment.marker:
            assert moment.enabled
            assert not moment.missing
        elif moment.enabled:
            assert not moment.missing, "nodenetd would run beside the former chain"


@pytest.mark.parametrize("facts", [BEFORE, adopted(), adopted(bridges=(OLD,))])
def test_undoing_from_any_step_gets_back_to_the_beginning(facts: AdoptionFacts) -> None:
    """Only one harmless effect stays: nodenet forgets an earlier br-ex."""
    steps = (plan.hand_back if facts.marker else plan.adoption)(facts)
    for number in range(1, len(steps) + 1):
        moment = states(facts, steps[:number])[-1]
        for step in steps[:number][::-1]:
            moment = after(moment, step.undone) if step.undone else moment
        assert replace(moment, remembered=facts.remembered) == facts


def test_an_adopted_node_that_lacks_a_drop_in_keeps_the_others_whatever_fails() -> None:
    """Without them, the former chain and nodenetd would both configure the node in the next boot."""
    facts = adopted(missing=PATHS[:1])
    steps = plan.adoption(facts)
    assert names(steps) == ["drop-ins+", "check+"]
    assert [step.undone for step in steps] == [None, None]


@pytest.mark.parametrize("facts", [adopted(), replace(BEFORE, held=True, bridges=(IN_MEMORY,))])
def test_a_unit_that_deletes_br_ex_never_starts_beside_a_br_ex_of_nodenet(facts: AdoptionFacts) -> None:
    """Without the marker its own drop-in lets it start: it is held before the marker goes, until the marker is back."""
    steps = (plan.hand_back if facts.marker else plan.adoption)(facts)
    for moment in states(facts, steps):
        assert moment.marker or moment.held
    for number in range(1, len(steps) + 1):
        moment = states(facts, steps[:number])[-1]
        for back in (step.undone for step in steps[number - 1 :: -1]):
            moment = after(moment, back) if back else moment
            assert moment.marker or moment.held, (steps[number - 1], back)


def test_a_node_that_could_not_boot_with_nodenet_is_to_be_rebooted_after_it_is_handed_back() -> None:
    """The former chain was skipped in this boot, and nodenetd published nothing: kubelet waits."""
    for stuck in (adopted(published=(), bridges=()), adopted(published=())):
        assert plan.handed_back(stuck, plan.hand_back(stuck)) == (
            "nodenetd does not configure this node any more. The former chain does from the next boot on. No node IP "
            "was published in this boot, and kubelet waits for one: reboot the node."
        )
    elsewhere = replace(adopted(published=(), bridges=()), stages={"nodeip": "skip"})
    assert plan.handed_back(elsewhere, plan.hand_back(elsewhere)) == plan.NOW


def test_a_refused_node_gets_no_steps() -> None:
    with pytest.raises(AdoptionRefused, match="this node cannot be adopted: no node IP"):
        plan.adoption(replace(BEFORE, published=()))
    with pytest.raises(AdoptionRefused, match="this node cannot be handed back: the units"):
        plan.hand_back(adopted(units={NODENETD: UnitState("loaded", "active", "enabled")}))


def test_a_node_that_is_adopted_already_is_never_refused() -> None:
    assert plan.adoption(adopted(published=())) == ()
    assert names(
        plan.adoption(with_units(adopted(), nodenetd__service=UnitState("loaded", "inactive", "enabled")))
    ) == [
        "resolv-conf+",
        "nodenetd+",
        "check+",
    ]


def test_nothing_is_handed_back_where_nothing_was_adopted() -> None:
    assert plan.hand_back(BEFORE) == ()


def test_before_nodenet_is_removed() -> None:
    """An adopted node is handed back; where the former chain is there, the files are the ones it writes itself."""
    assert plan.uninstall(adopted()) == plan.hand_back(adopted())
    assert names(plan.uninstall(BEFORE)) == []
    alone = {NODENETD: UnitState("loaded", "active", "enabled")}
    assert names(plan.uninstall(AdoptionFacts(alone))) == ["nodenetd-", "files-gone-"]
    assert names(plan.uninstall(adopted(units=alone))) == ["nodenetd-", "marker-", "drop-ins-", "files-gone-"]
    with pytest.raises(AdoptionRefused):
        plan.uninstall(adopted(unfinished="the address of br-ex is static"))


def test_the_last_sentence_says_who_configures_the_node() -> None:
    assert plan.handed_back(adopted(), plan.hand_back(adopted())) == (
        "nodenetd does not configure this node any more. The former chain does from the next boot on. Until then br-ex "
        "stays as it is, and nmstate-configuration.service and ovs-configuration.service do not start."
    )
    before_a_boot = adopted(bridges=(OLD,))
    assert plan.handed_back(before_a_boot, plan.hand_back(before_a_boot)) == (
        "nodenetd does not configure this node any more. The former chain does, now and at every boot."
    )
    alone = AdoptionFacts({NODENETD: UnitState("loaded", "active", "enabled")})
    assert plan.handed_back(alone, plan.uninstall(alone)) == "nodenetd does not configure this node any more."


# A node in a state that is not known is left alone, with the reason and what helps.


NODE_IP_UNIT = UnitState(
    "loaded",
    "inactive",
    "enabled",
    "{ argv[]=podman run --platform BareMetal 192.0.2.2 192.0.2.3 192.0.2.2 fe::1:2 ; 7 }",
)
NO_VIPS = "the settings name no VIPs (nodeip-configuration.service names 192.0.2.2, 192.0.2.3, fe::1:2)"
RUNNING = UnitState("loaded", "active", "static")
REFUSED: list[tuple[AdoptionFacts, str]] = [
    (with_units(BEFORE, nodenetd__service=UnitState()), "systemd has no nodenetd.service"),
    (with_units(BEFORE, nodenetd__service=UnitState("masked")), "nodenetd.service is masked"),
    (
        replace(BEFORE, units={"nodenetd.service": UnitState("loaded")}),
        "it has no unit of the former chain that does a stage of nodenetd",
    ),
    (
        with_units(BEFORE, ovs_configuration__service=UnitState("loaded", "failed", "enabled")),
        "ovs-configuration.service has failed",
    ),
    (
        with_units(BEFORE, ovs_configuration__service=UnitState("loaded", "activating", "enabled")),
        "ovs-configuration.service has not ended (activating)",
    ),
    (
        with_units(BEFORE, ovs_configuration__service=UnitState("loaded", "inactive", "enabled", job=True)),
        "ovs-configuration.service is about to be started or stopped",
    ),
    (
        replace(BEFORE, resets=("/etc/systemd/system/nodenetd.service.d/99.conf",)),
        "/etc/systemd/system/nodenetd.service.d/99.conf has an empty condition, which voids that of an adoption",
    ),
    (
        with_units(BEFORE, mtu_migration__service=UnitState("loaded", "inactive", "enabled")),
        "mtu-migration.service is enabled: the MTU of the cluster is being changed",
    ),
    (replace(BEFORE, published=()), "no node IP is published in this boot (/run/nodeip-configuration/primary-ip)"),
    (replace(BEFORE, addresses=frozenset()), "the published node IP 192.0.2.9 is not on this node"),
    (
        replace(BEFORE, bridges=(replace(OLD, owner=Owner.FOREIGN),)),
        "br-ex was not made by the former chain, by a node file or by nodenet",
    ),
    (
        replace(BEFORE, network_type=""),
        "it has br-ex, and nodenetd would not make it again: `network_type` is ''",
    ),
    (
        with_units(replace(BEFORE, vips=False), nodeip_configuration__service=NODE_IP_UNIT),
        f"on-prem-resolv-prepender.path writes resolv.conf for the VIPs of the cluster, and {NO_VIPS}",
    ),
    (
        replace(BEFORE, node_file="worker-0.yml"),
        "the node file worker-0.yml is not what the former chain applied, and nodenetd would apply it",
    ),
]


@pytest.mark.parametrize(("facts", "cause"), REFUSED, ids=lambda value: value if isinstance(value, str) else "")
def test_a_state_that_is_not_known_is_refused(facts: AdoptionFacts, cause: str) -> None:
    with pytest.raises(AdoptionRefused) as refused:
        refuse_adoption(facts)
    assert refused.value.cause == f"this node cannot be adopted: {cause}"
    assert refused.value.remedy
    assert refused.value.exit_code == 1


@pytest.mark.parametrize(
    "facts",
    [
        BEFORE,
        replace(BEFORE, bridges=(), network_type=""),
        replace(BEFORE, stages={"nodeip": "skip"}, published=()),
        replace(BEFORE, stages={"configure-ovs": "unit:ovs-configuration.service"}, network_type=""),
        replace(BEFORE, stages={"resolv-prepender": "skip"}, vips=False),
        replace(BEFORE, stages={"nmstate": "skip"}, node_file="worker-0.yml"),
        replace(BEFORE, bridges=(replace(OLD, owner=Owner.NMSTATE),), network_type=""),
    ],
)
def test_a_stage_that_nodenetd_does_not_do_refuses_nothing(facts: AdoptionFacts) -> None:
    refuse_adoption(facts)


@pytest.mark.parametrize(
    ("facts", "cause"),
    [
        (
            adopted(units={"nodenetd.service": RUNNING}),
            "the units of the former chain are gone, and without them it has no node IP in the next boot",
        ),
        (
            with_units(adopted(), nodenet_keepalived__service=RUNNING),
            "nodenet-keepalived.service runs here for the cluster, and the former chain has no such unit",
        ),
        (adopted(unfinished="nodenetd is changing br-ex"), "nodenetd is changing br-ex"),
        (adopted(trial="a trial of a.yml holds the network"), "a trial of a.yml holds the network"),
        (
            with_units(adopted(), nodeip_configuration__service=UnitState("loaded", "inactive", "disabled")),
            "nodeip-configuration.service is not enabled, and without it the node has no node IP in the next boot",
        ),
        (
            with_units(adopted(), nodeip_configuration__service=UnitState("masked", "inactive", "masked")),
            "nodeip-configuration.service is masked, and without it the node has no node IP in the next boot",
        ),
        (
            with_units(adopted(), ovs_configuration__service=UnitState()),
            "ovs-configuration.service is not-found, and without it the node has no br-ex in the next boot",
        ),
    ],
)
def test_a_node_that_would_be_left_without_is_not_handed_back(facts: AdoptionFacts, cause: str) -> None:
    with pytest.raises(AdoptionRefused) as refused:
        refuse_hand_back(facts)
    assert refused.value.cause == f"this node cannot be handed back: {cause}"
    assert refused.value.remedy


@pytest.mark.parametrize(
    "facts",
    [
        adopted(),
        with_units(adopted(bridges=()), ovs_configuration__service=UnitState()),
        with_units(adopted(bridges=(replace(OLD, owner=Owner.NMSTATE),)), ovs_configuration__service=UnitState()),
        with_units(adopted(present=()), nodeip_configuration__service=UnitState("masked")),
        with_units(adopted(stages={"nodeip": "skip"}), nodeip_configuration__service=UnitState("masked")),
    ],
)
def test_an_adopted_node_may_be_handed_back(facts: AdoptionFacts) -> None:
    """A unit that the node did not have when it was adopted, or does not need, is not asked for."""
    refuse_hand_back(facts)
