"""Does the proxy in front of the lab's API make each of its faults?"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from typing import Any

import pytest

from harness import Lan, eventually
from harness.api_proxy import ApiProxy
from harness.kube import Cluster
from harness.kube_bulk import send_all
from harness.kube_client import Client, Server

MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name: str) -> dict[str, Any]:
    """Return a small object."""
    return {"metadata": {"name": name}}


@pytest.fixture
def cluster(lan: Lan) -> Any:
    """A cluster on the test's LAN."""
    with Cluster(lan) as made:
        yield made


def through(cluster: Cluster, proxy: ApiProxy, user: str) -> Client:
    """Return a client whose requests go through the proxy; without a token it is anonymous."""
    port = int(proxy.url.rpartition(":")[2])
    server = Server(cluster.server.netns, cluster.server.address, port, cluster.server.authority)
    return Client(server, cluster.client(user).credentials)


def test_each_fault(cluster: Cluster) -> None:
    """Who comes without a token is anonymous: a status of the server's own, 403, says that a request arrived there."""
    proxy = ApiProxy(cluster)
    client = through(cluster, proxy, "admin")

    def status(path: str = MAPS) -> int | None:
        connection = client.connection()
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()
        return response.status

    assert status() == 403
    proxy.rule("status", path="/configmaps", status=409, skip=1, times=1)
    assert [status() for _ in range(3)] == [403, 409, 403]
    proxy.clear()
    proxy.rule("lose", times=1)
    assert [status(), status()] == [None, 403]
    assert proxy.requests()[-2]["status"] == 403, "the server did it"
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as victim:
        proxy.rule("kill", pid=victim.pid, times=1)
        assert status() is None
        assert victim.wait(10) == -9
    proxy.close()
    with pytest.raises(Exception, match="no connection"):
        client.connection()
    proxy.open()
    assert status() == 403
    proxy.rule("garbage", times=1)
    assert status() == 200
    assert {one["fault"] for one in proxy.requests("GET", MAPS)} == {"", "status", "lose", "kill", "garbage"}


def test_many_objects(cluster: Cluster) -> None:
    """Made and removed by several connections; the answers have the order of the requests."""
    names = [f"map-{number}" for number in range(40)]
    made = send_all(cluster.admin, (("POST", MAPS, config_map(name)) for name in names))
    assert [one["metadata"]["name"] for one in made] == names
    send_all(cluster.admin, (("DELETE", f"{MAPS}/{name}", None) for name in [*names, "none"]))
    eventually(lambda: not [one for one in cluster.admin.get(MAPS)["items"] if "map-" in json.dumps(one)], "no maps")
