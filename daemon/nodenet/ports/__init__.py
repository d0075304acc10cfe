"""What do stages and reconciler need from the outside world? One Protocol for each system; edges match its shape."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import PurePath, PurePosixPath
from typing import Any, Protocol

from nodenet.core.boot.outcome import Facts, Outcome
from nodenet.core.boot.stage_state import NOTHING, Request
from nodenet.core.errors import NodenetError, PublishFailed
from nodenet.core.hostname import Source as NameSource
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.neighbours import Neighbour
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.network_manager.objects import Inventory, KeptProfile
from nodenet.core.network_manager.state import Checkpoint, LeaseMark, ManagerState, Service
from nodenet.core.node_ip.published_files import UnitEnvironment
from nodenet.core.open_vswitch import OvsBridge, OvsPort
from nodenet.core.ownership.things import NO_OTHERS, Others, Thing
from nodenet.core.probes.questions import Answer
from nodenet.core.resolver import ManagerDns
from nodenet.core.settings.model import ProbeTarget
from nodenet.core.status.document import BootStatus
from nodenet.core.trial.trial import Decision, TrialOrder
from nodenet.core.unit_stage import Unit


class Clock(Protocol):
    """Time that no wall clock change moves."""

    def boottime(self) -> float:
        """Return the seconds of CLOCK_BOOTTIME (clock_gettime(2))."""

    def unix(self) -> float:
        """Return the seconds of CLOCK_REALTIME, only to compare them with what others count so."""

    def elsewhere(self) -> float:
        """Return the seconds so far in which others worked and the daemon slept; only differences mean something."""


class Host(Protocol):
    """The host's name."""

    def name(self) -> str:
        """Return the kernel's name, unchanged."""

    async def take(self, name: str) -> str | None:
        """Call the host *name* until it shuts down; return why not, if so."""


class LeaseNames(Protocol):
    """Names that DHCP servers gave this host."""

    async def names(self) -> tuple[NameSource, ...]:
        """Return them, none while they are unknown."""


class Files(Protocol):
    """Files, read carefully and written whole."""

    def listing(self, directory: PurePath) -> tuple[str, ...]:
        """Return the names in *directory*, none when it does not exist."""

    def read_node_file(self, directory: PurePath, name: str) -> bytes:
        """Return the bytes of a node file. Raises NodeFileInvalid when it cannot be trusted."""

    def read(self, path: PurePath) -> bytes | None:
        """Return a file's bytes, None when it does not exist. Raises PublishFailed, NotAFile for a directory."""

    def leads_to(self, path: PurePath) -> PurePosixPath | None:
        """Return the file that a symbolic link ends at, None for what is no link."""

    def write(self, path: PurePath, content: bytes, mode: int = 0o644) -> bool:
        """Write a file whole; return whether it differed. Raises PublishFailed."""

    def remove(self, path: PurePath) -> bool:
        """Remove a file; return whether it was there. Raises PublishFailed."""

    def rename(self, path: PurePath, target: PurePath) -> None:
        """Let a file take the place of another one in its directory, which needs no space. Raises PublishFailed."""

    def sync(self, directory: PurePath) -> None:
        """Let what other programs wrote into *directory* survive a power cut. Raises PublishFailed."""


class Store(Protocol):
    """The records of nodenet. What has happened is true whether or not the disk takes it."""

    def read(self, path: PurePosixPath) -> bytes | None:
        """Return a record, None where there is none. Raises PublishFailed."""

    def save_ahead(self, path: PurePosixPath, content: bytes) -> None:
        """Write a record before the network is touched. Raises PublishFailed."""

    def save(self, path: PurePosixPath, content: bytes | None) -> None:
        """Let the record be *content* from now on (None: removed); the disk may take it later."""

    def pay(self) -> PublishFailed | None:
        """Write what the disk has not taken yet; return why it does not take it, if so."""


class Manager(Protocol):
    """NetworkManager."""

    async def state(self) -> ManagerState:
        """Return how far it is."""

    def is_away(self) -> bool:
        """Return whether the bus has reported that it is not there. Nothing is asked."""

    async def owner(self) -> str:
        """Return the bus's own name of the process that runs now: another one after a restart. Raises Unavailable."""

    async def checkpoints(self) -> tuple[Checkpoint, ...]:
        """Return its pending checkpoints. Raises Unavailable."""

    async def fragile_dns(self) -> object | None:
        """Return the DNS configuration if a rollback would not bring it back. Raises Unavailable."""

    async def restore_dns(self, configuration: object) -> None:
        """Put it back. Raises RollbackFailed, Unavailable."""

    async def roll_back(self, checkpoint: str) -> None:
        """Put the network back as it was. Raises RollbackFailed, Unavailable."""

    async def extend(self, checkpoint: str, seconds: int) -> None:
        """Let it wait *seconds* from now before it rolls back by itself. Raises Unavailable."""


class Transaction(Protocol):
    """A conversation with libnmstate."""

    async def validate(self, text: str) -> bool:
        """Check *text* offline; return whether no unknown key can have passed. Raises NmstateFailure."""

    async def show(self, *, secrets: bool = False) -> dict[str, Any]:
        """Return the present state. Raises NmstateFailure."""

    async def difference(self, text: str, others: Others = NO_OTHERS) -> dict[str, Any]:
        """Return what *text* asks for beyond the present state and what *others* added. Raises NmstateFailure."""

    async def compare(self, text: str, state: Mapping[str, Any]) -> dict[str, Any]:
        """Return what *text* asks for beyond *state*. Raises NmstateFailure."""

    async def of_policy(self, text: str, filled: str, state: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the policy *text*, whose document is *filled*, asks for beyond *state*. Raises NmstateFailure."""

    async def difference_below(self, text: str, bridges: Collection[str], others: Others = NO_OTHERS) -> dict[str, Any]:
        """Return the same, less the IP configuration of links below *bridges*. Raises NmstateFailure."""

    async def apply(
        self,
        text: str,
        rollback_timeout: int,
        seconds: float,
        made: Callable[[str], None],
        patched: Collection[str] = (),
    ) -> str | None:
        """Apply, verified but uncommitted; return the checkpoint. *made* gets it first. Raises NmstateFailure.

        *patched* are bridges that keep the patch ports of other programs.
        """

    async def commit(self, checkpoint: str | None) -> None:
        """Make the applied state last. Raises NmstateFailure."""


class Nmstate(Protocol):
    """libnmstate."""

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """Begin a conversation; leaving it ends whatever still runs."""


class Ovsdb(Protocol):
    """Open vSwitch's database."""

    def answers(self) -> bool:
        """Return whether its database has a listener. Raises Unavailable when that is unknown."""

    async def prove_alive(self, seconds: float = 5.0) -> None:
        """Return when ovs-vswitchd carries out what the database says. Raises Unavailable."""

    async def has_kernel_datapath(self) -> bool:
        """Return whether the kernel has Open vSwitch's datapath. Raises Unavailable."""

    async def bridges(self) -> tuple[OvsBridge, ...]:
        """Return all bridges. Raises Unavailable."""

    async def remove_bridge(self, name: str) -> bool:
        """Remove a bridge with its ports; return whether it was there. Raises Unavailable."""

    async def remove_port(self, bridge: str, name: str) -> bool:
        """Remove a port from a bridge; return whether it was there. Raises Unavailable."""

    async def mark_bridge(self, name: str, key: str, value: str) -> None:
        """Set *key* in the external_ids of a bridge. Raises Unavailable."""

    async def add_port(self, bridge: str, port: OvsPort) -> None:
        """Put *port*, of one interface, on *bridge*. Raises Unavailable."""

    async def request_ofport(self, interface: str, number: int) -> None:
        """Let *interface* have the OpenFlow port number *number*. Raises Unavailable."""

    async def park_ovn(self) -> bool:
        """Keep ovn-controller from an earlier boot's database; return whether it was not kept. Raises Unavailable."""


class Profiles(Protocol):
    """NetworkManager's devices and profiles."""

    async def inventory(self, *, profiles: bool = True) -> Inventory:
        """Return them as they are now, the devices alone unless *profiles*. Raises Unavailable."""

    async def leases(self, links: Collection[str]) -> Mapping[str, LeaseMark]:
        """Return what NetworkManager shows of the DHCPv4 leases of *links*. Raises Unavailable."""

    async def set(self, uuid: str, changes: Mapping[str, Mapping[str, Any]]) -> bool:
        """Change properties of a profile, where it is; return whether anything differed. Raises Unavailable."""

    async def keep(self, uuid: str) -> KeptProfile:
        """Return a profile with its secrets. Raises Unavailable."""

    async def give_back(self, kept: KeptProfile) -> None:
        """Make it what it was. Raises Unavailable."""

    async def load(self, file: str) -> None:
        """Read one keyfile again. Raises Unavailable."""

    async def delete(self, uuid: str) -> bool:
        """Delete a profile; return whether it was there. Raises Unavailable."""

    async def reapply(self, link: str) -> None:
        """Let the link take up what its profile says now, without going down. Raises Unavailable."""

    async def ask_again(self, link: str) -> None:
        """Let the link's DHCPv4 client ask from the beginning. Raises Unavailable."""

    async def activate(self, uuid: str, link: str) -> None:
        """Begin to activate a profile on a link, which is made where the profile can. Raises Unavailable."""

    async def connect(self, link: str) -> None:
        """Begin to activate the profile that NetworkManager finds best for a link. Raises Unavailable."""

    async def disconnect(self, link: str) -> None:
        """Take down what a link uses; NetworkManager activates nothing on it by itself then. Raises Unavailable."""


class Systemd(Protocol):
    """systemd's manager."""

    async def reload(self) -> None:
        """Read unit files and drop-ins again. Raises PublishFailed."""

    async def any_runs(self, units: Sequence[str]) -> bool | None:
        """Return whether one of *units* runs, None when systemd does not answer."""

    async def environment(self, unit: str) -> UnitEnvironment | None:
        """Return with which variables systemd starts *unit*, None when there is no such unit. Raises Unavailable."""

    async def service(self, name: str) -> Service | None:
        """Return the state of a service, None while systemd does not answer."""

    async def start_failed(self, name: str) -> str | None:
        """Forget that a service failed and start it; return why not, if so."""


class Processes(Protocol):
    """The processes of units."""

    def environment(self, unit: str) -> Mapping[str, str] | None:
        """Return the variables that the main process of *unit* runs with, None where none runs or just began."""

    def kubelet_arguments(self, unit: str) -> Sequence[str] | None:
        """Return the arguments of the kubelet that *unit* runs; None if no process of *unit* is a kubelet."""


class DnsManager(Protocol):
    """NetworkManager's DNS configuration."""

    async def dns(self) -> ManagerDns | None:
        """Return it, None while NetworkManager does not answer."""

    async def read_configuration(self) -> str | None:
        """Let NetworkManager read its configuration files again; return why it does not, if so."""

    async def repeat_lookups(self) -> str | None:
        """Let NetworkManager look up the host's name again; return why it does not, if so."""


class Resolved(Protocol):
    """systemd-resolved."""

    async def runs(self) -> bool:
        """Return whether it runs."""

    async def reload(self) -> None:
        """Let it read its configuration again. Raises PublishFailed."""


class ResolverProbe(Protocol):
    """DNS servers on this node."""

    async def answers(self, address: IPAddress, name: str, port: int | None = None) -> bool:
        """Return whether one answers at *address*, on DNS's own port unless another one is given."""


class Units(Protocol):
    """The units that do stages."""

    async def unit(self, name: str) -> Unit:
        """Return the state of a unit; its jobs are watched from then on. Raises Unavailable."""

    async def start(self, unit: Unit) -> None:
        """Ask for its start. Raises UnitFailed when systemd refuses, Unavailable."""

    def ended(self, unit: Unit) -> str | None:
        """Return how its newest job ended, None when none did since it was asked for."""


class Stage(Protocol):
    """One stage of the boot: gathers, asks core, acts; never waits by itself."""

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        """Go as far as it goes now: *facts* is what is known, *request* what was ordered."""


class Watch(Protocol):
    """Something that sees the status after every change: state file, bus, service manager."""

    def show(self, status: BootStatus) -> float | None:
        """Show it; return after how many seconds to show the same again, None where it is shown."""


class Source(Protocol):
    """A stream of events that costs something while it is listened to."""

    def start(self) -> None:
        """Listen, unless that has begun."""

    def stop(self) -> None:
        """Listen no longer."""


class Kernel(Protocol):
    """The kernel's links, addresses and routes."""

    def snapshot(self) -> Snapshot:
        """Return them as they are now."""

    def can_bind(self, address: IPAddress, link_index: int) -> bool:
        """Return whether a server could listen on *address*."""

    def set_up(self, link: str) -> None:
        """Set *link* up, as `ip link set LINK up` does. Raises Unavailable."""


class Standing(Protocol):
    """What other programs have on the links of this node (``core.ownership``)."""

    def noted(self) -> tuple[Thing, ...]:
        """Return it as it is now. Raises Unavailable."""

    def take(self, things: Iterable[Thing]) -> None:
        """Take *things* off their links. Raises Unavailable."""

    def put(self, things: Iterable[Thing]) -> tuple[tuple[Thing, str], ...]:
        """Put *things* on their links; return those that the kernel refused, and why. Raises Unavailable."""


class Sysctls(Protocol):
    """The kernel's settings of links, by name below /proc/sys with the link left out."""

    def of_link(self, link: str) -> dict[str, str]:
        """Return all; none when the link is gone."""

    def read(self, link: str, name: str) -> str | None:
        """Return one, None where there is none."""

    def write(self, link: str, values: Mapping[str, str]) -> tuple[str, ...]:
        """Set what differs; return the names of what did. Raises Unavailable."""


class Neighbours(Protocol):
    """Who else is on a link."""

    async def answers(self, address: IPAddress, link: str, seconds: float) -> bool:
        """Return whether *address* answers on *link* within *seconds*. Raises Unavailable."""

    def known(self, link: str) -> tuple[Neighbour, ...]:
        """Return the hosts on *link* that packets can be sent to without asking. Raises Unavailable."""

    def learn(self, link: str, neighbours: Iterable[Neighbour]) -> None:
        """Let packets to *neighbours* leave by *link* without asking. Raises Unavailable."""

    def announce(self, link: str, addresses: Iterable[IPAddress]) -> None:
        """Show the hosts and switches behind *link* that *addresses* are there now. Raises Unavailable."""


class Targets(Protocol):
    """Hosts anywhere that must be reachable."""

    async def answers(self, target: ProbeTarget, seconds: float) -> Answer:
        """Return whether *target* answers within *seconds*, at once when it does."""


class Administrator(Protocol):
    """Who decides about a trial."""

    def begins(self) -> None:
        """Take note that the network is touched from now on."""

    def holds(self, until: float) -> None:
        """Take note that the file is applied, and is rolled back at *until* (CLOCK_BOOTTIME)."""

    async def decided(self, seconds: float) -> Decision | None:
        """Return the decision, None where none came within *seconds*."""

    def refuses(self, error: NodenetError) -> None:
        """Answer the last decision with *error*: the trial goes on."""

    def edited(self, name: str) -> None:
        """Take note that the node's own file, *name*, was edited during the trial, and will not be applied."""


class TrialRunner(Protocol):
    """What tries node files."""

    async def hold(self, order: TrialOrder, facts: Facts, administrator: Administrator) -> str:
        """Try a file; return the path where it is installed once it is confirmed. Raises NodenetError.

        The network is as before where this raises, unless the error says otherwise.
        """
