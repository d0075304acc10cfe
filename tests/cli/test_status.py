"""`nodenetctl status` and `wait`: read from the state file alone."""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import re
import time
from collections.abc import Callable
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from nodenet.cli import status, wait
from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Done, Failed, Outcome, Problem, Skipped, Waiting
from nodenet.core.boot.stages import StageName, new_boot
from nodenet.core.messages import Message
from nodenet.core.node_ip.select import Selection
from nodenet.core.status.document import BootStatus, Refusal, document, ended
from nodenet.core.status.text import lines

FACTS = Facts(hostname="worker-0", node_file="worker-0.yml", digest="a" * 64, applied_digest="a" * 64)
PROBLEM = Problem(Message.APPLY_FAILED, "worker-0.yml: mtu is 1500", "Compare it with the NIC")


def boot(nmstate: Done | Failed | Waiting) -> dict[str, Any]:
    """Return the status document of a boot in which nmstate ended so and everything else went well."""
    made = new_boot({}, degrade=True)
    for name in StageName:
        outcome = nmstate if name is StageName.NMSTATE else Done("done", FACTS, Message.STARTED)
        made = made.begun(name, 1.0).after(name, outcome, 2.5)
        if isinstance(outcome, Waiting):
            break
    facts = FACTS if isinstance(nmstate, Waiting) else nmstate.facts
    return document(BootStatus(made, facts, "b", ready=made.ready))


GOOD = boot(Done("applied", FACTS, Message.NETWORK_APPLIED))
DEGRADED = boot(Failed(PROBLEM, replace(FACTS, applied_digest=None)))
WAITING = boot(Waiting("NetworkManager is not on the bus yet"))


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Return where the state file is looked for."""
    return tmp_path / "state.json"


def shown(state: Path, **options: object) -> argparse.Namespace:
    plain = {"json": False, "wait": False, "timeout": 0.0, "stage": "nmstate", "unit": None, "file": state}
    return argparse.Namespace(**{**plain, **options})


@pytest.mark.parametrize(("now", "code"), [(GOOD, 0), (DEGRADED, 2), (WAITING, 1)])
def test_the_exit_code_stands_for_the_health(state: Path, now: dict[str, Any], code: int) -> None:
    """0 ok, 2 degraded, 1 not ready: part of the contract."""
    state.write_text(json.dumps(now))
    assert status.run(shown(state)) == code


@pytest.mark.parametrize("content", [None, "", '{"torn'])
def test_without_a_report_the_node_is_not_ready(
    state: Path, capsys: pytest.CaptureFixture[str], content: str | None
) -> None:
    """A missing or torn file is not a crash."""
    if content is not None:
        state.write_text(content)
    assert status.run(shown(state)) == 1
    assert "systemctl status nodenetd" in capsys.readouterr().out


def test_a_person_reads_addresses_file_stages_and_the_problem(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the remedy, and where to read on."""
    state.write_text(json.dumps(DEGRADED))
    status.run(shown(state))
    assert capsys.readouterr().out.splitlines()[:10] == [
        "degraded (kubelet may run)",
        "  node IPs    none yet",
        "  bridge      none",
        f"  node file   worker-0.yml ({'a' * 12}), NOT applied; no node file is applied; host name worker-0",
        "  problem     nmstate: worker-0.yml: mtu is 1500",
        "  to do       Compare it with the NIC",
        f"  more        journalctl -xb MESSAGE_ID={PROBLEM.message.value}",
        "",
        "  hostname          done       1.50 s  done",
        "  nmstate           failed     1.50 s  worker-0.yml: mtu is 1500",
    ]


def test_json_is_the_document_itself(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing added, nothing lost."""
    state.write_text(json.dumps(GOOD))
    status.run(shown(state, json=True))
    assert json.loads(capsys.readouterr().out) == GOOD


@pytest.mark.parametrize(("now", "code"), [(GOOD, 0), (DEGRADED, 1), (WAITING, 75), (None, 75)])
def test_waiting_for_a_stage_tells_how_it_ended(state: Path, now: dict[str, Any] | None, code: int) -> None:
    """0 done or skipped, 1 failed, 75 the time is up."""
    if now is not None:
        state.write_text(json.dumps(now))
    assert wait.run(shown(state)) == code


def test_a_daemon_that_ended_for_good_has_left_word(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Cause and remedy for `status`; for who waits too, once, and the wait goes on: it may be mended."""
    problem = Problem(Message.SETTINGS_INVALID, "unknown key 'platfrom'", "Edit nodenet.toml")
    state.write_text(json.dumps(ended(None, "b", problem)))
    assert status.run(shown(state, wait=True)) == 1
    said = capsys.readouterr().out
    assert said.startswith("failed (kubelet is held back)")
    assert "  problem     unknown key 'platfrom'\n  to do       Edit nodenet.toml\n" in said
    assert wait.run(shown(state, timeout=1.0)) == 75
    assert capsys.readouterr().err.count("unknown key 'platfrom'. Edit nodenet.toml") == 1


def test_what_an_earlier_daemon_of_this_boot_published_stays_in_sight() -> None:
    """Kubelet runs on it; the stage in which the daemon ended has failed."""
    before = GOOD | {"boot_id": "b"}
    after = ended(before, "b", PROBLEM)
    assert (after["health"], after["ready"], after["hostname"]) == ("failed", True, "worker-0")
    assert after["stages"] == before["stages"]
    running = [stage | {"status": "running"} if stage["name"] == "nmstate" else stage for stage in GOOD["stages"]]
    after = ended(before | {"stages": running}, "b", PROBLEM)
    assert after["last_error"]["stage"] == "nmstate"
    assert after["stages"][1]["status"] == "failed"
    assert not ended(before, "another boot", PROBLEM)["ready"]


@pytest.mark.parametrize(
    "before",
    ["text", ["b"], {"boot_id": "b"}, {"boot_id": "b", "stages": [1]}, {"boot_id": "b", "stages": 1}],
    ids=str,
)
def test_a_state_file_that_is_no_document_counts_as_none(before: Any) -> None:
    """The daemon that ends leaves word all the same."""
    assert ended(before, "b", PROBLEM) == ended(None, "b", PROBLEM)


def test_a_skipped_stage_is_over(state: Path) -> None:
    """Nobody waits for what is not run."""
    made = new_boot({}, degrade=True)
    made = made.begun(StageName.HOSTNAME, 1.0).after(StageName.HOSTNAME, Skipped("nobody needs it", FACTS), 1.0)
    state.write_text(json.dumps(document(BootStatus(made, FACTS))))
    assert wait.run(shown(state, stage="hostname")) == 0


def provided(**providers: str) -> dict[str, Any]:
    """Return the document of a boot that begins, with these providers."""
    return document(
        BootStatus(new_boot({name.replace("_", "-"): unit for name, unit in providers.items()}, degrade=True))
    )


def after(*names: str) -> Callable[[str], frozenset[str]]:
    return lambda _: frozenset(names)


def test_a_name_does_not_wait_for_a_stage_that_waits_for_it() -> None:
    """Neither where the settings give the stage to that name, nor where a unit behind it does an earlier stage."""
    name = "nodeip-configuration.service"
    own = provided(nodeip=f"unit:{name}")
    earlier = provided(nmstate="unit:nmstate-configuration.service")
    later = provided(configure_ovs="unit:ovs-configuration.service")
    assert wait.circle(own, "nodeip", name, after()) == (
        "the settings assign the stage nodeip to this unit, but it is only an alias here"
    )
    for shown in (name, f"nodenet-compat-{name}"):  # systemd shows an alias by the unit's own name
        assert wait.circle(earlier, "nodeip", name, after(shown)) == (
            "nmstate-configuration.service does the stage nmstate and is ordered after this alias. "
            "Run `systemctl disable nodenet-compat-nodeip-configuration.service`"
        )
        assert wait.circle(later, "nodeip", name, after(shown)) is None
    assert wait.circle(earlier, "nodeip", name, after("dbus.service")) is None
    assert wait.circle(provided(), "nodeip", name, after(name)) is None


def test_a_name_gives_up_at_once_where_nobody_can_come_to_an_end(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 78 and the reason, without a time limit."""
    state.write_text(json.dumps(provided(nmstate="unit:nmstate-configuration.service")))
    assert wait.run(shown(state, unit="nmstate-configuration.service", timeout=None)) == 78
    assert capsys.readouterr().err == (
        "nmstate-configuration.service: the settings assign the stage nmstate to this unit, "
        "but it is only an alias here\n"
    )


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


def test_a_document_of_an_older_daemon_is_shown_too() -> None:
    """After an update the daemon runs on until it is restarted."""
    old = {key: value for key, value in GOOD.items() if key not in ("uplink", "notes")}
    old["stages"] = [
        {key: value for key, value in stage.items() if key not in ("waited", "next_try", "held")}
        for stage in GOOD["stages"]
    ]
    assert next(iter(lines(old, 9.0))) == "ok (kubelet may run)"


@pytest.mark.parametrize(
    ("name", "digest", "applied", "said"),
    [
        (None, None, None, "none; host name worker-0"),
        (
            *(None, None, "b" * 64),
            f"none; the file was removed, its configuration {'b' * 12} is still active; host name worker-0",
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


@pytest.mark.parametrize("verb", [status, wait])
def test_the_time_that_is_over_is_75(state: Path, verb: Any) -> None:
    """With a document and without one (R59)."""
    assert verb.run(shown(state, wait=True)) == 75
    state.write_text(json.dumps(WAITING))
    assert verb.run(shown(state, wait=True)) == 75


def test_a_document_of_a_daemon_that_has_ended_is_old(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither ok nor ready: exit code 1, and how old it is (R56)."""
    state.write_text(json.dumps(GOOD))
    os.utime(state, (time.time() - 7, time.time() - 7))
    (state.parent / "lock").write_text("812\n")
    assert status.run(shown(state)) == 1
    text = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"nodenetd is not running; as of [78] s ago \(kubelet is held back\)", text[0])
    assert text[4:6] == [
        "  problem     nodenetd is not running, so nothing of this may be true any more",
        "  to do       See `systemctl status nodenetd`",
    ]
    assert status.run(shown(state, json=True)) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["health"], document["ready"], document["running"]["now"]) == ("failed", False, False)


def test_a_daemon_that_is_running_has_its_own_word(state: Path) -> None:
    """The lock is held, so the document is the present one (R56)."""
    state.write_text(json.dumps(GOOD))
    with (state.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert status.run(shown(state)) == 0
    assert status.run(shown(state)) == 1


def test_a_wait_gives_a_daemon_that_has_ended_time_to_be_restarted(state: Path) -> None:
    """And ends when it is ready again; within the time limit that is 75 (R56)."""
    state.write_text(json.dumps(GOOD))
    (state.parent / "lock").write_text("812\n")
    assert status.run(shown(state, wait=True, timeout=0.3)) == 75
    with (state.parent / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert status.run(shown(state, wait=True, timeout=5.0)) == 0


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
    made = replace(BootStatus(new_boot({}, degrade=True), facts, ready=True), drift=drift)
    text = list(lines(document(made), 9.0))
    assert text[1] == "  node IPs    192.0.2.5 on eth0 (published, but missing on this node: see the problem)"
    assert "  problem     nodeip: Node IP 192.0.2.5 is missing (eth0: no carrier)" in text
    assert list(lines(document(replace(made, drift=None)), 9.0))[1] == "  node IPs    192.0.2.5 on eth0"


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


def test_nothing_that_controls_a_terminal_is_printed(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A cause can contain what a file or another program wrote (R40)."""
    problem = DEGRADED["problems"][0] | {"cause": "\x1b]0;owned\x07 mtu", "remedy": "a\nb\udc80"}
    state.write_text(json.dumps(DEGRADED | {"problems": [problem], "last_error": problem}))
    status.run(shown(state))
    text = capsys.readouterr().out.splitlines()
    assert "  problem     nmstate: ?]0;owned? mtu" in text
    assert "  to do       a?b?" in text
