"""DNS questions to a node, from itself and from the LAN, and a DNS server that a node runs."""

from __future__ import annotations

from harness import Lan, Node, host

ASK = """
import random, socket, struct, sys
server, name, kind = sys.argv[1], sys.argv[2], {"A": 1, "AAAA": 28}[sys.argv[3]]
family = socket.AF_INET6 if ":" in server else socket.AF_INET
number = random.randrange(65536)
labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\\0"
with socket.socket(family, socket.SOCK_DGRAM) as asked:
    asked.settimeout(2)
    try:
        asked.connect((server, 53))
        asked.send(struct.pack("!6H", number, 0x100, 1, 0, 0, 0) + labels + struct.pack("!2H", kind, 1))
        answer = asked.recv(4096)
    except OSError as error:
        print(type(error).__name__)
        sys.exit()
code, count = answer[3] & 15, struct.unpack("!H", answer[6:8])[0]
place, found = 12 + len(labels) + 4, []
for _ in range(count):
    while answer[place] and answer[place] < 192:
        place += answer[place] + 1
    place += 2 if answer[place] >= 192 else 1
    what, _, _, length = struct.unpack("!HHIH", answer[place : place + 10])
    data = answer[place + 10 : place + 10 + length]
    place += 10 + length
    if what == kind:
        found.append(socket.inet_ntop(socket.AF_INET6 if kind == 28 else socket.AF_INET, data))
print({0: "NOERROR", 2: "SERVFAIL", 3: "NXDOMAIN", 5: "REFUSED"}.get(code, code), *sorted(found))
"""
"""Asks one question; prints the answer's code and addresses, or the error that the kernel reports."""
SERVE = """
import socket, struct, sys
address, port, answered = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
    server.bind((address, port))
    while True:
        query, sender = server.recvfrom(512)
        end = query.index(b"\\0", 12) + 5
        record = b"\\xc0\\x0c" + struct.pack("!HHIH", 1, 1, 0, 4) + socket.inet_aton(answered)
        server.sendto(query[:2] + b"\\x81\\x80" + query[4:6] + b"\\0\\1\\0\\0\\0\\0" + query[12:end] + record, sender)
"""
"""A DNS server that has one answer for every name, and keeps nobody from caching it for no time at all."""


def ask(node: Node, name: str, server: str = "127.0.0.1", kind: str = "A") -> str:
    """Return what *server* answers to a program of *node*."""
    return node.run(["python3", "-c", ASK, server, name, kind]).stdout.strip()


def ask_from_outside(lan: Lan, server: str, name: str) -> str:
    """Return what *server* answers to a host on *lan*."""
    return lan.run("python3", "-c", ASK, server, name, "A").strip()


def ask_from_pod(node: Node, server: str, name: str) -> str:
    """Return what *server* answers to a pod of *node*, on a cable as network plugins make it."""
    node.run(
        "ip netns add pod && ip link add veth-pod type veth peer name eth0 netns pod"
        " && ip address add 10.1.0.1/32 dev veth-pod && ip link set veth-pod up && ip route add 10.1.0.2 dev veth-pod"
        " && ip -n pod address add 10.1.0.2/32 dev eth0 && ip -n pod link set eth0 up"
        " && ip -n pod route add 10.1.0.1 dev eth0 && ip -n pod route add default via 10.1.0.1"
    )
    return node.run(["ip", "netns", "exec", "pod", "python3", "-c", ASK, server, name, "A"]).stdout.strip()


def until_answer(node: Node, name: str, wanted: str, server: str = "127.0.0.1", *, timeout: float = 20) -> None:
    """Wait until *server* answers so."""
    host.eventually(
        lambda: ask(node, name, server) == wanted or None, f"{name} to be {wanted}", timeout=timeout, pause=0.2
    )


def start_server(node: Node, unit: str, place: tuple[str, int], answered: str, *, slice_: str = "system.slice") -> None:
    """Let a DNS server at an address and port of *node* answer every name with one address."""
    how = ["systemd-run", f"--unit={unit}", f"--slice={slice_}", "--quiet"]
    node.run([*how, "python3", "-c", SERVE, place[0], str(place[1]), answered])
