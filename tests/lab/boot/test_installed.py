"""Does an installed node keep what nodenetd needs outside its own directories, and is only that loaded?"""

from __future__ import annotations

from factories import NodeFactory
from harness import Node
from story import nothing_left, settle

UPLINK_NAMES = "/var/lib/ovnk"


def writable(node: Node, path: str) -> bool:
    """Return whether the running daemon, inside its mounts, can write there."""
    pid = node.run(["systemctl", "show", "-p", "MainPID", "--value", "nodenetd.service"]).stdout.strip()
    return node.run(["nsenter", f"--target={pid}", "--mount", "test", "-w", path], check=False).returncode == 0


def test_a_directory_that_was_removed_is_made_again(product_node: NodeFactory) -> None:
    """Without it, br-ex was made and its uplink's name could not be written: read-only file system (R65)."""
    node = product_node()
    node.boot()
    assert settle(node)["ready"]
    assert writable(node, UPLINK_NAMES)
    node.run(f"rm -r {UPLINK_NAMES} && systemctl restart nodenetd.service", timeout=60)
    assert node.run(["stat", "-c", "%a %U", UPLINK_NAMES]).stdout.split() == ["755", "root"]
    assert writable(node, UPLINK_NAMES)
    assert node.wait_settled() == "running"


def test_nodenetd_runs_without_openssl(product_node: NodeFactory) -> None:
    """It costs 5 MB of each node; asyncio, hashlib and hmac load it wherever it can be loaded."""
    node = product_node()
    node.boot()
    assert settle(node)["ready"]
    maps = node.run("cat /proc/$(systemctl show -P MainPID nodenetd.service)/maps").stdout
    assert "libpython" in maps or "python3" in maps
    assert [line.split()[-1] for line in maps.splitlines() if "libcrypto" in line or "libssl" in line] == []


def test_temporary_files_of_an_earlier_boot_are_gone(product_node: NodeFactory) -> None:
    """A kill left them; nobody else would remove them."""
    strays = [f"{directory}/.nodenet-0123456789abcdef" for directory in ("/etc", "/var/lib/nodenet")]
    node = product_node(files=dict.fromkeys(strays, "half a file"))
    assert [node.path(stray).exists() for stray in strays] == [True, True]
    node.boot()
    assert settle(node)["health"] == "ok"
    nothing_left(node)
