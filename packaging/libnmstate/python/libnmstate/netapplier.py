"""How is the host's network changed, and the change kept or undone?"""

from __future__ import annotations

from . import _native, error
from ._call import encoded, native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._call import Document


def apply(
    desired_state: Document,
    *,
    kernel_only: bool = False,
    verify_change: bool = True,
    save_to_disk: bool = True,
    commit: bool = True,
    rollback_timeout: int = 60,
    override_iface: bool = False,
) -> str | None:
    """Make the host look like `desired_state`; what the state does not name stays.

    With `commit=False` the change is undone by NetworkManager after `rollback_timeout` seconds
    unless `commit()` comes first; the D-Bus path of the checkpoint is returned, else None.
    Raises a class of `libnmstate.error`; the host is then as before, see `NmstateError`.
    """
    if not 0 <= rollback_timeout < 2**32:
        raise error.NmstateValueError(f"rollback_timeout: {rollback_timeout} is not in 0..2^32-1")
    checkpoint = native(
        _native.apply,
        encoded(desired_state),
        kernel_only,
        verify_change,
        save_to_disk,
        commit,
        rollback_timeout,
        override_iface,
    )
    if commit or kernel_only:
        return None
    if checkpoint is None:
        raise error.NmstateInternalError(
            "applied, but the crate did not name its checkpoint: "
            f"NetworkManager undoes the change after {rollback_timeout} s"
        )
    return checkpoint


def commit(*, checkpoint: str | bytes | None = None) -> None:
    """Keep what was applied under `checkpoint`, by default the newest one of the host.

    Raises `NmstateCheckpointGoneError` when it came too late: the change is undone already.
    """
    native(_native.checkpoint_commit, _path(checkpoint))


def rollback(*, checkpoint: str | bytes | None = None) -> None:
    """Undo what was applied under `checkpoint`, by default the newest one of the host.

    Waits up to 60 s until the devices have settled. Raises `NmstateCheckpointGoneError` when
    it is undone already.
    """
    native(_native.checkpoint_rollback, _path(checkpoint))


def _path(checkpoint: str | bytes | None) -> str:
    if isinstance(checkpoint, bytes):
        return checkpoint.decode()
    return checkpoint or ""
