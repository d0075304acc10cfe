"""What does an IPAM plugin cost the API that locks its pool? Played, to compare numbers of requests.

It takes a Lease, reads one object that has the whole pool, writes it back with one more address, and gives the Lease
back. Another one holds the Lease meanwhile: it waits and asks again.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from harness import LabError
from harness.kube_client import Client

SPACE = "/api/v1/namespaces/default/configmaps"
LOCKS = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
NAME = "pool-lock"
WAIT = 0.05
"""Seconds, on average, until the next attempt."""

Send = Callable[[str, str, Any], tuple[int, Any]]


def requests_for(client: Client, adds: int, at_once: int) -> int:
    """Give *adds* addresses, *at_once* at a time; return how many requests that took."""
    client.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME}, "data": {}})
    lock = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": NAME}, "spec": {}}
    client.apply(lock)
    shares = [adds // at_once + (number < adds % at_once) for number in range(at_once)]
    with ThreadPoolExecutor(at_once) as threads:
        sent = list(threads.map(lambda number: _worker(client, f"w{number}", shares[number]), range(at_once)))
    pool = client.get(f"{SPACE}/{NAME}")["data"]
    if len(pool) != adds:
        raise LabError(f"the pool has {len(pool)} addresses instead of {adds}")
    for path in (f"{SPACE}/{NAME}", f"{LOCKS}/{NAME}"):
        client.delete(path)
    return sum(sent)


def _worker(client: Client, name: str, adds: int) -> int:
    with contextlib.closing(client.connection()) as connection:
        count = 0

        def send(method: str, path: str, document: object) -> tuple[int, Any]:
            nonlocal count
            count += 1
            body = None if document is None else json.dumps(document)
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, json.loads(response.read())

        for number in range(adds):
            _add(send, name, f"{name}-{number}")
        return count


def _add(send: Send, holder: str, address: str) -> None:
    _take(send, holder)
    _, pool = send("GET", f"{SPACE}/{NAME}", None)
    pool["data"] = {**pool.get("data", {}), address: holder}
    status, _ = send("PUT", f"{SPACE}/{NAME}", pool)
    if status != http.client.OK:
        raise LabError(f"the pool was changed by another holder of the lock: {status}")
    _, lease = send("GET", f"{LOCKS}/{NAME}", None)
    lease["spec"] = {}
    send("PUT", f"{LOCKS}/{NAME}", lease)


def _take(send: Send, holder: str) -> None:
    while True:
        _, lease = send("GET", f"{LOCKS}/{NAME}", None)
        if not lease["spec"].get("holderIdentity"):
            lease["spec"] = {"holderIdentity": holder}
            status, _ = send("PUT", f"{LOCKS}/{NAME}", lease)
            if status == http.client.OK:
                return
        time.sleep(random.uniform(0, 2 * WAIT))  # noqa: S311 -- it only spreads the attempts
