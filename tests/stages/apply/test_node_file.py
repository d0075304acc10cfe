"""The one loader and judge of node files: for the boot, a reload, `check` and the evidence of a unit."""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from itertools import pairwise
from pathlib import PurePath, PurePosixPath

import pytest

from fakes import FakeFiles, FakeNmstate
from nodenet.core.boot.outcome import Facts
from nodenet.core.errors import LibnmstateMissing, NodeFileInvalid, Unavailable
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.stages.apply.node_file import NodeFiles

DIRECTORY = PurePosixPath("/etc/nmstate/openshift")
FILE = str(DIRECTORY / "worker-0.yml")
TEXT = b"interfaces:\n- name: eth0\n  type: ethernet\n  802.1x: {password: hunter2}\n"
KEPT = "/var/lib/nodenet/policies.json"
NAMED = Facts(hostname="worker-0")


def judge(content: bytes | None, nmstate: FakeNmstate | None = None) -> tuple[NodeFiles, FakeNmstate]:
    fake = nmstate or FakeNmstate()
    files = FakeFiles({} if content is None else {FILE: content})
    return NodeFiles(files, fake, DIRECTORY), fake


async def test_a_file_that_libnmstate_takes_is_good() -> None:
    """Only read: no difference, no apply."""
    good, nmstate = judge(TEXT)
    await good.judge(NAMED)
    assert (nmstate.validated, nmstate.applied) == ([TEXT.decode()], [])
    before = Facts("worker-0", unused=("worker-0.yml", "comments"))
    assert good.on_disk(before) == Facts("worker-0", "worker-0.yml", hashlib.sha256(TEXT).hexdigest())


@pytest.mark.parametrize("content", [None, b"# nothing\n", TEXT], ids=["none", "comments", "in force"])
async def test_libnmstate_is_not_asked_where_nothing_new_is_to_be_judged(content: bytes | None) -> None:
    """A reload without an edit costs no child process."""
    good, nmstate = judge(content)
    await good.judge(Facts("worker-0", applied_digest=hashlib.sha256(content or b"").hexdigest()))
    assert nmstate.validated == []


async def test_two_files_for_this_node_are_refused() -> None:
    """The status shows both."""
    bad = NodeFiles(FakeFiles({FILE: TEXT, FILE.replace("yml", "yaml"): TEXT}), FakeNmstate(), DIRECTORY)
    with pytest.raises(NodeFileInvalid, match="both claim"):
        await bad.judge(NAMED)
    assert bad.on_disk(NAMED).node_file == "worker-0.yaml and worker-0.yml"


@pytest.mark.parametrize(("content", "words"), [(b"\xff", "UTF-8"), (b"- eth0\n", "mapping"), (b"a: [", "line")])
async def test_a_file_that_cannot_be_read_is_refused(content: bytes, words: str) -> None:
    """By our own look, with its name."""
    bad, _ = judge(content)
    with pytest.raises(NodeFileInvalid, match=rf"worker-0\.yml.*{words}"):
        await bad.judge(NAMED)
    assert bad.on_disk(NAMED).node_file == "worker-0.yml"


async def test_a_file_that_libnmstate_refuses_is_refused_without_its_secrets() -> None:
    """What says nothing about the file is left to the stage, which tries again."""
    bad, nmstate = judge(TEXT, FakeNmstate(invalid=NmstateFailure(FailureKind.INVALID, "not with hunter2")))
    with pytest.raises(NodeFileInvalid, match=r"worker-0\.yml: libnmstate reports: not with <hidden>"):
        await bad.judge(NAMED)
    nmstate.invalid = NmstateFailure(FailureKind.MISSING, "No module named libnmstate")
    with pytest.raises(LibnmstateMissing):
        await bad.judge(NAMED)
    nmstate.invalid = NmstateFailure(FailureKind.DIED, "signal 9")
    await bad.judge(NAMED)


BOMB = (
    "a: &a ["
    + ",".join("x" * 20)
    + "]\n"
    + "".join(f"{name}: &{name} [{','.join([f'*{before}'] * 20)}]\n" for before, name in pairwise("abcdefghi"))
)


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"%YAML 1.3\n---\ninterfaces: []\n", "worker-0.yml, line 1: YAML version '1.3' is not known"),
        (
            b"interfaces:\n- name: eth0\n  [[ mtu ]]: 9000\n",
            "worker-0.yml, line 3, column 3: a placeholder of a template was not filled in",
        ),
        (
            b"capture: {a: interfaces.name=1}\ndesired: {interfaces: []}\n",
            ("worker-0.yml, line 1, column 14: capture.a = interfaces.name=1: `=1` is no operator, at character 16"),
        ),
        (
            b"hostname: {config: localhost}\n",
            (
                "worker-0.yml, line 1, column 20: hostname.config = localhost: this is not a node's name: "
                "it only means that the real name is not known yet"
            ),
        ),
        (
            BOMB.encode(),
            "worker-0.yml, line 5, column 8: more than 250000 values, those that aliases repeat included",
        ),
    ],
    ids=["R42-yaml-version", "R42-template", "R48-policy", "R32-localhost", "R43-aliases"],
)
async def test_a_reload_and_the_boot_refuse_the_same_with_the_same_words(content: bytes, cause: str) -> None:
    """(R32, R42, R43, R48)."""
    files, nmstate = judge(content)
    with pytest.raises(NodeFileInvalid) as by_reload:
        await files.judge(NAMED)
    search = files.find("worker-0")
    with pytest.raises(NodeFileInvalid) as by_boot:
        await files.wanted(files.read("worker-0.yml", "worker-0"), search)
    assert by_reload.value.cause == by_boot.value.cause == cause
    assert nmstate.validated == []


@pytest.mark.parametrize(
    "record", [None, b"", b"\0\0", b'{"version": 1, "resolved": {"', b'{"version": 0, "resolved": {}}']
)
def test_the_document_in_force_outlives_a_record_that_is_lost_or_damaged(record: bytes | None) -> None:
    """Resolved again with br-ex there, the policy would find br-ex and be refused."""
    policy = b"capture: {a: interfaces.name==eth0}\ndesired: {interfaces: []}\n"
    document = f"# NMState policy worker-0.yml, resolved on this node ({hashlib.sha256(policy).hexdigest()})\n{{}}\n"
    there = {FILE: policy, str(DIRECTORY / "applied"): document.encode()}
    files = NodeFiles(FakeFiles(there if record is None else {**there, KEPT: record}), FakeNmstate(), DIRECTORY)
    found = files.read("worker-0.yml", "worker-0")
    assert (found.text, found.policy) == (document, policy.decode())
    other = NodeFiles(FakeFiles({**there, FILE: policy + b"# edited\n"}), FakeNmstate(), DIRECTORY)
    assert other.read("worker-0.yml", "worker-0").policy == ""


async def test_a_file_of_the_largest_size_does_not_hold_the_loop() -> None:
    """It takes seconds to parse; the bus and the watchdog are served meanwhile (R43)."""
    link = "- name: v{}\n  type: vlan\n  state: up\n  vlan: {{base-iface: eth0, id: {}}}\n"
    text = "interfaces:\n" + "".join(link.format(number, number % 4095) for number in range(2000))
    files, _ = judge(text.encode())
    lags: list[float] = []

    async def beats() -> None:
        while True:
            began = time.monotonic()
            await asyncio.sleep(0.01)
            lags.append(time.monotonic() - began - 0.01)

    heart = asyncio.ensure_future(beats())
    await files.wanted(files.read("worker-0.yml", "worker-0"), files.find("worker-0"))
    heart.cancel()
    assert len(lags) > 10
    assert sorted(lags)[len(lags) // 2] < 0.1


async def test_an_empty_file_of_the_host_does_not_hide_the_one_of_all() -> None:
    """The node would come up by DHCP, and all would be ok (R51)."""
    empty = FakeFiles({FILE: b"# later\n", str(DIRECTORY / "cluster.yml"): TEXT})
    files = NodeFiles(empty, FakeNmstate(), DIRECTORY)
    with pytest.raises(NodeFileInvalid) as caught:
        await files.judge(NAMED)
    assert str(caught.value) == (
        "worker-0.yml asks for nothing, and cluster.yml would be the node file without it. "
        "Remove worker-0.yml, or write into it what this node needs"
    )


UNKNOWN = b"interfaces:\n- {name: eth0, brand-new-key: 1}\n"


@pytest.mark.parametrize("knows", [True, False])
async def test_a_newer_libnmstate_knows_better_than_our_table(*, knows: bool) -> None:
    """A key that it takes is not refused; one that it only passes over is."""
    files, nmstate = judge(UNKNOWN, FakeNmstate(knows_every_key=knows))
    if knows:
        await files.judge(NAMED)
    else:
        with pytest.raises(NodeFileInvalid, match=r"interfaces\[0\]\.brand-new-key: NMState has no such key here"):
            await files.judge(NAMED)
    assert nmstate.validated


class OutOfDescriptors(FakeFiles):
    """Its process has no file descriptor left."""

    def read_node_file(self, directory: PurePath, name: str) -> bytes:
        raise Unavailable(f"{directory}/{name} cannot be read: Too many open files")


async def test_a_lack_of_descriptors_says_nothing_about_the_file() -> None:
    """It is not invalid, and no edit is seen (R53)."""
    files = NodeFiles(OutOfDescriptors({FILE: TEXT}), FakeNmstate(), DIRECTORY)
    with pytest.raises(Unavailable):
        await files.judge(NAMED)
    known = Facts("worker-0", "worker-0.yml", "c0ffee")
    assert files.on_disk(known) == known


SHARED = "interfaces:\n- name: eth0\n  type: ethernet\n  state: up\n  mtu: $(mtu)\n"
ROWS = "host,mac,mtu\nworker-0,,9000\nworker-1,52:54:00:00:00:02,1400\n"


def shared(**files: str) -> NodeFiles:
    """Return the node files of a directory with a shared file, and *files* by their paths."""
    here = {str(DIRECTORY / "cluster.yml"): SHARED, str(DIRECTORY / "hosts.csv"): ROWS, **files}
    return NodeFiles(FakeFiles({path: text.encode() for path, text in here.items()}), FakeNmstate(), DIRECTORY)


def test_the_shared_file_has_the_values_of_this_host() -> None:
    """By name, or by the MAC address of a NIC; the digest is that of the values, so another row changes nothing."""
    by_name = shared().read("cluster.yml", "worker-0")
    assert "mtu: 9000" in by_name.text
    by_mac = shared(**{"/sys/class/net/eth1/address": "52:54:00:00:00:02\n"}).read("cluster.yml", None)
    assert "mtu: 1400" in by_mac.text
    other_row = shared(**{str(DIRECTORY / "hosts.csv"): ROWS.replace("1400", "1300")})
    assert other_row.read("cluster.yml", "worker-0").digest == by_name.digest


def test_a_port_of_a_bond_is_known_by_the_address_that_it_had() -> None:
    places = {"address": "52:54:00:00:00:09\n", "bonding_slave/perm_hwaddr": "52:54:00:00:00:02\n"}
    files = shared(**{f"/sys/class/net/eth1/{name}": text for name, text in places.items()})
    assert "mtu: 1400" in files.read("cluster.yml", None).text


@pytest.mark.parametrize(
    ("files", "hostname", "cause"),
    [
        ({}, "worker-7", "hosts.csv: no row is for worker-7 (MAC addresses: none)"),
        ({str(DIRECTORY / "hosts.csv"): "host,size\nworker-0,1\n"}, "worker-0", "hosts.csv has no column 'mtu'"),
        (
            {str(DIRECTORY / "hosts.csv"): "host,mtu,size\nworker-0,1400,1\n"},
            "worker-0",
            "hosts.csv, line 1, column 3: cluster.yml does not ask for size",
        ),
    ],
)
def test_a_host_without_its_values_is_refused(files: dict[str, str], hostname: str, cause: str) -> None:
    with pytest.raises(NodeFileInvalid, match=re.escape(cause)):
        shared(**files).read("cluster.yml", hostname)


def test_a_shared_file_without_a_table_is_refused() -> None:
    files = NodeFiles(FakeFiles({str(DIRECTORY / "cluster.yml"): SHARED.encode()}), FakeNmstate(), DIRECTORY)
    with pytest.raises(NodeFileInvalid, match=r"has no hosts\.csv"):
        files.read("cluster.yml", "worker-0")
