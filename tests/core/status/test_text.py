"""The status of the node as people read it."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address

import pytest

from nodenet.core.boot.outcome import Again, Done, Facts, Failed, Outcome, Problem
from nodenet.core.boot.stages import new_boot
from nodenet.core.messages import Message
from nodenet.core.node_ip.select import Selection
from nodenet.core.stage_name import StageName
from nodenet.core.status.document import BootStatus, Refusal, document
from nodenet.core.status.text import WHILE_WAITING, lines
from status_cases import DEGRADED, FACTS, GOOD, PROBLEM, WAITING, boot, provided


def test_the_first_five_lines_say_what_a_person_wants_to_know() -> None:
    """Health and kubelet, node IPs, bridge, node file, what is wrong."""
    good = list(lines(GOOD | {"bridge": "br-ex", "uplink": "eth0", "node_ips": ["192.0.2.5"], "link": "br-ex"}, 9.0))
    assert good[:6] == [
        "ok (kubelet may run)",
        "  node IPs    192.0.2.5 on br-ex",
        "  bridge      br-ex over eth0",
        f"  node file   worker-0.yml ({'a' * 12}), applied; host name worker-0",
        "  problem     none",
        "",
    ]
    degraded = list(lines(DEGRADED, 9.0))
    assert degraded[4:6] == [
        "  problem     nmstate: worker-0.yml: mtu is 1500",
        "  to do       Compare it with the NIC",
    ]


def test_notes_on_the_choice_stand_below_it() -> None:
    """A hint that matches nothing or cannot be read, in the document and for people."""
    notes = ("hint eth9 (the setting `hint`) matches no usable address of this node", "another one")
    made = document(BootStatus(new_boot({}, degrade=True), Facts(selection=Selection(notes=notes))))
    assert made["notes"] == list(notes)
    assert list(lines(made, 9.0))[2:4] == [f"  note        {note}" for note in notes]


def test_a_wait_says_for_what_since_when_and_until_when() -> None:
    """And who holds it; afterwards, how long it took."""
    hold = {"who": "backup", "why": "a snapshot"}
    stages = [stage | {"held": [hold]} if stage["status"] == "waiting" else stage for stage in WAITING["stages"]]
    text = list(lines(WAITING | {"stages": stages}, 5.0))
    assert "  waiting     nmstate: NetworkManager is not on the bus yet" in text
    (line,) = (line for line in text if line.startswith("  nmstate "))
    assert line.split()[1:4] == ["waiting", "4.00", "s"]
    assert line.endswith("(next try in 2 s, or on an event)")
    assert text[text.index(line) + 1].strip() == "inhibited by backup: a snapshot"
    waited = [stage | {"waited": 1.2} if stage["name"] == "nmstate" else stage for stage in GOOD["stages"]]
    assert any("(waited 1.20 s of it)" in line for line in lines(GOOD | {"stages": waited}, 9.0))


def test_a_stage_that_a_unit_does_names_it() -> None:
    assert any("(by my.service" in line for line in lines(provided(nmstate="unit:my.service"), 1.0))


def test_how_often_a_stage_has_failed_is_shown_with_its_next_try() -> None:
    """Once is what the status says anyway; a success ends the count (R7)."""
    name, boot = StageName.CONFIGURE_OVS, new_boot({}, degrade=True).begun(StageName.CONFIGURE_OVS, 1.0)
    shown = []
    outcomes: list[Outcome] = [Failed(PROBLEM, FACTS, Again(seconds=30.0))] * 3
    for outcome in (*outcomes, Done("made", FACTS, Message.STARTED)):
        boot = boot.after(name, outcome, 2.0)
        text = lines(document(BootStatus(boot, FACTS, "b")), 2.0)
        shown.append(next(line for line in text if line.startswith("  configure-ovs ")).partition(" (")[2])
    soon = "next try in 30 s, or on an event)"
    assert shown == [soon, f"failed 2 times in a row; {soon}", f"failed 3 times in a row; {soon}", ""]


def test_a_document_of_an_older_daemon_is_shown_too() -> None:
    """After an update the daemon runs on until it is restarted."""
    old = {key: value for key, value in GOOD.items() if key not in ("uplink", "notes")}
    old["stages"] = [
        {key: value for key, value in stage.items() if key not in ("waited", "next_try", "failures", "held")}
        for stage in GOOD["stages"]
    ]
    assert next(iter(lines(old, 9.0))) == "ok (kubelet may run)"


@pytest.mark.parametrize(
    ("name", "digest", "applied", "said"),
    [
        (None, None, None, "none; host name worker-0"),
        (
            *(None, None, "b" * 64),
            f"none for worker-0; the configuration {'b' * 12} of an earlier file is still active; host name worker-0",
        ),
        ("a.yaml and a.yml", None, None, "a.yaml and a.yml, NOT applied; no node file is applied; host name worker-0"),
        (
            *("a.yml", "a" * 64, "b" * 64),
            f"a.yml ({'a' * 12}), NOT applied; the active configuration is that of {'b' * 12}; host name worker-0",
        ),
    ],
)
def test_the_line_of_the_node_file_says_what_is_in_force(
    name: str | None, digest: str | None, applied: str | None, said: str
) -> None:
    """Also where there is none any more, or two."""
    text = list(lines(GOOD | {"node_file": name, "digest": digest, "applied_digest": applied}, 9.0))
    assert text[3] == f"  node file   {said}"


def test_every_problem_is_listed() -> None:
    """Two failed stages and a refused reload, each with its remedy (R57)."""
    second = Problem(Message.BRIDGE_FAILED, "Open vSwitch does not answer", "Start it")
    refused = Refusal(Problem(Message.SETTINGS_INVALID, "unknown key 'platfrom'", "Edit nodenet.toml"))
    made = new_boot({}, degrade=True)
    for name in StageName:
        outcome: Outcome = Done("done", FACTS, Message.STARTED)
        if name in (StageName.NMSTATE, StageName.CONFIGURE_OVS):
            outcome = Failed(PROBLEM if name is StageName.NMSTATE else second, FACTS)
        made = made.begun(name, 1.0).after(name, outcome, 2.5)
    text = list(lines(document(BootStatus(made, FACTS, ready=True, refused=refused)), 9.0))
    assert [line for line in text if line.startswith("  problem ")] == [
        "  problem     unknown key 'platfrom'",
        "  problem     nmstate: worker-0.yml: mtu is 1500",
        "  problem     configure-ovs: Open vSwitch does not answer",
    ]
    assert [line for line in text if line.startswith("  to do ")] == [
        "  to do       Edit nodenet.toml",
        "  to do       Compare it with the NIC",
        "  to do       Start it",
    ]


def test_a_lost_node_ip_is_not_shown_as_present() -> None:
    """The line of the node IPs and the problem say the same (R57)."""
    drift = Problem(Message.NODE_IP_DRIFT, "Node IP 192.0.2.5 is missing (eth0: no carrier)", "Restore it")
    facts = replace(FACTS, selection=Selection((ip_address("192.0.2.5"),), "eth0"))
    made = replace(BootStatus(new_boot({}, degrade=True), facts, ready=True), losses=(drift,))
    text = list(lines(document(made), 9.0))
    assert text[1] == "  node IPs    192.0.2.5 on eth0 (published, but missing on this node: see the problem)"
    assert "  problem     nodeip: Node IP 192.0.2.5 is missing (eth0: no carrier)" in text
    assert list(lines(document(replace(made, losses=())), 9.0))[1] == "  node IPs    192.0.2.5 on eth0"


def test_a_refused_node_file_is_not_shown_as_none() -> None:
    """Two files for one name, for instance (R57)."""
    facts = replace(FACTS, node_file=None, digest=None, applied_digest=None)
    made = new_boot({}, degrade=True).begun(StageName.HOSTNAME, 1.0)
    made = made.after(StageName.HOSTNAME, Done("done", facts, Message.STARTED), 1.0).begun(StageName.NMSTATE, 1.0)
    made = made.after(StageName.NMSTATE, Failed(PROBLEM, facts), 2.0)
    text = list(lines(document(BootStatus(made, facts)), 9.0))
    assert "  node file   cannot be used, see the problem; no node file is applied; host name worker-0" in text


def test_a_node_file_that_is_being_applied_is_not_out_of_force_yet() -> None:
    """Before the stage has ended nothing is wrong (R57)."""
    text = list(lines(WAITING | {"applied_digest": None}, 9.0))
    assert f"  node file   worker-0.yml ({'a' * 12}), not applied yet; host name worker-0" in text
    early = list(lines(WAITING | {"node_file": None, "digest": None, "applied_digest": None}, 9.0))
    assert "  node file   not known yet; host name worker-0" in early


@pytest.mark.parametrize(
    ("ready", "runs", "said"),
    [(False, True, "kubelet is running"), (True, True, "kubelet may run"), (False, False, "kubelet is held back")],
)
def test_kubelet_is_not_held_back_while_it_runs(ready: bool, runs: bool, said: str) -> None:  # noqa: FBT001
    """After a restart of nodenetd the boot is not ready for a moment, and kubelet goes on (R57)."""
    text = next(lines(GOOD | {"ready": ready}, 9.0, kubelet_runs=runs))
    assert text == f"ok ({said})"


def test_each_node_ip_has_its_own_link() -> None:
    """Of two NICs, the second one may have the address of the other family (A10)."""
    two = GOOD | {"node_ips": ["192.0.2.5", "2001:db8::5"], "link": "eth0"}

    def told(*links: str) -> str:
        places = [
            {"address": address, "link": link, "source": ""}
            for address, link in zip(two["node_ips"], links, strict=True)
        ]
        return next(line for line in lines(two | {"node_ip_places": places}, 9.0) if "node IPs" in line)

    assert told("eth0", "eth0") == "  node IPs    192.0.2.5, 2001:db8::5 on eth0"
    assert told("eth0", "eth1") == "  node IPs    192.0.2.5 on eth0, 2001:db8::5 on eth1"
    assert told("eth0", "") == "  node IPs    192.0.2.5 on eth0, 2001:db8::5"


def test_a_wait_has_something_to_do() -> None:
    """At three in the morning the cause alone is not enough (A13)."""
    text = list(lines(WAITING, 9.0))
    found = text.index("  waiting     nmstate: NetworkManager is not on the bus yet")
    assert text[found + 1].startswith("  to do       `nmcli device` and ")
    assert set(WHILE_WAITING) == {stage["name"] for stage in GOOD["stages"]}


def test_a_stage_that_is_about_an_earlier_file_says_so() -> None:
    """The file on the disk was refused: the header says that it is not applied (A13)."""
    row = next(line for line in lines(GOOD | {"digest": "b" * 64}, 9.0) if line.startswith("  nmstate "))
    assert row.endswith("before the present file: applied")


def test_a_name_that_is_not_static_is_shown_with_its_source() -> None:
    named = lines(GOOD | {"hostname_source": "by eth0: DHCP4 host_name"}, 9.0)
    assert any(line.endswith("host name worker-0 (by eth0: DHCP4 host_name)") for line in named)


def test_a_present_file_that_waits_for_an_order_is_named_with_its_remedy() -> None:
    """Its stage has failed at nothing, and its line is about the present file."""
    cause = "worker-0.yml is another file than the one in force"
    left = Done(
        cause, replace(FACTS, applied_digest="b" * 64), Message.NETWORK_UNCHANGED, replace(PROBLEM, cause=cause)
    )
    made = boot(left)
    text = list(lines(made, 9.0))
    assert text[0] == "degraded (kubelet may run)"
    assert f"  problem     nmstate: {cause}" in text
    assert f"  to do       {PROBLEM.remedy}" in text
    (row,) = (line for line in text if line.startswith("  nmstate "))
    assert row.endswith(f"  {cause}")
    assert "before the present file" not in row
