"""What does haproxy know of its API servers after a reload? It is written down before each one."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.hosted_services.haproxy import Server, alive, backends, render_states
from nodenet.core.hosted_services.paths import SERVER_STATES
from nodenet.core.messages import Message
from nodenet.hosted.state import State
from nodenet.ports.hosted_services import Balancer, ConfigurationFiles

log = structlog.get_logger()


class ServerStates:
    """haproxy's state file."""

    def __init__(self, state: State, files: ConfigurationFiles, balancer: Balancer) -> None:
        """*balancer* is the haproxy that runs."""
        self._state = state
        self._files = files
        self._balancer = balancer

    async def keep(self) -> None:
        """Write which servers begin as stopped after a reload; none where the haproxy that runs does not answer."""
        before: Mapping[Server, bool] = {}
        try:
            before = alive(await self._balancer.servers())
        except Unavailable as error:
            log.warning(error.cause, message=Message.HOSTED_PROBLEM, cause=error.cause)
        inputs = self._state.known.inputs
        self._write(render_states(backends(inputs), before, inputs.options.api_port))

    def forget(self) -> None:
        """Let a haproxy that starts begin with every server as alive."""
        self._write(render_states((), {}, 0))

    def _write(self, text: str) -> None:
        try:
            self._files.write({SERVER_STATES: text})
        except PublishFailed as error:
            log.warning(error.cause, message=Message.HOSTED_PROBLEM, cause=error.cause, remedy=error.remedy)
