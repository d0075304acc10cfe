"""Files and units after each look: started, reloaded, stopped, and left alone."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from ipaddress import ip_address

import pytest

from hosted.rig import FakeBalancer, FakeDnsmasq, FakeFiles, FakeOthers, FakeTable, FakeUnits, inputs, state
from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.cluster import Known
from nodenet.core.hosted_services.health import Verdict
from nodenet.core.hosted_services.model import (
    AUTHORITY,
    GUARD,
    HOSTS,
    RELEASE,
    SERVER_STATES,
    TEXTS,
    UNITS,
    Mode,
    Origin,
    Service,
)
from nodenet.core.hosted_services.units import Listener, Others
from nodenet.core.hosted_services.vips import Sighting
from nodenet.core.settings.model import HostedMode
from nodenet.hosted.reconcile import (
    GONE_SECONDS,
    MANIFESTS_SECONDS,
    RELOAD_SECONDS,
    RELOADS,
    TABLE_SECONDS,
    Edges,
    Reconciler,
    watch_manifests,
)
from nodenet.hosted.state import State

KEEPALIVED, HAPROXY, DNSMASQ = (UNITS[one] for one in (Service.KEEPALIVED, Service.HAPROXY, Service.DNSMASQ))
UP = Verdict(healthy=True, good=3)


class Bench:
    """A reconciler over edges of the test's own."""

    def __init__(self, made: State, *running: str, mode: HostedMode = HostedMode.SYSTEMD, there: bool = False) -> None:
        self.state = made
        self.files, self.units, self.table = FakeFiles(), FakeUnits(*running), FakeTable(there=there)
        self.dnsmasq, self.others, self.balancer = FakeDnsmasq(), FakeOthers(), FakeBalancer()
        self.guard = FakeTable()
        edges = Edges(self.files, self.units, self.table, self.guard, self.dnsmasq, self.others, self.balancer)
        self.reconciler = Reconciler(made, edges, mode)

    async def look(self) -> list[tuple[str, str]]:
        """Reconcile; return the orders of this look."""
        before = len(self.units.orders)
        await self.reconciler.reconcile()
        return self.units.orders[before:]


async def test_the_first_look_writes_and_starts_and_the_second_does_nothing() -> None:
    bench = Bench(state())
    assert await bench.look() == [("start", KEEPALIVED), ("start", HAPROXY)]
    own = {AUTHORITY} | {TEXTS[service] for service in (Service.KEEPALIVED, Service.HAPROXY, Service.REDIRECT)}
    assert set(bench.files.texts) == {*own, RELEASE, GUARD, HOSTS, SERVER_STATES}
    assert await bench.look() == []


async def test_a_node_that_came_reloads_what_names_it_and_dns() -> None:
    bench = Bench(state(), KEEPALIVED, HAPROXY, DNSMASQ)
    await bench.look()
    reads, given = bench.dnsmasq.reads, bench.state.known.inputs
    fewer = tuple(node for node in given.nodes if node.name != "master-2")
    bench.state.take(Known(replace(given, nodes=fewer)))
    assert await bench.look() == [("reload", KEEPALIVED), ("reload", HAPROXY)]
    assert bench.dnsmasq.reads == reads + 1
    assert await bench.look() == []


async def test_a_companion_that_comes_back_writes_and_orders_nothing() -> None:
    first = Bench(state())
    await first.look()
    again = Bench(state(), KEEPALIVED, HAPROXY, DNSMASQ)
    again.files.texts = first.files.texts
    assert await again.look() == []
    assert again.dnsmasq.reads == 0


def without(made: State, name: str) -> Known:
    """Return what is known when a node has left the cluster."""
    given = made.known.inputs
    return Known(replace(given, nodes=tuple(node for node in given.nodes if node.name != name)))


async def test_a_reload_that_an_earlier_companion_owes_is_done_by_the_next() -> None:
    """It was killed between the write and the reload: keepalived kept its old peers until the next change."""
    first = Bench(state(), KEEPALIVED, HAPROXY)
    await first.look()
    first.units.broken = Unavailable("the system bus does not answer")
    first.state.take(without(first.state, "master-2"))
    assert await first.look() == []
    again = Bench(state(), KEEPALIVED, HAPROXY)
    again.files.texts = first.files.texts
    again.state.take(without(again.state, "master-2"))
    assert await again.look() == [("reload", KEEPALIVED), ("reload", HAPROXY)]
    third = Bench(state(), KEEPALIVED, HAPROXY)
    third.files.texts = again.files.texts
    third.state.take(without(third.state, "master-2"))
    assert await third.look() == []


async def test_haproxy_waits_for_the_ca_and_one_that_runs_does_not_end_without_it() -> None:
    """It ended at once and was started again and again: its configuration names a file that was never written."""
    bench = Bench(state())
    bench.state.authority = ""
    for _ in range(20):
        await bench.look()
        await asyncio.sleep(1)
    assert bench.units.running == {KEEPALIVED}
    problem = bench.state.report().services[Service.HAPROXY].problem
    assert problem == "it starts as soon as the CA of the API can be read"
    bench.state.authority = "PEM"
    await bench.look()
    assert bench.units.running == {KEEPALIVED, HAPROXY}
    assert bench.files.texts[AUTHORITY] == "PEM"
    bench.state.authority = ""  # as in a companion that was started again
    await bench.look()
    assert HAPROXY in bench.units.running


async def test_a_service_that_hangs_is_restarted_with_pauses() -> None:
    bench = Bench(state(), KEEPALIVED, HAPROXY)
    await bench.look()
    for _ in range(20):
        bench.state.hung.add(Service.KEEPALIVED)
        await bench.look()
        await asyncio.sleep(1)
    assert 2 <= bench.units.orders.count(("restart", KEEPALIVED)) <= 5
    await asyncio.sleep(100)
    await bench.look()
    assert bench.state.hung == set()


async def test_keepalived_uses_another_node_ip_when_it_has_read_that() -> None:
    """A candidate whose node IP has moved would become a second holder before that (``silent``)."""
    bench = Bench(state(), KEEPALIVED, HAPROXY)
    await bench.look()
    assert links(bench.state) == ["br-ex"]
    bench.files.full = {TEXTS[Service.KEEPALIVED]}
    move(bench.state, "eth0")
    await bench.look()
    assert links(bench.state) == ["br-ex"], "it cannot be written"
    bench.files.full, bench.units.broken = set(), Unavailable("the system bus does not answer")
    await bench.look()
    assert links(bench.state) == ["br-ex"], "it cannot be read"
    bench.units.broken = None
    assert await bench.look() == [("reload", KEEPALIVED)]
    assert links(bench.state) == ["eth0"]
    rendering = Bench(state(), mode=HostedMode.RENDER)
    move(rendering.state, "eth1")
    await rendering.look()
    assert links(rendering.state) == ["eth1"], "another program reads the files"


def links(made: State) -> list[str]:
    """Return the links in the configuration that keepalived has read."""
    return [place.link for place in made.sources.values()]


def move(made: State, link: str) -> None:
    """Let the node IP be on *link*."""
    given = made.known.inputs
    places = {family: replace(place, link=link) for family, place in given.here.places.items()}
    made.take(Known(replace(given, here=replace(given.here, places=places))))


async def test_a_file_that_cannot_be_written_takes_no_reload_from_another_service() -> None:
    bench = Bench(state(), KEEPALIVED, HAPROXY)
    await bench.look()
    bench.files.full = {TEXTS[Service.HAPROXY]}
    bench.state.take(without(bench.state, "master-2"))
    assert await bench.look() == [("reload", KEEPALIVED)]
    assert bench.state.failures["files"] == "/run is full"
    bench.files.full = set()
    assert await bench.look() == [("reload", HAPROXY)]
    assert "files" not in bench.state.failures


async def test_a_server_that_is_new_or_dead_begins_as_stopped_after_a_reload() -> None:
    """Haproxy begins with all servers as alive, and clients waited for a host that was switched off."""
    bench = Bench(state(), KEEPALIVED, HAPROXY)
    bench.state.take(without(bench.state, "master-1"))
    await bench.look()
    bench.balancer.alive = {("master-0", "192.0.2.10"): True, ("master-2", "192.0.2.12"): False}
    bench.state.take(Known(inputs(nodes_origin=Origin.LIVE)))
    assert ("reload", HAPROXY) in await bench.look()
    lines = bench.files.texts[SERVER_STATES].splitlines()
    assert [line.split()[3:6] for line in lines[1:]] == [
        ["master-1", "192.0.2.11", "0"],
        ["master-2", "192.0.2.12", "0"],
    ]
    bench.balancer.alive = None
    bench.state.take(without(bench.state, "master-2"))
    assert ("reload", HAPROXY) in await bench.look()
    assert bench.files.texts[SERVER_STATES] == "1\n"


async def test_what_was_read_from_disk_stops_nothing_and_the_api_does() -> None:
    bench = Bench(state("api-int-is-external", spec_origin=Origin.CACHE, nodes_origin=Origin.CACHE), HAPROXY)
    assert bench.state.plan.mode is Mode.EXTERNAL
    assert ("stop", HAPROXY) not in await bench.look()
    bench.state.take(Known(replace(bench.state.known.inputs, spec_origin=Origin.LIVE)))
    assert ("stop", HAPROXY) in await bench.look()


async def test_another_stack_stops_ours_and_ours_comes_back_after_it() -> None:
    bench = Bench(state(), KEEPALIVED, HAPROXY)
    await bench.look()
    bench.others.found = Others(manifests={"keepalived.yaml", "haproxy.yaml"}, listeners=(Listener(9445, ours=False),))
    assert await bench.look() == [("stop", KEEPALIVED), ("stop", HAPROXY)]
    assert set(bench.state.waits) == {Service.KEEPALIVED, Service.HAPROXY}
    assert await bench.look() == []
    await asyncio.sleep(10)
    bench.others.found = Others()
    assert await bench.look() == [], "its programs may still be ending"
    bench.state.wake.clear()
    await asyncio.sleep(GONE_SECONDS)
    assert bench.state.wake.is_set()
    assert await bench.look() == [("start", KEEPALIVED), ("start", HAPROXY)]
    assert bench.state.waits == {}


async def test_another_program_that_begins_to_speak_vrrp_stops_ours() -> None:
    bench = Bench(state(), KEEPALIVED, HAPROXY)
    await bench.look()
    bench.others.found = Others(speakers=1)
    assert await bench.look() == [("stop", KEEPALIVED)]
    assert bench.state.report().phase == "WaitingForPeerStack"
    bench.others.found = Others()
    assert await bench.look() == []
    bench.others.found = Others(speakers=1)
    await asyncio.sleep(GONE_SECONDS)
    assert await bench.look() == []
    bench.others.found = Others()
    assert await bench.look() == [], "it was seen again"
    await asyncio.sleep(GONE_SECONDS)
    assert await bench.look() == [("start", KEEPALIVED)]


async def test_a_platform_without_vips_starts_and_writes_nothing() -> None:
    for case in ("platform-none", "platform-aws", "enabled-no"):
        bench = Bench(state(case))
        assert await bench.look() == []
        assert bench.files.texts == {}


async def test_user_managed_writes_names_only() -> None:
    bench = Bench(state("user-managed-lb"))
    assert await bench.look() == []
    assert set(bench.files.texts) == {AUTHORITY, HOSTS}


async def test_render_mode_writes_and_orders_nothing() -> None:
    """The static pods that read the files are no stack to wait for."""
    bench = Bench(state(), mode=HostedMode.RENDER)
    bench.others.found = Others(manifests={"keepalived.yaml", "haproxy.yaml"}, speakers=1)
    assert await bench.look() == []
    assert bench.state.waits == {}
    assert TEXTS[Service.KEEPALIVED] in bench.files.texts


async def test_a_static_pod_that_comes_or_goes_is_seen_at_once() -> None:
    """Its program runs within seconds, and a look comes every ten: two stacks ran at one time."""
    made, others = state(), FakeOthers()
    task = asyncio.create_task(watch_manifests(others, made.changed))
    for stamp in (1, 2, None):
        await asyncio.sleep(5)
        made.wake.clear()
        await asyncio.sleep(5)
        assert not made.wake.is_set()
        others.stamp = stamp
        await asyncio.sleep(MANIFESTS_SECONDS)
        assert made.wake.is_set()
    task.cancel()


async def test_the_redirect_follows_the_health_of_haproxy() -> None:
    bench = Bench(state(), KEEPALIVED, HAPROXY)
    await bench.look()
    assert not bench.table.there
    bench.state.verdicts[Service.REDIRECT] = UP
    await bench.look()
    assert bench.table.there
    bench.state.verdicts[Service.REDIRECT] = Verdict(healthy=False, points=8)
    await bench.look()
    assert not bench.table.there


async def after_a_restart() -> Bench:
    """Return a companion that comes back where an earlier one has set the redirect."""
    first = Bench(state())
    await first.look()
    again = Bench(state(), KEEPALIVED, HAPROXY, there=True)
    again.files.texts = first.files.texts
    return again


async def test_the_redirect_of_an_earlier_companion_stays_until_a_verdict_is_known() -> None:
    bench = await after_a_restart()
    await bench.look()
    assert bench.table.there
    assert bench.state.report().services[Service.REDIRECT].running, "it was reported as off"
    bench.state.verdicts[Service.REDIRECT] = Verdict(healthy=False, points=4)
    await bench.look()
    assert not bench.table.there


async def test_the_redirect_of_other_settings_goes_until_haproxy_serves_by_these() -> None:
    """Another `lb_port`: the table led to the old one, where nothing listened, and the API was away at its VIP."""
    bench = await after_a_restart()
    bench.files.texts[TEXTS[Service.REDIRECT]] = bench.table.text = "redirect to :9446"
    await bench.look()
    assert not bench.table.there
    bench.state.verdicts[Service.REDIRECT] = UP
    await bench.look()
    assert bench.table.there


async def test_other_rules_to_the_same_port_replace_the_redirect_without_a_gap() -> None:
    """After an upgrade: the redirect was away until three checks of haproxy were good."""
    bench = await after_a_restart()
    bench.files.texts[TEXTS[Service.REDIRECT]] = "rules of an older version"
    await bench.look()
    assert (bench.table.there, bench.table.removed) == (True, 0)
    assert bench.table.text == bench.state.plan.texts[Service.REDIRECT]


async def test_a_redirect_that_another_program_has_removed_is_put_back() -> None:
    """As a restart of nftables.service does: one node served all clients of the VIP from then on."""
    bench = await after_a_restart()
    bench.state.verdicts[Service.REDIRECT] = UP
    await bench.look()
    bench.table.there = False
    await asyncio.sleep(TABLE_SECONDS)
    await bench.look()
    assert bench.table.there


async def test_a_redirect_without_haproxy_goes() -> None:
    bench = Bench(state("worker"), there=True)
    await bench.look()
    assert not bench.table.there


async def test_a_drained_node_stops_its_balancer_once_no_vip_is_here() -> None:
    made = state()
    bench = Bench(made, KEEPALIVED, HAPROXY)
    await bench.look()
    made.drained = True
    vip = made.plan.vips[0].address
    made.sightings[vip] = Sighting(vip, here=True)
    assert await bench.look() == []
    made.sightings[vip] = Sighting(vip, here=False, others=frozenset({"02:00:00:00:00:11"}))
    assert await bench.look() == [("stop", HAPROXY)]
    made.drained = False
    assert await bench.look() == [("start", HAPROXY)]


@pytest.mark.parametrize("why", ["drained", "another stack"])
async def test_the_redirect_goes_before_haproxy_does(why: str) -> None:
    """A connection that still comes to this node would be sent to a port on which nothing listens."""
    made = state()
    bench = Bench(made, KEEPALIVED, HAPROXY)
    made.verdicts[Service.REDIRECT] = UP
    await bench.look()
    assert bench.table.there
    bench.units.stopping = lambda unit: seen.append((unit, bench.table.there))
    seen: list[tuple[str, bool]] = []
    if why == "drained":
        made.drained = True
    else:
        bench.others.found = Others(manifests={"haproxy.yaml"})
    assert await bench.look() == [("stop", HAPROXY)]
    assert seen == [(HAPROXY, False)]


async def test_before_any_node_ip_nothing_is_started() -> None:
    bench = Bench(State("master-0", inputs().options))
    assert await bench.look() == []


@pytest.mark.parametrize("address", ["::1", "127.0.0.2", "::", "192.0.2.10"])
async def test_a_socket_of_any_user_stops_no_balancer(address: str) -> None:
    """Any user may listen on this port, on an address that ours does not use."""
    bench = Bench(state(), KEEPALIVED, HAPROXY)
    await bench.look()
    bench.others.found = Others(listeners=(Listener(9445, ours=False, address=ip_address(address)),))
    assert await bench.look() == []
    assert bench.state.waits == {}


async def test_a_socket_that_is_not_in_the_way_keeps_no_balancer_from_its_start() -> None:
    bench = Bench(state(), KEEPALIVED)
    bench.others.found = Others(listeners=(Listener(9445, ours=False, address=ip_address("::1")),))
    assert ("start", HAPROXY) in await bench.look()
    bench = Bench(state(), KEEPALIVED)
    bench.others.found = Others(listeners=(Listener(9445, ours=False, address=ip_address("127.0.0.1")),))
    assert ("start", HAPROXY) not in await bench.look()
    assert set(bench.state.waits) == {Service.HAPROXY}


async def test_a_quiet_look_asks_systemd_nothing_and_sees_another_stack_all_the_same() -> None:
    bench = Bench(state(), KEEPALIVED, HAPROXY)
    await bench.look()
    bench.units.orders.clear()
    bench.units.running.clear()
    await bench.reconciler.reconcile(ask_systemd=False)
    assert bench.units.orders == []
    bench.units.running |= {KEEPALIVED, HAPROXY}
    bench.others.found = Others(manifests={"keepalived.yaml"})
    await bench.reconciler.reconcile(ask_systemd=False)
    assert bench.units.orders == [("stop", KEEPALIVED)]


async def test_a_service_that_keeps_failing_is_started_with_growing_pauses() -> None:
    """The end of each start job wakes the look."""
    bench = Bench(state())
    await bench.look()
    bench.units.orders.clear()
    for _ in range(600):
        bench.units.running.clear()
        await bench.look()
        await asyncio.sleep(0.1)
    assert bench.units.orders.count(("start", HAPROXY)) == 4, "after 2, 6, 14 and 30 seconds"


async def test_a_service_that_ran_for_a_while_is_started_at_once() -> None:
    bench = Bench(state())
    await bench.look()
    await asyncio.sleep(120)
    await bench.look()
    bench.units.running.discard(HAPROXY)
    assert await bench.look() == [("start", HAPROXY)]


async def test_a_program_that_is_not_installed_is_named_and_not_started() -> None:
    bench = Bench(state())
    bench.units.missing[HAPROXY] = "/usr/sbin/haproxy"
    assert await bench.look() == [("start", KEEPALIVED)]
    shown = bench.state.report().services[Service.HAPROXY]
    assert shown.problem == "its program /usr/sbin/haproxy is not installed: install haproxy"
    bench.units.missing.clear()
    assert await bench.look() == [("start", HAPROXY)]


async def test_reloads_come_with_pauses_when_peers_go_on_changing_and_the_last_one_is_done() -> None:
    bench = Bench(state(), KEEPALIVED, HAPROXY)
    given = bench.state.known.inputs
    fewer = tuple(node for node in given.nodes if node.name != "master-2")
    for number in range(100):
        bench.state.take(Known(replace(given, nodes=fewer if number % 2 else given.nodes)))
        await bench.look()
    assert bench.units.orders.count(("reload", KEEPALIVED)) == RELOADS
    await asyncio.sleep(RELOAD_SECONDS)
    assert await bench.look() == [("reload", KEEPALIVED), ("reload", HAPROXY)]
    assert await bench.look() == []


async def test_keepalived_is_guarded_for_as_long_as_it_is_wanted() -> None:
    bench = Bench(state())
    bench.guard.broken = Unavailable("nft does not start")
    await bench.look()
    assert any("Any host can send VRRP" in text for text in bench.state.failures.values()), "and keepalived starts"
    bench.guard.broken = None
    await bench.look()
    assert "192.0.2.11" in bench.guard.text
    bench.guard.there = False  # a restart of nftables.service
    await asyncio.sleep(TABLE_SECONDS)
    await bench.look()
    assert bench.guard.there
    assert bench.files.texts[GUARD] == bench.guard.text, "systemd takes it up with keepalived"
    bench.others.found = Others({"keepalived.yaml"})
    bench.guard.there = False  # systemd has removed it with keepalived
    await asyncio.sleep(TABLE_SECONDS)
    await bench.look()
    assert not bench.guard.there, "the former stack is guarded by no rule of nodenet's"
