"""Does bad input disturb anything? Configurations, annotations, claims, and what arrives on the socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import pytest

from harness import eventually
from harness.kube_client import ApiError
from ipam_node import IpamNode, NodeMaker, exchanged
from ipam_site import NETWORKS, PATIENCE, Network, Pod, Site, Space, element, freed, pod_document

MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    # what is wrong → keys of the configuration, and the word that the error must contain
    "no subnets": ({"subnets": ""}, "subnets"),
    "a number": ({"subnets": 7}, "subnets"),
    "not an address": ({"subnets": "10.0.0/24"}, "subnets"),
    "host bits": ({"subnets": "10.0.0.1/24"}, "10.0.0.0/24"),
    "a netmask": ({"subnets": "10.0.0.0/255.255.255.0"}, "subnets"),
    "no length": ({"subnets": "10.0.0.0"}, "subnets"),
    "a /8": ({"subnets": "10.0.0.0/8"}, "10.0.0.0/8"),
    "a /31": ({"subnets": "10.0.0.0/31"}, "10.0.0.0/31"),
    "a /127": ({"subnets": "fd00::/127"}, "fd00::/127"),
    "overlap": ({"subnets": "10.0.0.0/16,10.0.3.0/24"}, "10.0.3.0/24"),
    "IPv4-mapped": ({"subnets": "::ffff:10.0.0.0/120"}, "subnets"),
    "multicast": ({"subnets": "239.0.0.0/24"}, "239.0.0.0/24"),
    "excluded elsewhere": ({"excludeSubnets": "192.0.2.0/28"}, "excludeSubnets"),
    "nothing left": ({"subnets": "10.9.9.0/24", "excludeSubnets": "10.9.9.0/24"}, "excludeSubnets"),
    "a word for a boolean": ({"allowPersistentIPs": "yes"}, "allowPersistentIPs"),
    "a key of another plugin": ({"ipam": {"type": "nodenet-ipam", "exclude": ["10.0.0.0/25"]}}, "excludeSubnets"),
    "a key that is misspelt": ({"excludeSubnet": "10.0.0.0/25"}, "excludeSubnets"),
    "ipam is a list": ({"ipam": []}, "ipam"),
    "no name": ({"name": ""}, "name"),
    "a path as the name": ({"name": "../../etc"}, "name"),
    "a gateway elsewhere": ({"ipam": {"type": "nodenet-ipam", "gateway": "192.0.2.1"}}, "gateway"),
    "routes that are no list": ({"ipam": {"type": "nodenet-ipam", "routes": "default"}}, "routes"),
}
ANNOTATIONS = {
    "not JSON": "[{",
    "deep": "[" * 5000 + "]" * 5000,
    "not an object": "[7]",
    "no name": '[{"interface": "net1"}]',
    "wrong type": '[{"name": "a", "interface": 7}]',
    "a claim that is a list": '[{"name": "a", "interface": "net1", "ipam-claim-reference": ["vm"]}]',
    "a path": '[{"name": "a", "interface": "net1", "ipam-claim-reference": "../../leases/x"}]',
    "another namespace": '[{"name": "a", "interface": "net1", "ipam-claim-reference": "kube-system/vm"}]',
    "large": "[" + ",".join(['{"name": "a", "interface": "net1"}'] * 7000) + "]",
}


def well(worker: IpamNode, space: Space, network: Network) -> None:
    """Assert that a good pod is served, and that nothing was left over."""
    pod = space.pod(f"good-{network.name}", element(network))
    assert worker.ask("ADD", network, pod).exit == 0
    assert worker.ask("DEL", network, pod).exit == 0
    eventually(lambda: space.site.leases(network) == [], "no address to be taken", timeout=PATIENCE)
    assert worker.runs
    assert "Traceback" not in worker.log.read_text()


def test_mistakes_in_the_configuration(site: Site, space: Space, node: NodeMaker) -> None:
    """Code 7, or a refusal of the name; the key or the value is in the message; DEL succeeds all the same."""
    worker = node(wired=False)
    network = site.network()
    pod = space.pod("one", element(network))
    for title, (keys, word) in MISTAKES.items():
        answer = worker.ask("ADD", network, pod, **keys)
        assert answer.code == 7, (title, answer)
        assert word in answer.text, (title, answer)
        assert worker.ask("DEL", network, pod, **keys).exit == 0, title
    for version in ("0.1.0", "2.0.0", 7, None):
        assert worker.ask("ADD", network, pod, cniVersion=version).code == 1, version
    well(worker, space, network)


@pytest.mark.parametrize("title", ANNOTATIONS)
def test_hostile_annotations(site: Site, space: Space, node: NodeMaker, title: str) -> None:
    """Whoever makes pods writes them: refused with a reason, and only for that pod."""
    worker = node(wired=False)
    network = site.network()
    annotations = {NETWORKS: ANNOTATIONS[title]}
    pod = space.pod("bad", annotations=annotations)
    answer = worker.ask("ADD", network, pod)
    assert answer.code == 7, answer
    assert "annotation" in answer.text
    well(worker, space, network)


def test_objects_as_large_as_the_api_keeps_them(site: Site, space: Space, node: NodeMaker) -> None:
    """A pod of more than a megabyte, and a claim with all annotations that are allowed, are served like others."""
    worker = node(wired=False)
    network = site.network()
    space.claim("vm", network, annotations={"a": "x" * (255 << 10)})
    large = pod_document("vm", element(network, "vm"))
    large["spec"]["containers"][0]["env"] = [{"name": "A", "value": "x" * (1200 << 10)}]
    made = space.admin.create(f"/api/v1/namespaces/{space.name}/pods", large)
    pod = Pod(space.name, "vm", made["metadata"]["uid"])
    assert worker.ask("ADD", network, pod).ips == space.ips("vm")
    worker.ask("DEL", network, pod)
    eventually(lambda: "ownerPod" not in space.status("vm"), "the watch to go on", timeout=PATIENCE)
    space.admin.delete(space.claim_path("vm"))
    well(worker, space, network)


@pytest.mark.parametrize("ips", [["banana"], ["10.0.0.0/8"], ["::/0"], ["10.0.0.1"], [""], ["10.0.0.1/24"] * 5000])
def test_nonsense_in_a_status(site: Site, space: Space, node: NodeMaker, ips: list[str]) -> None:
    """The claim is refused and left as it is; others are served. The service starts with it there."""
    worker = node(wired=False)
    network = site.network()
    space.claim("vm", network)
    space.admin.patch(f"{space.claim_path('vm')}/status", {"status": {"ips": ips}})
    pod = space.pod("bad", element(network, "vm"))
    assert worker.ask("ADD", network, pod).exit == 1
    worker.kill()
    worker.start()
    assert worker.ask("ADD", network, pod).exit == 1
    assert space.ips("vm") == ips
    well(worker, space, network)


def test_claims_as_large_as_the_api_takes_them(site: Site, space: Space, node: NodeMaker) -> None:
    """Every user who may create claims could keep all services from reading the others."""
    worker = node(wired=False, start=False)
    large = replace(site.network(), name="x" * 1_400_000)
    names = [f"large-{number}" for number in range(13)]
    try:
        for name in names:
            space.claim(name, large)
        network = site.network()
        space.claim("vm", network)
        worker.start()
        pod = space.pod("vm-1", element(network, "vm"))
        assert worker.ask("ADD", network, pod).exit == 0
        assert worker.ask("DEL", network, pod).exit == 0
        space.admin.delete(space.claim_path("vm"))
        freed(site, network)  # only the watch says that the claim is gone, and it begins with a list
        refused = worker.ask("ADD", network, space.pod("bad", element(network, names[0])))
        assert (refused.code, len(refused.text) < 2000) == (7, True), refused.text[:2000]
    finally:
        for name in names:
            space.admin.delete(space.claim_path(name))


def test_names_that_are_not_names(site: Site, space: Space, node: NodeMaker) -> None:
    """What comes by CNI_ARGS and environment never becomes a path of the API or a file."""
    worker = node(wired=False)
    network = site.network()
    good = space.pod("good", element(network))
    before = len(site.proxy.requests())
    hostile = ["../../secrets", "a/b", "A", "a\nb", "", "x" * 300, "%2e%2e", "ä"]
    for name in hostile:
        assert worker.ask("ADD", network, Pod(name, "good", good.uid)).exit == 1
        assert worker.ask("ADD", network, Pod(space.name, name, good.uid)).exit == 1
    for interface in ("", "a/b", "x" * 16, "a b", "..", "net1\n"):
        assert worker.ask("ADD", network, good, interface).exit == 1, interface
    wrong = Pod(space.name, "good", "00000000-0000-0000-0000-000000000000")
    assert worker.ask("ADD", network, wrong).exit == 1, "the pod was made again under its name"
    asked = {one["path"] for one in site.proxy.requests(path="/pods|secrets|%2e", since=before)}
    assert asked == {f"/api/v1/namespaces/{space.name}/pods/good"}
    well(worker, space, network)


REQUESTS = (
    *(b"", b"\0", b"{", b"[]", b"7", b'{"version": 1}', b'{"version": 2, "command": "ADD"}', b"\xff\xfe"),
    *(b"[" * 200_000, b'{"version": 1, "command": ["ADD"]}', b'{"version": 1, "command": "VERSION"}'),
    json.dumps({"version": 1, "command": "ADD", "config": "x" * 300_000}).encode(),
)


def test_what_arrives_on_the_socket(site: Site, space: Space, node: NodeMaker) -> None:
    """Each request gets an error or the end of its connection; none stops the service."""
    worker = node(wired=False)

    async def send(request: bytes) -> None:
        with contextlib.suppress(ConnectionError):
            raw = await asyncio.wait_for(exchanged(worker.socket, request), PATIENCE)
            assert raw == b"" or json.loads(raw)["exit"] == 1

    for request in REQUESTS:
        asyncio.run(send(request))
    well(worker, space, site.network())


def test_clients_that_say_nothing(site: Site, space: Space, node: NodeMaker) -> None:
    """Two hundred open connections, and some that go away half-way: others are served, and these end in time."""
    worker = node(wired=False)
    with contextlib.ExitStack() as lines:
        for number in range(200):
            line = lines.enter_context(contextlib.closing(socket.socket(socket.AF_UNIX)))
            line.settimeout(PATIENCE)
            line.connect(str(worker.socket))
            if number % 2:
                line.sendall(b'{"version": 1, ')
            if number % 10 == 0:
                line.close()
        began = time.monotonic()
        well(worker, space, site.network())
        assert time.monotonic() - began < 20


def test_only_root_is_answered(node: NodeMaker) -> None:
    """The mode keeps others out, and where a mode was changed the credentials of the connection do."""
    worker = node(wired=False)
    assert worker.socket.stat().st_mode & 0o777 == 0o600
    attempt = (
        "import os, socket, sys; os.setgid(65534); os.setuid(65534); line = socket.socket(socket.AF_UNIX);"
        "line.connect(sys.argv[1]); line.sendall(b'{}'); line.shutdown(1); print(line.recv(65536).decode())"
    )
    command = [sys.executable, "-c", attempt, str(worker.socket)]

    def tried() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)

    for path in (worker.directory, worker.directory.parent, worker.directory.parent.parent):
        path.chmod(0o755)
    assert "PermissionError" in tried().stderr
    worker.socket.chmod(0o666)
    answer = tried().stdout.strip()
    assert not answer or json.loads(answer)["exit"] == 1


def test_a_claim_that_is_refused_by_the_api(site: Site, space: Space) -> None:
    """The definition of claims lets no claim in that has no network, or whose addresses are no list."""
    network = site.network()
    for spec in ({}, {"interface": ""}, {"network": 7, "interface": ""}):
        document = {"apiVersion": "k8s.cni.cncf.io/v1alpha1", "kind": "IPAMClaim", "metadata": {"name": "x"}}
        with pytest.raises(ApiError):
            space.admin.create(space.claim_path(), {**document, "spec": spec})
    space.claim("vm", network)
    with pytest.raises(ApiError):
        space.admin.patch(f"{space.claim_path('vm')}/status", {"status": {"ips": "10.0.0.1/24"}})
