"""haproxy's configuration beyond the golden cases: which API servers are behind it, and what a flood costs."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosted_services_cases import CASES, read_inputs
from nodenet.core.hosted_services.haproxy import (
    MOST_CHECKS,
    MOST_CONNECTIONS,
    READY_SOCKET,
    REMOVAL,
    SOCKET,
    STATE_SOCKET,
    TABLE,
    Server,
    alive,
    configuration,
    ports,
    render_states,
)
from nodenet.core.hosted_services.plan import plan

CASE = read_inputs(CASES / "control-plane")
FEW = 40
PATIENCE_SECONDS = 20.0


def test_every_check_is_verified_by_the_clusters_authority() -> None:
    texts = [path.read_text() for path in Path(CASES).glob("*/haproxy.cfg")]
    assert texts
    assert all("verify required" in text and "verify none" not in text for text in texts)


def text_for(directory: Path, port: int) -> str:
    """Return the configuration of a control-plane node with few connections, on *port* and in *directory*."""
    made = configuration(CASE, plan(CASE).duties)
    assert made
    changes = {
        f"maxconn {MOST_CONNECTIONS + MOST_CHECKS}": f"maxconn {FEW + MOST_CHECKS}",
        f"maxconn {MOST_CONNECTIONS}\n": f"maxconn {FEW}\n",
        SOCKET: str(directory / "admin.sock"),
        READY_SOCKET: str(directory / "ready.sock"),
        STATE_SOCKET: str(directory / "state.sock"),
        ":9445": f":{port}",
        "monitor fail if { nbsrv(api) lt 1 }": "monitor fail if { always_false }",
        CASE.options.ca_file: str(directory / "ca.crt"),
    }
    for before, after in changes.items():
        assert before in made
        made = made.replace(before, after)
    return made


@pytest.fixture
def balancer(tmp_path: Path) -> Iterator[int]:
    """A real haproxy that takes few connections; its port."""
    if not shutil.which("haproxy") or not shutil.which("openssl"):
        pytest.skip("needs haproxy and openssl")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-subj", "/CN=ca", "-keyout", str(tmp_path / "ca.key"), "-out", str(tmp_path / "ca.crt")]
    subprocess.run(command, check=True, capture_output=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    path = tmp_path / "haproxy.cfg"
    path.write_text(text_for(tmp_path, port))
    with subprocess.Popen(["haproxy", "-db", "-f", str(path)], stderr=subprocess.DEVNULL) as program:
        try:
            until = time.monotonic() + PATIENCE_SECONDS
            while not (tmp_path / "ready.sock").exists():
                assert program.poll() is None
                assert time.monotonic() < until
                time.sleep(0.02)
            yield port
        finally:
            program.kill()


def is_ready(directory: Path) -> bool:
    """Return whether haproxy answers its own health check, as nodenet-hosted asks it."""
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(PATIENCE_SECONDS)
        line.connect(str(directory / "ready.sock"))
        line.sendall(b"GET /haproxy_ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return line.recv(4096).startswith(b"HTTP/1.1 200")


def test_clients_that_take_every_connection_take_none_of_the_health_check(tmp_path: Path, balancer: int) -> None:
    """A flood from the LAN; the check of nodenet-hosted has connections of its own, so that no VIP moves."""
    with contextlib.ExitStack() as opened:
        for _ in range(3 * FEW):
            line = opened.enter_context(socket.socket())
            line.setblocking(False)
            line.connect_ex(("127.0.0.1", balancer))
        time.sleep(0.5)
        assert is_ready(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root")
def test_the_table_is_replaced_and_removed_as_a_whole() -> None:
    """Applied twice it is the same; removed twice it is no error; another table is not touched."""
    rules = (CASES / "dual-stack-control-plane" / "redirect.nft").read_text()
    script = f"""set -e
nft add table inet other
for i in 1 2; do nft -f - <<'RULES'
{rules}RULES
done
nft list table {TABLE} | grep -c 'redirect to'
for i in 1 2; do nft -f - <<'RULES'
{REMOVAL}RULES
done
nft list tables
"""
    done = subprocess.run(["unshare", "--net", "sh", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["4", "table inet other", ""]


def test_the_ports_are_those_to_which_the_rules_lead() -> None:
    assert ports((CASES / "dual-stack-control-plane" / "redirect.nft").read_text()) == {"9445"}
    assert ports(REMOVAL) == frozenset()


REST = "0 1 1 9 6 3 4 6 0 0 0 - 6443 - 0 0 - - 0"
ANSWER = f"""1
# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state
3 api 1 m0 192.0.2.10 2 {REST}
3 api 2 m1 2001:db8::11 0 {REST}
3 api 3 m2 192.0.2.12 1 {REST}

"""
M0, M1, M2 = (("m0", ip_address("192.0.2.10")), ("m1", ip_address("2001:db8::11")), ("m2", ip_address("192.0.2.12")))
MOVED = ("m0", ip_address("192.0.2.99"))


@given(st.text())
def test_any_answer_is_taken(answer: str) -> None:
    alive(answer)


@pytest.mark.parametrize(
    ("servers", "stopped"),
    [
        ((M0, M2), ()),
        ((M0, M1, M2), ("m1",)),
        ((M2, MOVED), ("m0",)),
        ((M1, MOVED), ()),
        ((M1,), ()),
    ],
    ids=["alive", "dead", "at another address", "none is known to be alive", "the only one"],
)
def test_which_servers_begin_as_stopped(servers: tuple[Server, ...], stopped: tuple[str, ...]) -> None:
    first, *lines = render_states(servers, alive(ANSWER), 6443).splitlines()
    assert first == "1"
    assert tuple(line.split()[3] for line in lines) == stopped
    assert all(len(line.split()) == 20 and line.split()[18] == "6443" for line in lines)
