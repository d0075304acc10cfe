"""A reload that changes the link of the VIPs: they go to another node, as in a planned leave."""

from __future__ import annotations

import json
from pathlib import Path

from harness import Lab, Lan
from vip_rig import API, FIRST, Options, Rig, links_with, until

NODE_FILE = """interfaces:
- name: eth0
  type: ethernet
  state: up
  ipv4:
    enabled: true
    dhcp: false
    address:
    - {{ip: 10.88.0.{host}, prefix-length: 24}}
  ipv6: {{enabled: false}}
dns-resolver:
  config:
    server: [10.88.0.1]
routes:
  config:
  - {{destination: 0.0.0.0/0, next-hop-address: 10.88.0.1, next-hop-interface: eth0}}
"""
ROUTE = "  - {destination: 198.51.100.0/24, next-hop-address: 10.88.0.1, next-hop-interface: eth0}\n"
CLIENT = r"""
import json, os, socket, sys, time
address, output = sys.argv[1], sys.argv[2]
silences, last, count = [], time.monotonic(), 0
while True:
    at = time.monotonic()
    try:
        socket.create_connection((address, 6443), 0.2).close()
    except OSError:
        time.sleep(max(0, 0.02 - (time.monotonic() - at)))
        continue
    now = time.monotonic()
    if now - last > 0.3:
        silences.append(round(now - last, 2))
    last, count = now, count + 1
    with open(output + ".new", "w") as file:
        json.dump({"count": count, "silences": silences}, file)
    os.rename(output + ".new", output)
    time.sleep(0.01)
"""


def test_a_reload_of_the_holder_does_not_silence_its_vip(lab: Lab, lan: Lan, product: Path, tmp_path: Path) -> None:
    """One route more in its node file: NetworkManager takes the VIP off, and keepalived gives it to another node."""
    files = {f"/etc/nmstate/openshift/master-{n}.yml": NODE_FILE.format(host=FIRST + n) for n in range(2)}
    rig = Rig(lab, lan, product, Options(nodes=2, advert=0.25, files=files))
    rig.boot()
    holder = rig.quiet()
    result, script = tmp_path / "client.json", tmp_path / "client.py"
    script.write_text(CLIENT)
    client = lan.start("python3", script, API, result, output=tmp_path / "client.log")
    until(lambda: result.exists() and json.loads(result.read_text())["count"] > 50, "the client")
    assert json.loads(result.read_text())["silences"] == []
    own = f"/etc/nmstate/openshift/{holder}.yml"
    rig.nodes[holder].write(own, rig.nodes[holder].run(f"cat {own}").stdout + ROUTE)
    rig.nodes[holder].run("nodenetctl reload --wait", timeout=60)
    assert "198.51.100.0/24" in rig.nodes[holder].run("ip route").stdout
    last = rig.quiet()
    count = json.loads(result.read_text())["count"]
    until(lambda: json.loads(result.read_text())["count"] > count + 100, "a second more")
    client.terminate()
    client.wait()
    found = json.loads(result.read_text())["silences"]
    assert found == []
    assert links_with(rig.nodes[last], API) == {"eth0"}
