"""Why does systemd skip nodenetd? It does not start then, and there is nothing to wait for."""

from __future__ import annotations

import re
from enum import StrEnum

PROPERTIES = "LoadState,ActiveState,Job,Result,ExecCondition,ConditionResult,ConditionTimestampMonotonic"
"""What ``systemctl show`` is asked for."""
_ANSWER = re.compile(r"former-chain.* status=(\d+) }$")
"""How our own condition ended: 0, or 3 where the former chain is in charge. Any other code is that of a failure."""


class Skip(StrEnum):
    """Why systemd skips nodenetd, for people."""

    FORMER_CHAIN = "the former chain of units configures this node"
    COMMAND = "a command of ExecCondition= in its unit says so"
    CONDITION = "a condition of its unit is not met"
    MASKED = "its unit is masked"

    @property
    def remedy(self) -> str:
        """What an administrator does about it."""
        if self is Skip.FORMER_CHAIN:
            return "Run `nodenetctl adopt` to let nodenetd do that"
        if self is Skip.MASKED:  # the mask is in /etc or in /run, and nothing else starts nodenetd in this boot
            return "Run `systemctl unmask nodenetd; systemctl unmask --runtime nodenetd; systemctl start nodenetd`"
        return "Run `systemctl status nodenetd`"


def why_skipped(shown: str) -> Skip | None:
    """Return why by what ``systemctl show`` prints of nodenetd.service, None where it starts, runs or has run.

    systemd takes a condition that could not be run for one that is not met (systemd.service(5), ``ExecCondition=``).
    The gate starts nodenetd again then.
    """
    pairs = [line.split("=", 1) for line in shown.splitlines() if "=" in line]
    values = dict(pairs)
    if values.get("Result") == "exec-condition":
        found = (_ANSWER.search(text) for name, text in pairs if name == "ExecCondition")
        answer = next((match[1] for match in found if match), "0")
        return {"0": Skip.COMMAND, "3": Skip.FORMER_CHAIN}.get(answer)
    if values.get("LoadState") == "masked":
        return Skip.MASKED
    looked = values.get("ConditionTimestampMonotonic", "0") != "0" and values.get("Job", "0") in ("", "0")
    unmet = values.get("ConditionResult") == "no" and values.get("ActiveState") == "inactive"
    return Skip.CONDITION if looked and unmet else None
