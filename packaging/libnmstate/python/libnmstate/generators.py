"""What can be said about a state without touching the host?"""

from __future__ import annotations

from . import _native
from ._call import decoded, encoded, native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._call import Document, State


def generate_differences(new_state: Document, old_state: Document) -> State:
    """What `new_state` asks for that `old_state` has not; no change leaves `interfaces` empty.

    A route without `table-id` differs from the same route in table 254, as `show()` prints it.
    """
    return decoded(native(_native.differences, encoded(new_state), encoded(old_state)))


def generate_configurations(desired_state: Document) -> dict[str, list[list[str]]]:
    """Files to configure a host offline: `{"NetworkManager": [[file name, content], ...]}`."""
    return decoded(native(_native.configurations, encoded(desired_state)))


def gen_net_state_from_policy(policy: Document, cur_state: Document | None = None) -> State:
    """The state that a policy's captures and templates ask for on `cur_state`.

    Without `cur_state` the captures look at the host. Empty when the policy is satisfied already.
    Raises `NmstatePolicyError` when an expression is wrong or finds nothing.
    """
    current = None if cur_state is None else encoded(cur_state)
    return decoded(native(_native.state_from_policy, encoded(policy), current))


def validate(state_or_policy: Document, current_state: Document | None = None) -> None:
    """Parse and check a state or a policy: syntax, keys, values; works offline.

    With `current_state` also everything that `apply()` checks before it changes anything: that
    ports exist, say. Raises what `apply()` would raise, most often `NmstateValueError`.
    """
    current = None if current_state is None else encoded(current_state)
    native(_native.validate, encoded(state_or_policy), current)
