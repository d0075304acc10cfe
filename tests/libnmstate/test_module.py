"""Is the module a good guest in the program that imports it?"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import libnmstate
from libnmstate import schema

SITE = Path(libnmstate.__file__).parent.parent


def said_by(python: str, code: str, **environment: str) -> str:
    done = subprocess.run(
        [python, "-I", "-c", f"import sys; sys.path.append({str(SITE)!r})\n{code}"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.strip()


def test_the_version_is_the_crates() -> None:
    assert libnmstate.__version__ == version("libnmstate")


HEAVY = {"json", "logging", "typing", "re", "importlib.metadata", "libnmstate.schema"}


def modules_after(code: str) -> set[str]:
    return set(said_by(sys.executable, f"{code}\nprint(*sys.modules)").split())


def test_importing_it_brings_no_heavy_modules() -> None:
    brought = modules_after("import libnmstate") - modules_after("pass")
    assert "libnmstate" in brought
    assert not brought & HEAVY


PYTHONS = sorted(Path("~/.pyenv/versions").expanduser().glob("3.1[1-4].*/bin/python"))


@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.parts[-3])
def test_one_build_serves_every_python(python: Path) -> None:
    code = "import libnmstate; print(libnmstate.generate_differences('interfaces: [{name: x0, type: dummy}]', {}))"
    assert "x0" in said_by(str(python), code)


BLOCKED = """
import os, socket, threading
import libnmstate
from libnmstate.error import NmstateBackendUnavailableError

path = os.environ["SOCKET"]
bus = socket.socket(socket.AF_UNIX)
bus.bind(path)
bus.listen()

def call():
    try:
        libnmstate.commit(checkpoint="/org/x")
    except NmstateBackendUnavailableError:
        print("call ended")

thread = threading.Thread(target=call)
thread.start()
connection, _ = bus.accept()  # never reached if the call kept the interpreter to itself
connection.recv(1)
print("main ran")
connection.close()
bus.close()
thread.join()
"""


def test_other_threads_run_while_a_call_waits_for_the_bus(tmp_path: Path) -> None:
    socket = str(tmp_path / "bus")
    out = said_by(sys.executable, BLOCKED, SOCKET=socket, DBUS_SYSTEM_BUS_ADDRESS=f"unix:path={socket}")
    assert out.splitlines() == ["main ran", "call ended"]


def test_log_records_arrive_at_the_logger(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="libnmstate")
    libnmstate.validate("interfaces: [{name: eth0, type: ethernet, state: absent, mtu: 1}]")
    assert {(r.name, r.levelno) for r in caplog.records} == {("libnmstate", logging.WARNING)}
    assert "mtu" in caplog.text


def test_a_logger_that_is_off_hears_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="libnmstate")
    libnmstate.validate("interfaces: [{name: eth0, type: ethernet, state: absent, mtu: 1}]")
    assert not caplog.records


def test_a_log_handler_that_raises_does_not_break_the_call() -> None:
    code = """
import logging, libnmstate
class Broken(logging.Handler):
    def emit(self, record): raise RuntimeError("broken handler")
logging.getLogger("libnmstate").addHandler(Broken())
libnmstate.validate("interfaces: [{name: eth0, type: ethernet, state: absent, mtu: 1}]")
print("done")
"""
    assert said_by(sys.executable, code) == "done"


def test_the_kernel_can_be_shown_without_networkmanager() -> None:
    state = libnmstate.show(kernel_only=True)
    assert "lo" in [interface["name"] for interface in state["interfaces"]]
    assert libnmstate.generate_differences(state, state) == {"interfaces": []}


def test_schema_constants_spell_what_the_crate_reads() -> None:
    """A few of each section, through the parser: a wrong spelling is an unknown key."""
    s = schema
    bond = {s.Bond.MODE: s.BondMode.ACTIVE_BACKUP, s.Bond.OPTIONS_SUBTREE: {"miimon": 100}, s.Bond.PORT: ["a"]}
    address = {s.InterfaceIP.ADDRESS_IP: "192.0.2.1", s.InterfaceIP.ADDRESS_PREFIX_LENGTH: 24}
    route = {s.Route.DESTINATION: "0.0.0.0/0", s.Route.NEXT_HOP_INTERFACE: "b0", s.Route.TABLE_ID: 254}
    libnmstate.validate(
        {
            s.Interface.KEY: [
                {
                    s.Interface.NAME: "b0",
                    s.Interface.TYPE: s.InterfaceType.BOND,
                    s.Interface.STATE: s.InterfaceState.UP,
                    s.Bond.CONFIG_SUBTREE: bond,
                    s.Interface.IPV4: {s.InterfaceIPv4.ENABLED: True, s.InterfaceIPv4.ADDRESS: [address]},
                    s.Interface.IPV6: {s.InterfaceIPv6.ENABLED: False, s.InterfaceIPv6.AUTOCONF: False},
                    s.Ethtool.CONFIG_SUBTREE: {s.Ethtool.Ring.CONFIG_SUBTREE: {s.Ethtool.Ring.RX_JUMBO: 1}},
                },
                {
                    s.Interface.NAME: "br0",
                    s.Interface.TYPE: s.OVSBridge.TYPE,
                    s.OVSBridge.CONFIG_SUBTREE: {
                        s.OVSBridge.OPTIONS_SUBTREE: {s.OVSBridge.Options.DATAPATH: "netdev"},
                        s.OVSBridge.PORT_SUBTREE: [{s.OVSBridge.Port.NAME: "b0"}],
                    },
                },
            ],
            s.Route.KEY: {s.Route.CONFIG: [route]},
            s.DNS.KEY: {s.DNS.CONFIG: {s.DNS.SERVER: ["192.0.2.53"], s.DNS.SEARCH: []}},
            s.HostNameState.KEY: {s.HostNameState.CONFIG: "node"},
        }
    )


SECTIONS = [
    (schema.VLAN, {"base-iface": "e", "id": 1}),
    (schema.VXLAN, {"base-iface": "e", "id": 1}),
    (schema.MacVlan, {"base-iface": "e", "mode": "vepa"}),
    (schema.MacVtap, {"base-iface": "e", "mode": "vepa"}),
    (schema.IpVlan, {"base-iface": "e"}),
    (schema.InfiniBand, {"mode": "datagram", "pkey": "0x8001"}),
    (schema.VRF, {"port": [], "route-table-id": 9}),
    (schema.Hsr, {"port1": "a", "port2": "b", "multicast-spec": 1, "protocol": "prp"}),
    (schema.Veth, {"peer": "p"}),
]


@pytest.mark.parametrize(("section", "content"), SECTIONS, ids=lambda value: getattr(value, "__name__", ""))
def test_schema_names_types_and_their_sections(section: Any, content: dict[str, object]) -> None:
    libnmstate.validate({"interfaces": [{"name": "x0", "type": section.TYPE, section.CONFIG_SUBTREE: content}]})
    assert set(content) <= {getattr(section, name) for name in dir(section) if name.isupper()}
