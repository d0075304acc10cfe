"""The CNI plugin: what it sends, what it prints, and what it says without the service."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import time
from pathlib import Path

import pytest

from cni.plugin_calls import CONFIG, ENVIRONMENT, ROOT, call, plugin, said, service
from nodenet.cni.verbs import ADD_SECONDS

ADDRESS = '{"cniVersion":"1.0.0","ips":[{"address":"192.0.2.7/24"}]}\n'
TRICKY = 'quote " backslash \\ newline \n tab \t bell \x07 umlaut \u00fc face \U0001f600 {"cniVersion":"0.0.0"}'


def error_of(stdout: bytes) -> dict[str, object]:
    found: dict[str, object] = json.loads(stdout)
    return found


@pytest.mark.parametrize("verb", ["ADD", "DEL", "CHECK", "GC", "STATUS"])
def test_a_call_is_passed_on_and_its_answer_printed(tmp_path: Path, verb: str) -> None:
    text = json.dumps(CONFIG, indent=2)
    with service(tmp_path / "s", said(0, ADDRESS)) as requests:
        done = call(verb, tmp_path / "s", text.encode())
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, ADDRESS, b"")
    assert requests == [
        {
            "version": 1,
            "command": verb,
            "container_id": "c1",
            "netns": "/run/netns/c1",
            "ifname": "net1",
            "args": ENVIRONMENT["CNI_ARGS"],
            "path": "/opt/cni/bin",
            "config": text,
        }
    ]


def test_a_failure_is_printed_with_its_exit_code(tmp_path: Path) -> None:
    with service(tmp_path / "s", said(1, '{"code":7}')):
        done = call("ADD", tmp_path / "s")
    assert (done.returncode, done.stdout) == (1, b'{"code":7}')


@pytest.mark.parametrize("ascii_only", [True, False])
def test_every_character_arrives_both_ways(tmp_path: Path, ascii_only: bool) -> None:  # noqa: FBT001
    config = {**CONFIG, "name": TRICKY, TRICKY: [[], {}, [1, -2.5e3, None, True]]}
    text = json.dumps(config, ensure_ascii=ascii_only)
    reply = json.dumps({"exit": 0, "stdout": TRICKY}, ensure_ascii=ascii_only).encode()
    with service(tmp_path / "s", lambda _: reply) as requests:
        done = call("ADD", tmp_path / "s", text.encode(), CNI_ARGS=TRICKY)
    assert done.stdout.decode() == TRICKY
    (request,) = requests
    assert (request["config"], request["args"]) == (text, TRICKY)


def test_a_variable_that_is_not_there_is_empty(tmp_path: Path) -> None:
    """GC and STATUS have no container; the service judges what a verb needs."""
    with service(tmp_path / "s", said(0, "")) as requests:
        environment = {"CNI_COMMAND": "GC", "NODENET_IPAM_SOCKET": str(tmp_path / "s")}
        subprocess.run([plugin()], input=b"{}", env=environment, check=True)
    (request,) = requests
    assert [request[key] for key in ("container_id", "netns", "ifname", "args", "path")] == [""] * 5


@pytest.mark.parametrize("version", ["0.3.1", "0.4.0", "1.0.0", "1.1.0"])
def test_version_needs_no_service(tmp_path: Path, version: str) -> None:
    done = call("VERSION", tmp_path / "none", {"cniVersion": version})
    assert done.returncode == 0
    assert json.loads(done.stdout) == {
        "cniVersion": version,
        "supportedVersions": ["0.3.1", "0.4.0", "1.0.0", "1.1.0"],
    }


@pytest.mark.parametrize("config", [b"", b"{}", b"[", b'{"cniVersion":', b'{"cniVersion":{}}'])
def test_version_without_a_version_is_the_newest(tmp_path: Path, config: bytes) -> None:
    assert json.loads(call("VERSION", tmp_path / "none", config).stdout)["cniVersion"] == "1.1.0"


def test_the_version_is_that_of_the_top_level(tmp_path: Path) -> None:
    """Not one inside another value; an error is written in the version of the configuration."""
    config = '{"a": {"cniVersion": "9.9"}, "b": "\\"cniVersion\\":\\"8.8\\"", "cniVersion" : "0.4.0"}'
    assert error_of(call("ADD", tmp_path / "none", config.encode()).stdout)["cniVersion"] == "0.4.0"


def test_a_sandbox_with_three_interfaces_has_time_for_three_services_that_hang() -> None:
    """Kubelet gives a sandbox two minutes; the service answers before the plugin gives up."""
    source = (ROOT / "packaging/cni/src/main.rs").read_text()
    (seconds,) = re.findall(r"const MOST_TIME: Duration = Duration::from_secs\((\d+)\)", source)
    assert ADD_SECONDS < int(seconds) < 120 / 3


@pytest.mark.parametrize(("verb", "code"), [("ADD", 11), ("CHECK", 11), ("GC", 11), ("STATUS", 50)])
def test_without_the_service(tmp_path: Path, verb: str, code: int) -> None:
    done = call(verb, tmp_path / "none")
    assert done.returncode == 1
    assert error_of(done.stdout) == {
        "cniVersion": "1.0.0",
        "code": code,
        "msg": "nodenet-ipam.service does not answer",
        "details": "No such file or directory (os error 2)",
    }


def test_a_deletion_succeeds_without_the_service(tmp_path: Path) -> None:
    """A pod must not stay because of its address: the specification, section DEL."""
    done = call("DEL", tmp_path / "none")
    assert (done.returncode, done.stdout) == (0, b"")


def test_a_service_that_ended_is_no_service(tmp_path: Path) -> None:
    """Its socket is left behind, and nothing listens."""
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "s"))
    assert error_of(call("ADD", tmp_path / "s").stdout)["code"] == 11
    assert call("DEL", tmp_path / "s").returncode == 0


@pytest.mark.parametrize(
    "reply", [b"", b"{", b"[]", b'{"exit":2,"stdout":""}', b'{"exit":0}', b'{"stdout":"x"}', b"\xff"]
)
def test_an_answer_that_makes_no_sense_is_a_failure(tmp_path: Path, reply: bytes) -> None:
    with service(tmp_path / "s", lambda _: reply):
        done = call("ADD", tmp_path / "s")
    assert done.returncode == 1
    assert error_of(done.stdout)["code"] in (5, 11)
    assert b"192.0.2" not in done.stdout


def test_a_deletion_does_not_wait_for_a_service_that_hangs(tmp_path: Path) -> None:
    with service(tmp_path / "s", lambda _: None) as requests:
        began = time.monotonic()
        done = call("DEL", tmp_path / "s")
        assert (done.returncode, done.stdout) == (0, b"")
        assert 9 < time.monotonic() - began < 40
        assert len(requests) == 1


@pytest.mark.parametrize("verb", ["", "add", "REMOVE"])
def test_a_verb_that_is_not_known(tmp_path: Path, verb: str) -> None:
    done = call(verb, tmp_path / "none")
    assert (done.returncode, error_of(done.stdout)["code"]) == (1, 4)


def test_a_variable_that_is_not_utf_8(tmp_path: Path) -> None:
    done = call("ADD", tmp_path / "none", CNI_ARGS=b"\xff")
    assert (done.returncode, error_of(done.stdout)["msg"]) == (1, "CNI_ARGS is not UTF-8")


def test_a_configuration_that_is_not_utf_8(tmp_path: Path) -> None:
    done = call("ADD", tmp_path / "none", b"\xff")
    assert (done.returncode, error_of(done.stdout)["code"]) == (1, 6)


@pytest.mark.parametrize("size", [(256 << 10) + 1, 200 << 10])
def test_a_configuration_that_is_too_long(tmp_path: Path, size: int) -> None:
    """As it stands, or once its quotes are escaped."""
    config = b"x" * size if size > 256 << 10 else b'"' * size
    with service(tmp_path / "s", said(0, "")) as requests:
        done = call("ADD", tmp_path / "s", config)
    assert (done.returncode, error_of(done.stdout)["code"], requests) == (1, 7, [])


def test_a_deletion_that_cannot_be_passed_on_succeeds_too(tmp_path: Path) -> None:
    """A runtime deletes after an addition that failed; a failure of that too would keep the pod for ever."""
    done = call("DEL", tmp_path / "none", b"x" * 300000)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"longer than 262144 bytes" in done.stderr


def test_values_nested_without_an_end_are_no_crash(tmp_path: Path) -> None:
    config = b'{"a":' + b"[" * 100000 + b"]" * 100000 + b',"cniVersion":"0.4.0"}'
    assert error_of(call("ADD", tmp_path / "none", config).stdout)["code"] == 11


def test_it_depends_on_nothing_of_the_callers_file_system() -> None:
    """No program interpreter and no shared library (elf(5))."""
    segments = subprocess.run(["readelf", "--program-headers", "--wide", plugin()], capture_output=True, check=True)
    assert b"LOAD" in segments.stdout
    assert b"INTERP" not in segments.stdout
    assert b"DYNAMIC" not in segments.stdout
    assert plugin().stat().st_size < 3 << 20
