"""A node of a site: a network namespace on the LAN, nodenet-ipam in it, and cnitool with the real plugins."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import eventually, host
from harness import namespaces as ns
from harness.cni_programs import Cni, cni_programs
from ipam_site import PATIENCE, Network, Pod, Site, addresses_of

ROOT = Path(__file__).resolve().parents[2]
FIRST = 10
ANSWER_SECONDS = 60.0
TRIES = 4
BUSY = b"no connection within"
"""The API server of a busy machine did not accept in time: the service says so, and a runtime asks again."""


@functools.cache
def plugin() -> Path:
    """Return the product's plugin; it is built on first use."""
    return Path(host.call([sys.executable, ROOT / "packaging/cni/build_plugin.py"], timeout=600).strip())


@dataclass(frozen=True, slots=True)
class Answer:
    """What the plugin, or cnitool, gave back."""

    exit: int
    document: dict[str, Any]
    text: str = ""

    @property
    def code(self) -> int:
        """The error code of the specification, 0 for a success."""
        return int(self.document.get("code", 0)) if self.exit else 0

    @property
    def ips(self) -> list[str]:
        """The addresses of a successful ADD."""
        assert self.exit == 0, f"{self.text} {self.document}"
        return addresses_of(self.document)


class IpamNode:
    """One node: its service, and the calls that a container runtime would make there."""

    def __init__(  # noqa: PLR0913 -- by keyword
        self, site: Site, name: str, number: int, *, proxy: bool = True, wired: bool = True, node_name: str = ""
    ) -> None:
        self.site, self.name = site, name
        self.directory = site.lab.state / f"ipam-{name}"
        self.store = self.directory / "ipam.sqlite"
        self.node_name = node_name or name
        self.wrapper: list[str] = []
        """A command that runs the service, such as strace."""
        self.socket = self.directory / "ipam.sock"
        self.log = self.directory / "service.log"
        self.netns = site.lan.netns
        self._kubeconfig = self.directory / "kubeconfig"
        self._process: subprocess.Popen[bytes] | None = None
        self._group = host.cgroups() / f"nodenet-lab-{site.lab.state.name}" / f"ipam-{name}"
        self._boot = self.directory / "boot_id"
        for part in ("net.d", "lib"):
            (self.directory / part).mkdir(parents=True)
        self._kubeconfig.touch(0o600)
        self._kubeconfig.write_text(site.kubeconfig(self.node_name, proxy=proxy))
        self.reboot()
        if wired:
            self._wire(number)

    def start(self, *, wait: bool = True) -> None:
        """Start the service; return when it accepts connections."""
        words = ["-m", "nodenet.cni.process", "--root", self.directory, "--socket", self.socket, "--store", self.store]
        words += ["--kubeconfig", self._kubeconfig, "--node-name", self.node_name]
        enter = 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"'
        inside = ["ip", "netns", "exec", self.netns, "sh", "-c", enter, str(self._boot), *self.wrapper, sys.executable]
        bus = {"DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={self.directory}/no-bus"}
        env = {"PYTHONPATH": str(ROOT / "daemon"), **bus}
        self._process = ns.start_in_cgroup(self._group, [*inside, *map(str, words)], output=self.log, env=env)
        if wait:
            self.wait_ready()

    def set(self, settings: str) -> None:
        """Write the settings that the service reads when it starts."""
        file = self.directory / "etc/nodenet/nodenet.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(settings)

    def wait_ready(self) -> None:
        """Wait until the service accepts connections."""
        eventually(self._accepts, f"nodenet-ipam of {self.name}", timeout=PATIENCE, pause=0.02)

    def reboot(self) -> None:
        """Give the node the next boot's id, which the service reads when it starts."""
        self._boot.write_text(f"{uuid.uuid4()}\n")

    def twin(self) -> IpamNode:
        """Return a second service of this node, with the same socket and store; it is not started."""
        made = copy.copy(self)
        made.log = self.directory / "twin.log"
        made._process = None
        return made

    @property
    def pid(self) -> int:
        """The service's process."""
        assert self._process is not None
        return self._process.pid

    @property
    def runs(self) -> bool:
        """Whether the service runs."""
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """Kill the service at once, as a power cut does."""
        os.kill(self.pid, signal.SIGKILL)
        self.wait_end()

    def wait_end(self) -> int:
        """Wait until the service has ended by itself; return its exit code."""
        assert self._process is not None
        return self._process.wait(PATIENCE)

    def stop(self) -> None:
        """Stop the service as systemd does."""
        if self._process is not None:
            ns.end(self._process, timeout=PATIENCE)

    def remove(self) -> None:
        """End everything of this node."""
        ns.kill_cgroup(self._group)
        if self._process is not None:
            self._process.wait()
        if self.netns != self.site.lan.netns:
            ns.remove_netns(self.netns)

    def cni(self, verb: str, network: Network, pod: Pod, interface: str = "net1") -> Answer:
        """Let cnitool attach or detach a pod, as a runtime does."""
        (self.directory / "net.d" / f"{network.name}.conflist").write_text(network.conflist())
        env = {
            **os.environ,
            "CNI_PATH": f"{cni_programs()}:{plugin().parent}",
            "NETCONFPATH": str(self.directory / "net.d"),
            "CNI_ARGS": pod.args,
            "CNI_IFNAME": interface,
            "NODENET_IPAM_SOCKET": str(self.socket),
        }
        tool = cni_programs() / Path(Cni.TOOL.value).name
        # Results are cached below /var/lib/cni: a node has its own.
        enter = 'mount --bind "$0" /var/lib && exec "$@"'
        inside = ["ip", "netns", "exec", self.netns, "sh", "-c", enter, str(self.directory / "lib")]
        done = subprocess.run(
            [*inside, str(tool), verb, network.name, pod.netns],
            capture_output=True,
            text=True,
            timeout=ANSWER_SECONDS,
            env=env,
            check=False,
        )
        return Answer(done.returncode, json.loads(done.stdout) if done.stdout.strip() else {}, done.stderr)

    def plug(self, command: str, stdin: str, pod: Pod | None = None, interface: str = "net1") -> Answer:
        """Execute the plugin itself with a configuration."""
        env = {"CNI_COMMAND": command, "NODENET_IPAM_SOCKET": str(self.socket), "CNI_PATH": str(plugin().parent)}
        if pod is not None:
            env |= {"CNI_CONTAINERID": pod.sandbox, "CNI_NETNS": pod.netns or f"/run/netns/{pod.uid}"}
            env |= {"CNI_IFNAME": interface, "CNI_ARGS": pod.args}
        done = subprocess.run(
            [plugin()], input=stdin, capture_output=True, text=True, timeout=ANSWER_SECONDS, env=env, check=False
        )
        return Answer(done.returncode, json.loads(done.stdout) if done.stdout.strip() else {}, done.stderr)

    def ask(self, command: str, network: Network, pod: Pod, interface: str = "net1", **more: Any) -> Answer:
        """Ask the service as the plugin does, without the plugin."""
        return asyncio.run(self.asked(command, network, pod, interface, **more))

    async def asked(self, command: str, network: Network, pod: Pod, interface: str = "net1", **more: Any) -> Answer:
        """Do what `ask` does, beside others."""
        request = {
            "version": 1,
            "command": command,
            "container_id": pod.sandbox,
            "netns": pod.netns or f"/run/netns/{pod.uid}",
            "ifname": interface,
            "args": pod.args,
            "path": "",
            "config": network.stdin(**more),
        }
        for _ in range(TRIES):
            async with asyncio.timeout(ANSWER_SECONDS):
                raw = await exchanged(self.socket, json.dumps(request).encode())
            if BUSY not in raw:
                break
        if not raw:
            return Answer(1, {}, "the connection ended without an answer")
        answer = json.loads(raw)
        return Answer(answer["exit"], json.loads(answer["stdout"] or "{}"), raw.decode())

    def _wire(self, number: int) -> None:
        self.netns = f"nodenet-{self.site.lab.state.name}-{self.name}"
        ns.make_netns(self.netns)
        self.site.lan.plug(f"ipam-{self.site.unique()}", self.netns, "eth0", f"52:54:00:99:00:{number:02x}")
        ns.ip(self.netns, "address", "add", f"{self.site.lan.subnet4[FIRST + number]}/24", "dev", "eth0")
        ns.ip(self.netns, "link", "set", "eth0", "up")

    def _accepts(self) -> bool:
        if not self.runs:
            raise host.LabError(f"nodenet-ipam of {self.name} ended:\n{host.tail(self.log.read_text())}")
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as line:
            return line.connect_ex(str(self.socket)) == 0


NodeMaker = Callable[..., IpamNode]
"""Makes a node with a running service; takes `start`, `wired` and `proxy`."""


async def exchanged(path: Path, request: bytes) -> bytes:
    """Send one request on a UNIX socket and return the whole answer."""
    reader, writer = await asyncio.open_unix_connection(str(path))
    try:
        writer.write(request)
        await writer.drain()
        writer.write_eof()
        return await reader.read()
    finally:
        writer.close()
