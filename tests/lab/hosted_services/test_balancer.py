"""The API through its VIP: balanced, hitless changes, a load balancer that dies, and a reboot of the holder."""

from __future__ import annotations

import json
from pathlib import Path

from harness import Lab, Lan, Node
from vip_rig import API, FILED, Options, Rig, until

CLIENT = r"""
import json, os, socket, ssl, sys, time
address, ca, output = sys.argv[1:4]
tls = ssl.create_default_context(cafile=ca)
tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
failed, served, began = [], {}, time.monotonic()
while True:
    at = time.monotonic()
    try:
        with socket.create_connection((address, 6443), 8.0) as plain:
            with tls.wrap_socket(plain, server_hostname="api-int.c1.example.com") as line:
                line.sendall(b"GET /readyz HTTP/1.0\r\nHost: x\r\n\r\n")
                answer = b""
                while part := line.recv(4096):
                    answer += part
        name = answer.rsplit(b"\r\n\r\n", 1)[-1].decode()
        served[name] = served.get(name, 0) + 1
    except OSError as error:
        failed.append((round(at - began, 2), str(error)))
    with open(output + ".new", "w") as file:
        json.dump({"served": served, "failed": failed}, file)
    os.rename(output + ".new", output)
    time.sleep(max(0, 0.01 - (time.monotonic() - at)))
"""


ABSENT = "10.88.0.99"
"""No host has it."""


def change_backends(rig: Rig, holder: str) -> None:
    """Let control-plane nodes come into the list and leave it again, under 100 requests a second; one is not there."""
    node, text = rig.nodes[holder], rig.nodes[holder].path(FILED).read_text()
    more = json.loads(text)
    for name, address in (("master-8", "10.88.0.21"), ("master-9", ABSENT)):
        more["status"]["nodes"].append({"name": name, "role": "control-plane", "addresses": [address]})
    for content, expected in ((json.dumps(more), 5), (text, 3)):
        node.write(FILED, content)
        node.run("systemctl restart nodenet-hosted")
        until(lambda count=expected: serving(node) == count, f"{expected} servers")  # type: ignore[misc]
    assert node.run("systemctl show -P NRestarts nodenet-haproxy").stdout == "0\n", "it was reloaded"


def serving(node: Node) -> int:
    """Return how many servers haproxy itself has, as its socket says."""
    ask = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('/run/nodenet-haproxy/admin.sock'); "
    ask += "s.sendall(b'show servers conn api\\n'); s.shutdown(1); print(s.makefile().read())"
    return node.run(["python3", "-c", ask], check=False).stdout.count("api/")


def test_the_api_is_served_through_reloads_a_death_and_a_reboot(
    lab: Lab, lan: Lan, product: Path, tmp_path: Path
) -> None:
    rig = Rig(lab, lan, product)
    rig.boot()
    holder = rig.quiet()
    node = rig.nodes[holder]
    until(lambda: "nodenet_hosted" in node.run("nft list tables").stdout, "the redirect")
    result, script = tmp_path / "client.json", tmp_path / "client.py"
    script.write_text(CLIENT)
    client = lan.start("python3", script, API, lan.state / "ca.crt", result, output=tmp_path / "client.log")

    def seen() -> tuple[int, int]:
        found = json.loads(result.read_text()) if result.exists() else {"served": {}, "failed": []}
        return sum(found["served"].values()), len(found["failed"])

    until(lambda: seen()[0] > 30, "the client")
    assert len(json.loads(result.read_text())["served"]) == 3, "every API server serves"

    change_backends(rig, holder)
    before = seen()
    until(lambda: seen()[0] > before[0] + 100, "a second more")
    assert seen()[1] == 0, "a change of the backends costs no request"

    node.run("systemctl mask --runtime nodenet-haproxy")
    node.run("systemctl kill -s KILL nodenet-haproxy")
    until(lambda: "nodenet_hosted" not in node.run("nft list tables").stdout, "the redirect to go")
    before = seen()
    until(lambda: seen()[0] > before[0] + 20, "requests without haproxy")
    assert seen()[1] == before[1], "without the redirect the VIP reaches the node's own API server"
    node.run("systemctl unmask --runtime nodenet-haproxy")
    second = rig.quiet()
    until(lambda: "nodenet_hosted" in rig.nodes[second].run("nft list tables").stdout, "the redirect")

    node = rig.nodes[second]
    node.off(timeout=60)
    third = rig.moved(second)
    before = seen()
    until(lambda: seen()[0] > before[0] + 20, "requests to the next holder")
    client.terminate()
    client.wait()
    node.boot()
    rig.settle(second)
    last = [str(entry["MESSAGE"]) for entry in node.journal(boot=-1)]
    assert "This node is drained: other nodes hold its VIPs" in last
    assert rig.quiet() == third


ASK = r"""
import socket, ssl, sys
tls = ssl.create_default_context(cafile="/etc/kubernetes/ca.crt")
tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
with socket.create_connection((sys.argv[1], 6443), 3.0) as plain:
    with tls.wrap_socket(plain, server_hostname="api-int.c1.example.com") as line:
        line.sendall(b"GET /readyz HTTP/1.0\r\nHost: x\r\n\r\n")
        answer = b""
        while part := line.recv(4096):
            answer += part
print(answer.rsplit(b"\r\n\r\n", 1)[-1].decode())
"""


def has_an_old_list(worker: Node) -> None:
    """Let every API server that the worker knows be one that is gone; wait until it asks by the VIP."""
    listed = json.loads(worker.path(FILED).read_text())
    masters = [each for each in listed["status"]["nodes"] if each["role"] == "control-plane"]
    for number, each in enumerate(masters):
        each["addresses"] = [f"10.88.0.{98 + number}"]
    worker.write(FILED, json.dumps(listed))
    worker.run("systemctl restart nodenet-hosted")
    until(lambda: "nodenet_hosted" not in worker.run("nft list tables").stdout, "the redirect to go with the servers")


def test_a_worker_that_balances_has_the_api_while_no_node_holds_the_vip(lab: Lab, lan: Lan, product: Path) -> None:
    """The worker goes on while both holders are away and two API servers answer (`worker_balancer`)."""
    rig = Rig(lab, lan, product, Options(nodes=3, workers=1, hosted="worker_balancer = true\n"))
    rig.boot()
    rig.quiet()
    worker, masters = rig.nodes["worker-0"], ("master-0", "master-1")
    until(lambda: "from_here" in worker.run("nft list ruleset").stdout, "the redirect of the worker")

    def served() -> str:
        return worker.run(["python3", "-c", ASK, API], check=False).stdout.strip()

    assert {served() for _ in range(20)} == set(masters), "every API server is asked"
    for name in masters:
        rig.nodes[name].run("systemctl mask --runtime nodenet-keepalived && systemctl stop nodenet-keepalived")
    until(lambda: not rig.holders(), "the VIP to go")
    assert {served() for _ in range(20)} == set(masters), "no node holds the VIP"

    listens = worker.run("ss -Hltn sport = :9445").stdout
    assert "127.0.0.1:9445" in listens
    assert "0.0.0.0:9445" not in listens, "no other host is balanced"
    duty = next(one for one in rig.document("worker-0")["services"] if one["name"] == "haproxy")
    assert (duty["wanted"], duty["healthy"]) == (True, True)

    worker.run("systemctl mask --runtime nodenet-haproxy && systemctl stop nodenet-haproxy")
    until(lambda: "nodenet_hosted" not in worker.run("nft list tables").stdout, "the redirect to go with haproxy")
    for name in masters:
        rig.nodes[name].run("systemctl unmask --runtime nodenet-keepalived")
    until(served, "the API by its VIP again")

    worker.run("systemctl unmask --runtime nodenet-haproxy")
    until(lambda: "from_here" in worker.run("nft list ruleset").stdout, "the redirect again")
    has_an_old_list(worker)
    until(served, "the API by its VIP, where the worker learns the new list")
