"""The child process that runs libnmstate: killed when it hangs, survived when it dies.

A real libnmstate cannot be made to hang or crash on demand, so a stand-in module does that here; the real one on a
real node is in the lab.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.edge.nmstate.client import Nmstate

STAND_IN = """
import os, signal, time
ACCEPTS_TEXT = True
class NmstateError(Exception): pass
class NmstateVerificationError(NmstateError): pass
class NmstateValueError(NmstateError, ValueError): pass
def show(*, include_secrets=False): return {"routes": {"config": [{"destination": "0.0.0.0/0", "table-id": 254}]}}
def generate_differences(new, old):
    if new == "bad": raise NmstateValueError("eth0: unknown key")
    if new == "default": return {"interfaces": [], "routes": {"config": [{"destination": "0.0.0.0/0"}]}}
    return {"interfaces": [{"name": new}]}
def apply(text, commit, rollback_timeout):
    print("a library that prints does not garble the answers")
    if text == "hang": time.sleep(3600)
    if text == "crash": os.kill(os.getpid(), signal.SIGSEGV)
    if text == "wrong": raise NmstateVerificationError("mtu is 1500")
    if text == "surprise": raise RuntimeError
    return "/checkpoint/1"
def commit(checkpoint): assert checkpoint == "/checkpoint/1"
"""


def lives(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def speaking_to(module: str, directory: Path, made: Nmstate) -> Nmstate:
    """Have the children of *made* find *module*, kept in *directory*, as libnmstate."""
    (directory / "libnmstate.py").write_text(module)
    made._path = os.pathsep.join([str(directory), *sys.path])
    return made


@pytest.fixture
def nmstate(tmp_path: Path) -> Nmstate:
    return speaking_to(STAND_IN, tmp_path, Nmstate())


async def test_the_time_that_a_child_works_is_told_without_that_of_others(tmp_path: Path) -> None:
    """Libnmstate asks others in show, not in a difference. Here the child's clock leaps in both."""
    leaps = """
now = time.monotonic
def leap(seconds, before=now): time.monotonic = lambda: before() + seconds
"""
    slow = STAND_IN.replace("ACCEPTS_TEXT", leaps + "ACCEPTS_TEXT").replace(
        "include_secrets=False): ", "include_secrets=False): leap(1000); "
    )
    slow = slow.replace("(new, old):", "(new, old):\n    leap(5000)")
    told: list[float] = []
    made = speaking_to(slow, tmp_path, Nmstate(worked=told.append))
    async with made.transaction() as transaction:
        await transaction.difference("eth0")
    assert [round(seconds, -3) for seconds in told] == [-1000]


async def test_a_transaction_speaks_with_one_child(nmstate: Nmstate) -> None:
    """Difference, apply, commit; what a library prints does no harm."""
    async with nmstate.transaction() as transaction:
        assert (await transaction.show())["routes"]["config"]
        assert await transaction.difference("eth0") == {"interfaces": [{"name": "eth0"}]}
        assert await transaction.difference("default") == {}
        checkpoint = await transaction.apply("eth0", 60, 10)
        await transaction.commit(checkpoint)
        pid = transaction._process.pid
    assert not lives(pid)


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("hang", FailureKind.KILLED, "did not finish `apply` within 0.5 s"),
        ("crash", FailureKind.DIED, "signal 11"),
        ("wrong", FailureKind.VERIFICATION, "mtu is 1500"),
        ("surprise", FailureKind.INTERNAL, "RuntimeError"),
    ],
)
async def test_each_way_an_apply_can_end_badly_has_its_kind(
    nmstate: Nmstate, text: str, kind: FailureKind, said: str
) -> None:
    """The daemon lives, and no child is left."""
    async with nmstate.transaction() as transaction:
        pid = transaction._process.pid
        with pytest.raises(NmstateFailure) as caught:
            await transaction.apply(text, 60, 0.5 if text == "hang" else 20)
    assert caught.value.kind is kind
    assert said in caught.value.cause
    assert caught.value.remedy
    assert not lives(pid)


async def test_a_bad_document_is_invalid(nmstate: Nmstate) -> None:
    """Refused before anything is applied."""
    async with nmstate.transaction() as transaction:
        with pytest.raises(NmstateFailure, match="unknown key") as caught:
            await transaction.difference("bad")
    assert caught.value.kind is FailureKind.INVALID


async def test_a_cancelled_apply_leaves_no_child(nmstate: Nmstate) -> None:
    """A daemon that is stopped ends what it started."""
    async with nmstate.transaction() as transaction:
        pid = transaction._process.pid
        task = asyncio.ensure_future(transaction.apply("hang", 60, 60))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not lives(pid)


async def not_imported(directory: Path) -> FailureKind:
    """Return how the import of libnmstate fails that only *directory* may have."""
    nmstate = Nmstate()
    strange = {"site-packages", "tests"}
    nmstate._path = os.pathsep.join(
        [str(directory), *(path for path in sys.path if not strange & set(Path(path).parts))]
    )
    with pytest.raises(NmstateFailure) as caught:
        async with nmstate.transaction() as transaction:
            await transaction.difference("eth0")
    return caught.value.kind


async def test_a_missing_module_is_missing(tmp_path: Path) -> None:
    """The one failure that no retry mends."""
    assert await not_imported(tmp_path) is FailureKind.MISSING


@pytest.mark.parametrize(
    ("why", "kind"),
    [
        ("cannot open shared object file: Input/output error", FailureKind.UNLOADED),
        ("failed to map segment from shared object: Cannot allocate memory", FailureKind.UNLOADED),
        ("cannot open shared object file: Too many open files", FailureKind.UNLOADED),
        ("cannot open shared object file: No such file or directory", FailureKind.MISSING),
        ("undefined symbol: nmstate_gen_diff", FailureKind.MISSING),
    ],
)
async def test_a_library_that_cannot_be_loaded_at_the_moment_is_tried_again(
    tmp_path: Path, why: str, kind: FailureKind
) -> None:
    """Exit code 78 is for good: memory or a disk may come back, a broken installation does not."""
    (tmp_path / "libnmstate.py").write_text(f"raise ImportError('libnmstate.so: {why}')\n")
    assert await not_imported(tmp_path) is kind


@pytest.mark.parametrize("place", ["unreadable", "hidden"])
async def test_a_directory_that_cannot_be_read_is_no_proof_that_the_library_is_missing(
    tmp_path: Path, place: str
) -> None:
    """Python takes it for empty."""
    directory = tmp_path / "packages"
    if place == "unreadable":
        directory.symlink_to(directory)
    else:
        directory.mkdir()
        (directory / "libnmstate.py").write_text("raise ModuleNotFoundError('at first', name='libnmstate')\n")
    assert await not_imported(directory) is FailureKind.UNLOADED


async def test_the_real_module_validates_text() -> None:
    """Where the binding is installed: a good document passes, an unknown key does not."""
    pytest.importorskip("libnmstate", reason="the binding's wheel is not installed in this environment")
    async with Nmstate().transaction() as transaction:
        await transaction.validate("interfaces:\n- name: eth0\n  type: ethernet\n")
        with pytest.raises(NmstateFailure, match="mtuu") as caught:
            await transaction.validate("interfaces:\n- name: eth0\n  type: ethernet\n  mtuu: 9\n")
    assert caught.value.kind is FailureKind.INVALID


NOISY = STAND_IN.replace(
    "ACCEPTS_TEXT",
    """import logging
def noise():
    for _ in range(6): logging.getLogger("libnmstate").warning("Ignoring properties of %s", "eth9")
ACCEPTS_TEXT""",
).replace("(new, old):", "(new, old):\n    noise()")


async def test_what_libnmstate_logs_is_told_once_and_only_of_what_failed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It says a thing each time it reads a document, also of documents that are its own; all is well then."""
    told: list[str] = []
    made = speaking_to(NOISY, tmp_path, Nmstate(said=told.append))
    async with made.transaction() as transaction:
        await transaction.difference("eth0")
        assert told == []
        with pytest.raises(NmstateFailure, match="unknown key"):
            await transaction.difference("bad")
    assert told == ["Ignoring properties of eth9"]
    assert "Ignoring" not in capfd.readouterr().err


SECRETIVE = """
import logging
ACCEPTS_TEXT = True
class NmstateValueError(Exception): pass
def apply(text, commit, rollback_timeout):
    logging.getLogger("libnmstate").warning("cannot use %s", text.split("psk: ")[-1].strip())
    if "good" not in text: raise NmstateValueError("refused")
def commit(checkpoint):
    logging.getLogger("libnmstate").warning("lost: hunter2")
    raise NmstateValueError("too late")
"""


async def test_what_libnmstate_logs_is_told_without_the_secrets_of_the_document(tmp_path: Path) -> None:
    """The journal has more readers than the node file; a document that cannot be read hides its secrets from us."""
    told: list[str] = []
    made = speaking_to(SECRETIVE, tmp_path, Nmstate(said=told.append))
    secretive = "interfaces:\n- name: {name}\n  libreswan:\n    psk: hunter2\n"
    async with made.transaction() as transaction:
        for text in (secretive.format(name="bad"), "a: [\npsk: hunter2"):
            with pytest.raises(NmstateFailure, match="refused"):
                await transaction.apply(text, 60, 10)
        await transaction.apply(secretive.format(name="good"), 60, 10)
        with pytest.raises(NmstateFailure, match="too late"):
            await transaction.commit(None)
    assert told == ["cannot use <hidden>", "lost: <hidden>"]


PERSISTENT = """
import logging, time
ACCEPTS_TEXT = True
def apply(text, commit, rollback_timeout):
    for _ in range(3):
        logging.getLogger("libnmstate").info("Got activation failure %s", text)
        time.sleep(0.1)
    if "not supported" in text: time.sleep(3600)
    return "/checkpoint/1"
"""


async def test_an_activation_that_can_never_succeed_ends_the_apply_at_once(tmp_path: Path) -> None:
    """Libnmstate would try it again for two minutes; what may pass it tries again (R11)."""
    made = speaking_to(PERSISTENT, tmp_path, Nmstate())
    async with made.transaction() as transaction:
        assert await transaction.apply("eth0 has no carrier", 60, 20) == "/checkpoint/1"
        with pytest.raises(NmstateFailure) as raised:
            await transaction.apply("cannot create bond0 (Operation not supported)", 60, 20)
    assert raised.value.kind is FailureKind.PLUGIN
    assert raised.value.cause == "libnmstate reports: cannot create bond0 (Operation not supported)"


LOGGING = """
import logging
def apply(text, commit, rollback_timeout):
    logging.getLogger("libnmstate").debug("Created checkpoint /none")
    logging.getLogger({logger}).info("{before}Created checkpoint /checkpoint/7")
    if "bad" in str(text): raise ValueError("refused")
"""


@pytest.mark.parametrize(
    ("logger", "before"),
    [("'libnmstate'", ""), ("", "2026-01-01T00:00:00Z:nmstate::query_apply::net_state: ")],
    ids=["nodenet's binding", "the packaged one"],
)
async def test_the_checkpoint_is_known_by_what_libnmstate_logs(tmp_path: Path, logger: str, before: str) -> None:
    """It is not returned, or too late: another program may have made the newest one (R2)."""
    made = speaking_to(LOGGING.format(logger=logger, before=before), tmp_path, Nmstate())
    paths: list[str] = []
    async with made.transaction() as transaction:
        assert await transaction.apply("interfaces: []", 60, 20, paths.append) is None
        assert paths == ["/checkpoint/7"]
        with pytest.raises(NmstateFailure, match="refused"):
            await transaction.apply("interfaces: [bad]", 60, 20, paths.append)
        assert paths == ["/checkpoint/7"] * 2


HALF = """
import os, signal
ACCEPTS_TEXT = True
def show(*, include_secrets=False):
    {}
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    ("leaves", "cause"),
    [
        ("os.write(3, b'{\"result\": {\"interfaces\": [' + b'{}, ' * 300)", "died (signal 9)"),
        ("os.write(3, b'not JSON at all\\n')", "died (signal 9)"),
        ("os.write(3, b'\"' + b'x' * (17 << 20) + b'\"\\n')", "is larger than 16 MiB"),
    ],
    ids=["half a line", "no JSON", "over the limit"],
)
async def test_whatever_a_killed_child_left_on_the_pipe_is_one_outcome(tmp_path: Path, leaves: str, cause: str) -> None:
    """JSONDecodeError ended the daemon, and an answer over the limit was waited for (R45)."""
    # The worker's answers go to the copy that it makes of its standard output before it imports libnmstate.
    made = speaking_to(HALF.format(f"[{leaves} for _ in [0]]"), tmp_path, Nmstate())
    async with asyncio.timeout(20), made.transaction() as transaction:
        pid = transaction._process.pid
        with pytest.raises(NmstateFailure) as caught:
            await transaction.show()
    assert caught.value.kind is FailureKind.DIED
    assert cause in caught.value.cause
    assert not lives(pid)


async def test_secrets_are_hidden_as_libnmstate_reads_them() -> None:
    """`+4912345678` is quoted as `4912345678` (R46)."""
    pytest.importorskip("libnmstate", reason="the binding's wheel is not installed in this environment")
    head = "interfaces:\n- name: eth1\n  type: ethernet\n  802.1x:\n    identity: me\n    eap-methods: [md5]\n"
    async with Nmstate().transaction() as transaction:
        for secret, quoted in (
            ("+4912345678", "4912345678"),
            ("12345678.50", "12345678.5"),
            ("0x1F2E3D4C", "523124044"),
        ):
            with pytest.raises(NmstateFailure) as caught:
                await transaction.validate(f"{head}    password: {secret}\n")
            failure = caught.value
            assert quoted not in f"{failure.cause} {failure.remedy} {failure.said}"
            assert failure.cause == "interface 'eth1': a string was expected"
