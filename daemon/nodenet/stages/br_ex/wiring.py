"""How are the parts that make br-ex connected? Once, for the daemon and for the tests."""

from __future__ import annotations

from nodenet.core.settings.model import Settings
from nodenet.core.stage_name import StageName
from nodenet.ports import Stage
from nodenet.stage_edges import StageEdges
from nodenet.stages.apply.history import Recorder
from nodenet.stages.apply.network_before import ProfileKeeper
from nodenet.stages.apply.pipeline import Pipeline
from nodenet.stages.apply.records import BRIDGE_INTENT
from nodenet.stages.apply.undo import Undo
from nodenet.stages.br_ex.gather import Gatherer
from nodenet.stages.br_ex.make import BridgeMaker, BridgeMakerEdges
from nodenet.stages.br_ex.recovery import LeasesFirst, Recovery
from nodenet.stages.br_ex.remove import BridgeRemover
from nodenet.stages.br_ex.repair import BridgeRepairer
from nodenet.stages.br_ex.stage import ConfigureOvsEdges, ConfigureOvsStage
from nodenet.stages.br_ex.verify import Verifier


class BridgeWiring:
    """The parts that make, verify, repair and remove the bridges, connected with each other."""

    def __init__(self, edges: StageEdges, settings: Settings, verifier: Verifier | None = None) -> None:
        """Build them for *settings*; *verifier* in the place of the one with the usual times."""
        self._edges = edges
        self._settings = settings
        self.verifier = verifier or Verifier(edges.kernel, edges.profiles, edges.neighbours)
        self.pipeline = Pipeline(
            edges,
            settings,
            BRIDGE_INTENT,
            StageName.CONFIGURE_OVS.value,
        )
        self.keeper = ProfileKeeper(edges.profiles, edges.files)
        self.repairer = BridgeRepairer(edges.ovsdb, edges.profiles)
        self.maker = BridgeMaker(
            BridgeMakerEdges(
                clock=edges.clock,
                files=edges.files,
                store=edges.store,
                manager=edges.manager,
                dns=edges.dns,
                profiles=edges.profiles,
                keeper=self.keeper,
                sysctls=edges.sysctls,
                verifier=self.verifier,
            ),
            self.pipeline,
        )
        self.remover = BridgeRemover(self.keeper, self.verifier, self.maker, self.repairer)
        found = (edges.profiles, edges.ovsdb, edges.sysctls, edges.kernel, edges.standing, edges.files)
        self.gatherer = Gatherer(*found, settings.vips)

    def stage(self) -> ConfigureOvsStage:
        """Return the stage."""
        edges, datapath = self._edges, self._settings.bridge_datapath
        own = ConfigureOvsEdges(
            edges.files,
            edges.nmstate,
            edges.ovsdb,
            edges.kernel,
            edges.systemd,
            self.gatherer,
            datapath,
            Recorder.of(edges, self._settings),
        )
        return ConfigureOvsStage(own, self.maker, self.repairer, self.remover, self.pipeline)

    def leases_first(self, nodeip: Stage) -> LeasesFirst:
        """Return the stage that chooses the node IP behind a look at the leases of an earlier boot."""
        return LeasesFirst(nodeip, self.maker, self.pipeline, self._edges.kernel)

    def recovery(self, undo: Undo) -> Recovery:
        """Return what restores the network from before br-ex, behind *undo*."""
        recorder = Recorder.of(self._edges, self._settings)
        return Recovery(undo, self.repairer, self.maker, self.pipeline, self._edges.kernel, recorder)


def build(edges: StageEdges, settings: Settings) -> ConfigureOvsStage:
    """Return the stage for *settings*."""
    return BridgeWiring(edges, settings).stage()
