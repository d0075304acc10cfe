from __future__ import annotations

from dataclasses import replace

import pytest

from nodenet.core.persistent_ips import pod as pods
from nodenet.core.persistent_ips.api import Forbidden
from nodenet.core.persistent_ips.cni import CniError
from nodenet.core.persistent_ips.permission import check_configuration, may_reference
from nodenet.core.persistent_ips.pod import reference
from nodenet.core.persistent_ips.reserve import Asked
from persistent_ips_story import added, vm
from persistent_ips_world import World, network


def test_without_the_right_to_read_definitions_nothing_more_is_allowed_or_forgotten() -> None:
    """The cluster may have no such kind."""
    world = World(1)
    node = world.nodes[0]
    added(world, node, vm(world), "c1")
    asked = Asked("c2", "net1", "/run/netns/c2", None, network(allowPersistentIPs=False))
    read = reference(pods.parse(world.api.pods["vms", "vm-1"]), "net1", "blue", "p")
    steps = may_reference(node.here(), asked, read)
    next(steps)
    with pytest.raises(CniError, match="does not allow persistent IPs"):
        steps.throw(Forbidden("not allowed"))
    other = World(1)
    pod = other.api.put_pod("x")
    found = reference(pods.parse(other.api.pods["vms", "x"]), "net1", "blue", pod.uid)
    changed = check_configuration(node.here(), asked, replace(found, source="vms/green"))
    next(changed)
    with pytest.raises(CniError, match="in different ways"):
        changed.throw(Forbidden("not allowed"))
