"""How does the Kubernetes API refuse a request of persistent IPs, and what does it answer to a list?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodenet.core.errors import NodenetError, Unavailable
from nodenet.core.value import frozen


class ApiAway(Unavailable):
    """The API did not answer: it is stopped, slow, or reports an error of its own (429, 5xx).

    Whether a change was made is unknown.
    """


class TooLarge(ApiAway):
    """The answer is longer than the limit: ask for less."""


class Forbidden(NodenetError):
    """The credentials may not do this (401, 403), or the cluster does not have this kind of object (404 of a list)."""

    exit_code = 77


class NotFound(NodenetError):
    """There is no object of this name (404)."""

    exit_code = 69


class Conflict(NodenetError):
    """The object is not as the request expects (409, or 422 for a failed test of a JSON patch): nothing was changed.

    For a create: the name is taken. For a change: another resourceVersion. For a delete: another UID or version.
    """

    exit_code = 75


class Expired(NodenetError):
    """The API server no longer has the events since this resourceVersion (410): list again."""

    exit_code = 75


@frozen
class Page:
    """One page of a list; *following* is the token of the next one, empty for the last."""

    items: tuple[Mapping[str, Any], ...]
    resource_version: str
    following: str = ""
