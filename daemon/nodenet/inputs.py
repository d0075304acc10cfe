"""Which stages do the settings ask for, and is the node file on the disk one that would be taken?

The edges are given: those of a node, or those of a simulated world. It decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import PurePath

from nodenet.core.boot.outcome import Facts
from nodenet.core.boot.stages import new_boot
from nodenet.core.errors import LibnmstateMissing, NodeFileInvalid
from nodenet.core.node_ip.policy import Policy
from nodenet.core.settings.model import OnFailure, Settings
from nodenet.core.stage_name import StageName
from nodenet.core.unit_stage import unit_of
from nodenet.loop.reload import Judged, StageSet
from nodenet.stage_edges import Build, StageEdges
from nodenet.stages.apply.node_file import NodeFiles
from nodenet.stages.apply.others import MadeAgain, OthersOnLinks
from nodenet.stages.apply.undo import Undo
from nodenet.stages.br_ex.ofports import KeepOfports
from nodenet.stages.br_ex.wiring import BridgeWiring
from nodenet.stages.hostname import HostnameStage
from nodenet.stages.losses import NodeLosses
from nodenet.stages.node_ip.raise_links import RaiseLinks
from nodenet.stages.node_ip.stage import NodeipStage
from nodenet.stages.trial import trial_of
from nodenet.stages.unit_stage import build as build_unit_stage

ATTEMPT_MARGIN_SECONDS = 300.0
BUILD: dict[StageName, Build] = {
    name: import_module(f"nodenet.stages.{name.module}").build for name in StageName if name.module
}
"""How each stage is built; the table of stages names the modules."""


class NodeInputs:
    """Settings and node file as they lie on the disk (`nodenet.loop.reload.Inputs`)."""

    def __init__(
        self, edges: StageEdges, settings: Callable[[], Settings], in_force: Callable[[Settings], None]
    ) -> None:
        """*settings* reads them (raises SettingsInvalid); *in_force* gets those that stages are built for."""
        self._edges = edges
        self._settings = settings
        self._in_force = in_force
        self._files_of: tuple[Settings, NodeFiles] | None = None
        """Settings, and the node files that they lead to: asked for once a second while a boot waits."""
        self._undo = Undo(edges)
        self._made_again = MadeAgain(edges.kernel, edges.manager, edges.profiles)
        self._losses = NodeLosses(edges)
        self.nodeip: NodeipStage | None = None
        """The stage that publishes, once there are stages."""

    def settings(self) -> Settings:
        """Return the settings as they lie on the disk. Raises SettingsInvalid, Unavailable."""
        return self._settings()

    def node_file(self, settings: Settings, facts: Facts) -> Facts:
        """Return *facts* with the node file that *settings* lead to, where nodenetd applies it."""
        if settings.stages[StageName.NMSTATE] != "builtin":
            return facts
        return self._node_files(settings).on_disk(facts)

    def _node_files(self, settings: Settings) -> NodeFiles:
        if self._files_of is None or self._files_of[0] is not settings:
            files = NodeFiles(
                self._edges.files, self._edges.nmstate, PurePath(settings.node_file_dir), self._edges.store
            )
            self._files_of = settings, files
        return self._files_of[1]

    async def judge(self, settings: Settings, facts: Facts) -> Judged:
        """Return whether that file would be taken. Raises NodenetError when that is unknown."""
        if settings.stages[StageName.NMSTATE] != "builtin":
            return Judged(facts)
        judge = self._node_files(settings)
        if settings.stages[StageName.HOSTNAME] == "builtin":
            named = await HostnameStage(self._edges, settings).name()
            facts = replace(facts, hostname=named)
        seen = judge.on_disk(facts)  # before it is judged: a change during the check is another edit
        try:
            await judge.judge(facts)
        except (NodeFileInvalid, LibnmstateMissing) as error:
            return Judged(seen, error)
        return Judged(seen)

    def build_stages(self, settings: Settings) -> StageSet:
        """Return the stages that *settings* ask for; from now on these settings are in force."""
        self._in_force(settings)
        self._undo.vips = settings.vips
        stages = {name: build(self._edges, settings) for name, build in BUILD.items()}
        nodeip = stages[StageName.NODEIP]
        if not isinstance(nodeip, NodeipStage):
            raise TypeError(f"{nodeip!r} does not publish the node IPs")
        self.nodeip = nodeip
        edges = self._edges
        policy = Policy(deny_links=settings.deny_links)
        parts = (edges.kernel, edges.profiles, edges.files, edges.clock)
        stages[StageName.NODEIP] = RaiseLinks(nodeip, policy, *parts)
        wiring = BridgeWiring(edges, settings)
        stages[StageName.NODEIP] = wiring.leases_first(stages[StageName.NODEIP])
        stages[StageName.CONFIGURE_OVS] = wiring.stage()
        for name in (StageName.NMSTATE, StageName.CONFIGURE_OVS):
            stages[name] = KeepOfports(stages[name], edges.ovsdb, edges.profiles, edges.files, edges.store)
        units = {StageName(name): unit_of(provider) for name, provider in settings.stages.items()}
        stages |= {name: build_unit_stage(name, unit, self._edges, settings) for name, unit in units.items() if unit}
        built_in = settings.stages[StageName.NODEIP] == "builtin"  # a unit publishes what it finds
        degrade = settings.on_failure is OnFailure.DEGRADE or (settings.on_failure is OnFailure.AUTO and built_in)
        return StageSet(
            new_boot(dict(settings.stages), degrade=degrade),
            stages,
            settings.network_type,
            settings.apply_timeout + ATTEMPT_MARGIN_SECONDS,
            partial(self._losses.seen, nodeip.drift, publishes=built_in),
            nodeip.confirm if built_in else nodeip.confirm_of_unit,
            trial_of(edges, settings) if settings.stages[StageName.NMSTATE] == "builtin" else None,
            wiring.recovery(self._undo),
            partial(self._made_again.look, OthersOnLinks.of(edges, settings.vips)),
        )
