"""How does a test make or remove a thousand objects in a few seconds?

By some connections at once, each of which serves one request after the other.
"""

import contextlib
import http.client
import json
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from harness import host
from harness.kube_client import MERGE, Client, Document

Request = tuple[str, str, Document | None]
"""Method, path, and the document that is sent."""
CONNECTIONS = 6


def send_all(client: Client, requests: Iterable[Request]) -> list[Document]:
    """Send requests and return the answers in their order. Raises LabError for a refusal; 404 of DELETE is none."""
    wanted = list(requests)
    shares = [wanted[number::CONNECTIONS] for number in range(CONNECTIONS)]
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        answers = list(threads.map(lambda share: _send(client, share), shares))
    return [answers[number % CONNECTIONS][number // CONNECTIONS] for number in range(len(wanted))]


def _send(client: Client, requests: Sequence[Request]) -> list[Document]:
    if not requests:
        return []
    answers = []
    with contextlib.closing(client.connection()) as connection:
        for method, path, document in requests:
            kind = MERGE if method == "PATCH" else "application/json"
            body = None if document is None else json.dumps(document)
            connection.request(method, path, body, {"Accept": "application/json", "Content-Type": kind})
            response = connection.getresponse()
            answer: Document = json.loads(response.read())
            gone = method == "DELETE" and response.status == http.client.NOT_FOUND
            if response.status >= http.client.BAD_REQUEST and not gone:
                raise host.LabError(f"{method} {path}: {response.status} {answer.get('message', answer)}")
            answers.append(answer)
    return answers
