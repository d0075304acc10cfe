"""What does the host's network look like now?"""

from __future__ import annotations

from . import _native
from ._call import decoded, native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._call import State


def show(
    *,
    kernel_only: bool = False,
    include_status_data: bool = False,
    include_secrets: bool = False,
) -> State:
    """The whole state; with `kernel_only` NetworkManager is not asked.

    `include_status_data` is accepted for compatibility; it has no effect in nmstate 2.
    """
    del include_status_data
    return decoded(native(_native.retrieve, kernel_only, False, include_secrets))


def show_running_config(include_secrets: bool = False) -> State:
    """The state without what DHCP, router advertisements and LLDP brought."""
    return decoded(native(_native.retrieve, False, True, include_secrets))
