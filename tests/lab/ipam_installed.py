"""How does a booted node get the credentials of nodenet-ipam and a runtime's programs, and how is it called there?"""

from __future__ import annotations

import json
import subprocess

from harness import Node, eventually
from harness.cni_programs import Cni, cni_programs
from ipam_site import PATIENCE, Network, Pod, Site
from nodenet.core.persistent_ips.reserve import AGAIN

UNIT = "nodenet-ipam.service"
KUBECONFIG = "/etc/nodenet/ipam.kubeconfig"
PLUGINS = "/opt/cni/bin"
TOOL = "/usr/local/bin/cnitool"
CERTIFICATE = "/etc/nodenet/api.crt"


def furnish(node: Node, site: Site) -> None:
    """Give a node that is off the unit's credentials and the programs that runtimes bring."""
    config = json.loads(site.kubeconfig(node.name, proxy=False))
    config["clusters"][0]["cluster"]["certificate-authority"] = CERTIFICATE
    node.write(CERTIFICATE, site.cluster.server.authority.read_text())
    node.write("/etc/nodenet/nodenet.toml.d/20-ipam.toml", f'[ipam]\nkubeconfig = "{KUBECONFIG}"\n')
    node.write(KUBECONFIG, json.dumps(config), 0o600)
    for program in Cni:
        place = TOOL if program is Cni.TOOL else f"{PLUGINS}/{program.filename}"
        node.write(place, (cni_programs() / program.filename).read_bytes(), 0o755)
    node.enable(UNIT)


def call(node: Node, verb: str, network: Network, pod: Pod) -> list[str]:
    """Let cnitool attach or detach a pod on the node, again as kubelet does if it is asked to; return the addresses."""
    node.write(f"/etc/cni/net.d/{network.name}.conflist", network.conflist())
    inside = f"ip netns add {pod.name} 2>/dev/null; CNI_PATH={PLUGINS} CNI_ARGS='{pod.args}' CNI_IFNAME=net1"

    def asked(verb: str) -> subprocess.CompletedProcess[str]:
        return node.run(f"{inside} {TOOL} {verb} {network.name} /run/netns/{pod.name}", check=False, timeout=PATIENCE)

    def done() -> subprocess.CompletedProcess[str] | None:
        ended = asked(verb)
        if AGAIN not in ended.stdout + ended.stderr:
            return ended
        asked("del")  # a runtime takes away what a failed ADD left
        return None

    ended = eventually(done, f"{verb} of {pod.name}", timeout=2 * PATIENCE, pause=1)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return [entry["address"] for entry in json.loads(ended.stdout)["ips"]] if ended.stdout.strip() else []
