"""What does an answer of the Kubernetes API mean? Its status code, and the Status object that comes with an error.

https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nodenet.core.errors import NodenetError
from nodenet.core.persistent_ips.api import ApiAway, Conflict, Expired, Forbidden, NotFound
from nodenet.core.value import frozen

LONGEST_REASON = 300
UNPROCESSABLE = 422
ERRORS: Mapping[int, type[NodenetError]] = {
    401: Forbidden,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Expired,
}
REMEDIES: Mapping[type[NodenetError], str] = {
    Forbidden: "Apply the manifests of /usr/share/nodenet/cluster, and look at the token",
    ApiAway: "Look at the API server; it is asked again",
}


@frozen
class Answer:
    """One answer; *pause*: its header Retry-After."""

    status: int
    content: bytes
    pause: str = ""

    @property
    def document(self) -> Any:  # noqa: ANN401
        """The JSON document of a success. Raises what ``error`` returns, ApiAway for what is not an object."""
        if not 200 <= self.status < 300:
            raise self.error("The API refuses a request")
        try:
            found = json.loads(self.content)
        except (ValueError, RecursionError) as error:
            raise ApiAway("The API's answer is not JSON", remedy=REMEDIES[ApiAway]) from error
        if not isinstance(found, dict):
            raise ApiAway("The API's answer is not an object", remedy=REMEDIES[ApiAway])
        return found

    def retry_after(self, most: float) -> float:
        """Return the seconds after which the request may be sent again, *most* at most."""
        return min(float(self.pause) if self.pause.isascii() and self.pause.isdigit() else 1.0, most)

    def error(self, what: str, others: Mapping[int, type[NodenetError]] | None = None) -> NodenetError:
        """Return the error that this answer is; *others*: status codes that mean another one here."""
        kind = {**ERRORS, **(others or {})}.get(self.status)
        if kind is None:
            # A request that is malformed stays so: not ApiAway, which is tried again.
            kind = Forbidden if 400 <= self.status < 500 and self.status not in (408, 429) else ApiAway
        return kind(f"{what}: {self._reason()} (status {self.status})", remedy=REMEDIES.get(kind, ""))

    def _reason(self) -> str:
        try:
            found = json.loads(self.content)
            text = found["message"] if isinstance(found["message"], str) else ""
        except (ValueError, LookupError, TypeError, RecursionError):  # no JSON, or no Status object
            text = self.content[:LONGEST_REASON].decode(errors="replace")
        return " ".join(text.split())[:LONGEST_REASON] or "no reason is given"


def event_error(event: Mapping[str, Any]) -> NodenetError | None:
    """Return the error that an event of a watch reports, None for any other event."""
    if event.get("type") != "ERROR":
        return None
    status = event.get("object")
    status = status if isinstance(status, Mapping) else {}
    code = status.get("code")
    kind = Expired if code == 410 else ApiAway
    return kind(f"The API ends a watch: {str(status.get('message', 'no reason is given'))[:LONGEST_REASON]}")
