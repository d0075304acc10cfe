"""How does a test let the reaper of unplugged claims look, without waiting as long as it does?"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ipam_node import ROOT
from ipam_site import PATIENCE, Network, Site
from kubevirt_double import API, Machine

REAP = """
import asyncio, sys
from nodenet.cni.unplug_reaper import UnplugReaper
from nodenet.core.persistent_ips.unplug import UNPLUGGED_SECONDS
from nodenet.edge.kubernetes.ipam_api import KubernetesIpam

async def look():
    now = [0.0]
    api = KubernetesIpam(sys.argv[1], "kube-system", lambda _: None)
    reaper = UnplugReaper(api, "worker-0", lambda: now[0])
    await reaper.look()
    now[0] += UNPLUGGED_SECONDS
    await reaper.look()
    await api.close()

asyncio.run(look())
"""


def unplug(machine: Machine, network: Network) -> None:
    """Take a network out of a machine; its claim stays, as the controller leaves it."""
    kept = [{"name": one.name} for one in machine.networks.values() if one != network]
    path = f"{API}/namespaces/{machine.space.name}/virtualmachines/{machine.name}"
    machine.admin.patch(path, {"spec": {"template": {"spec": {"networks": kept}}}})


def reap(site: Site, directory: Path, *, proxy: bool) -> subprocess.CompletedProcess[str]:
    """Let the reaper look twice, as far apart as it waits."""
    kubeconfig = directory / "kubeconfig"
    kubeconfig.write_text(site.kubeconfig(proxy=proxy))
    inside = ["ip", "netns", "exec", site.lan.netns, sys.executable, "-c", REAP, str(kubeconfig)]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "daemon")}
    return subprocess.run(inside, capture_output=True, text=True, timeout=PATIENCE, env=env, check=False)
