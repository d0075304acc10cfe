"""`nodenetctl status` and `wait`: read from the state file alone."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nodenet.cli import status, wait
from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Done, Failed, Problem, Skipped, Waiting
from nodenet.core.boot.stages import StageName, new_boot
from nodenet.core.messages import Message
from nodenet.core.node_ip.select import Selection
from nodenet.core.status.document import BootStatus, document, ended
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
    said = capsys.readouterr().out
    for words in ("degraded (kubelet may run)", "mtu is 1500", "Compare it with the NIC", "NOT in force", "1.50 s"):
        assert words in said, words
    assert PROBLEM.message.value in said


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
    assert "only a name" in str(wait.circle(own, "nodeip", name, after()))
    for shown in (name, f"nodenet-compat-{name}"):  # systemd shows an alias by the unit's own name
        assert "nmstate-configuration.service does" in str(wait.circle(earlier, "nodeip", name, after(shown)))
        assert wait.circle(later, "nodeip", name, after(shown)) is None
    assert wait.circle(earlier, "nodeip", name, after("dbus.service")) is None
    assert wait.circle(provided(), "nodeip", name, after(name)) is None


def test_a_name_gives_up_at_once_where_nobody_can_come_to_an_end(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 78 and the reason, without a time limit."""
    state.write_text(json.dumps(provided(nmstate="unit:nmstate-configuration.service")))
    assert wait.run(shown(state, unit="nmstate-configuration.service", timeout=None)) == 78
    assert "nmstate" in capsys.readouterr().err


def test_the_first_five_lines_say_what_a_person_wants_to_know() -> None:
    """Health and kubelet, node IPs, bridge, node file, what is wrong."""
    good = list(lines(GOOD | {"bridge": "br-ex", "uplink": "eth0", "node_ips": ["192.0.2.5"], "link": "br-ex"}, 9.0))
    assert good[:6] == [
        "ok (kubelet may run)",
        "  node IPs    192.0.2.5 on br-ex",
        "  bridge      br-ex over eth0",
        f"  node file   worker-0.yml ({'a' * 12}), in force; host name worker-0",
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
    assert "  waits       nmstate: NetworkManager is not on the bus yet" in text
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
        (None, None, "b" * 64, f"none; what {'b' * 12} set stays in force; host name worker-0"),
        ("a.yaml and a.yml", None, None, "a.yaml and a.yml, NOT in force; nothing is in force; host name worker-0"),
        ("a.yml", "a" * 64, "b" * 64, f"a.yml ({'a' * 12}), NOT in force; {'b' * 12} is in force; host name worker-0"),
    ],
)
def test_the_line_of_the_node_file_says_what_is_in_force(
    name: str | None, digest: str | None, applied: str | None, said: str
) -> None:
    """Also where there is none any more, or two."""
    text = list(lines(GOOD | {"node_file": name, "digest": digest, "applied_digest": applied}, 9.0))
    assert text[3] == f"  node file   {said}"
