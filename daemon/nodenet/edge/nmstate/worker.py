"""This program runs libnmstate, in a separate process for each transaction.

A libnmstate call cannot be cancelled, may hang with NetworkManager and brings 14 MB of code along; a child
process can be killed, and when it dies NetworkManager reverts an uncommitted change by itself. It reads one JSON
request from each line of stdin, writes one JSON answer in a line to stdout, and exits when stdin is closed. An answer
contains the seconds in which other programs worked for it: NetworkManager, the kernel, Open vSwitch. It also contains
what the library logged, each line once: the library logs a line each time that it reads a document. An apply writes a
line before its answer, with the checkpoint that it has made.

Run as a script: it must not import the daemon.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import importlib.machinery
import io
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

KINDS = {
    # libnmstate.error class → FailureKind; the first class of the exception's ancestry that is listed wins
    "NmstateCheckpointBusyError": "busy",
    "NmstateBackendUnavailableError": "unavailable",
    "NmstatePolicyError": "invalid",
    "NmstateValueError": "invalid",
    "NmstateNotImplementedError": "invalid",
    "NmstateNotSupportedError": "invalid",
    "NmstateKernelIntegerRoundedError": "verification",
    "NmstateVerificationError": "verification",
    "NmstateDependencyError": "dependency",
    "NmstatePermissionError": "permission",
    "NmstateConflictError": "busy",
    "NmstateTimeoutError": "unavailable",
    "NmstatePluginError": "plugin",
    "NodeFileInvalid": "invalid",
    "ModuleNotFoundError": "missing",
    "ImportError": "missing",
}


PASSING = tuple(map(os.strerror, (errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.EINTR)))
"""How an ImportError ends that says something about the machine, and nothing about the library (dlopen(3))."""
LOGGER = "libnmstate"
"""Where nodenet's binding logs, at once; the distributions' logs to the root logger, when the call has ended."""
OF_THE_HOST = ("copy-mac-from", "gc(gen_conf) mode")
"""Words of refusals that libnmstate gives only because no host is looked at (its ``gen_conf``, release 2.2.62)."""
CHECKPOINT_MADE = "Created checkpoint "
ACTIVATION_FAILED = "Got activation failure "
"""How libnmstate logs that NetworkManager refused to activate a profile, before it tries again."""

_answers: TextIO = sys.stdout
"""Where answers go; set by ``main``."""
_seconds: list[float] = []
"""How long other programs worked for the present request."""


def others(call: Callable[..., Any], *words: object, **named: object) -> Any:  # noqa: ANN401  (what *call* returns)
    """Return the result of *call*, in which other programs do the work, and record how long it took."""
    began = time.monotonic()
    try:
        return call(*words, **named)
    finally:
        _seconds.append(time.monotonic() - began)


def kind_of(error: Exception) -> str:
    """Return the failure kind of an exception; an unknown one is `internal`."""
    if isinstance(error, ImportError) and _may_be_imported_later(error):
        return "unloaded"
    return next(
        (KINDS[ancestor.__name__] for ancestor in type(error).__mro__ if ancestor.__name__ in KINDS), "internal"
    )


def _may_be_imported_later(error: ImportError) -> bool:
    """Return whether the module is there, or may be, and only could not be read at the moment."""
    if not isinstance(error, ModuleNotFoundError):
        return str(error).endswith(PASSING)
    if error.name is None:
        return False
    *package, name = error.name.split(".")
    files = {name, *(name + suffix for suffix in importlib.machinery.all_suffixes())}
    for directory in sys.path:
        try:
            found = os.listdir(os.path.join(directory, *package))  # noqa: PTH208, PTH118
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
        except OSError:  # Python takes a directory that it cannot read for an empty one
            return True
        if files.intersection(found):
            return True
    return False


def validate(text: str) -> dict[str, Any]:
    """Judge *text* as libnmstate does before it touches anything; return which libnmstate did.

    The keyfiles are made, and thrown away: what contradicts itself (a port of two bonds, an unknown option of the
    resolver) is found by this step only. libnmstate's own ``NetworkState::validate`` without a state does the same.
    """
    import libnmstate  # noqa: PLC0415

    document = _state_from(text)
    if hasattr(libnmstate, "validate"):
        libnmstate.validate(document)
    else:
        # As the old state it is read whole, and nothing is asked about the links that it names.
        libnmstate.generate_differences({"interfaces": []}, document)
    try:
        libnmstate.generate_configurations(document)
    except Exception as error:
        if kind_of(error) == "invalid" and not any(words in str(error) for words in OF_THE_HOST):
            raise
    strict = bool(getattr(libnmstate, "ACCEPTS_TEXT", False))
    return {"strict": strict, "version": str(getattr(libnmstate, "__version__", ""))}


def show(*, secrets: bool = False) -> dict[str, Any]:
    """Return the present state, its secrets hidden unless they are asked for."""
    import libnmstate  # noqa: PLC0415

    state: dict[str, Any] = others(libnmstate.show, include_secrets=secrets)
    return state


def difference(text: str) -> dict[str, Any]:
    """Return what *text* asks for beyond the state shown, and that state's routes."""
    import libnmstate  # noqa: PLC0415

    # With secrets: hidden ones would differ from the file's in every boot. They end in this pipe.
    state = others(libnmstate.show, include_secrets=True)
    return {
        "difference": libnmstate.generate_differences(_state_from(text), state),
        "routes": state.get("routes", {}),
    }


def compare(text: str, state: dict[str, Any]) -> dict[str, Any]:
    """Return what *text* asks for beyond *state*, which may be any host's."""
    import libnmstate  # noqa: PLC0415

    result: dict[str, Any] = libnmstate.generate_differences(_state_from(text), state)
    return result


def of_policy(text: str, filled: str, state: dict[str, Any]) -> dict[str, Any] | None:
    """Return what the policy *text* asks for beyond *state*; None where *filled* is not the document of the policy."""
    import libnmstate  # noqa: PLC0415

    wanted: dict[str, Any] = libnmstate.gen_net_state_from_policy(_state_from(text), state)
    asked = libnmstate.generate_differences(_state_from(filled), state)
    return wanted if _in_order(wanted) == _in_order(asked) else None


def _in_order(value: Any) -> Any:  # noqa: ANN401  (JSON)
    """Return *value* with every list sorted: libnmstate writes some of them in any order."""
    if isinstance(value, dict):
        return {key: _in_order(each) for key, each in value.items()}
    return sorted(map(_in_order, value), key=json.dumps) if isinstance(value, list) else value


def configurations(text: str) -> dict[str, Any]:
    """Return the files that NetworkManager would read for *text*, and what libnmstate logged about it."""
    import libnmstate  # noqa: PLC0415

    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        files = libnmstate.generate_configurations(_state_from(text)).get("NetworkManager", [])
    return {"files": files, "said": list(dict.fromkeys(said.getvalue().splitlines()))}


def apply(text: str, rollback_timeout: int, permanent: list[str], patched: list[str]) -> str | None:
    """Apply *text* uncommitted and verified; return the checkpoint's path if the binding returns it.

    The checkpoint is also reported as soon as libnmstate logs it. An activation that fails with words of *permanent*
    ends this process with the answer: libnmstate would try it again for two minutes. The checkpoint is left to the
    parent. The bridges *patched* keep patch ports that the document does not name.
    """
    import libnmstate  # noqa: PLC0415

    _listen(permanent)
    state = _with_patch_ports(text, patched) if patched else _state_from(text)
    checkpoint: str | None = others(libnmstate.apply, state, commit=False, rollback_timeout=rollback_timeout)
    return checkpoint


def _listen(permanent: list[str]) -> None:
    """Listen to what libnmstate logs: a checkpoint, and while it applies an activation that can never succeed."""
    import logging  # noqa: PLC0415 - a sixth of the start of this process, and an apply takes seconds

    class Records(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            text = record.getMessage()
            _, made, path = text.partition(CHECKPOINT_MADE)
            if made:
                print(json.dumps({"checkpoint": path.strip()}), file=_answers, flush=True)
            _, failed, why = text.partition(ACTIVATION_FAILED)
            if failed and record.name == LOGGER and any(words in why.lower() for words in permanent):
                reply: dict[str, Any] = {"kind": "plugin", "text": why, "elsewhere": sum(_seconds), "said": []}
                print(json.dumps(reply), file=_answers, flush=True)
                os._exit(0)
            if record.levelno >= logging.WARNING:  # as logging does without a configuration
                sys.stderr.write(f"{text}\n")

    logger = logging.getLogger()
    logger.handlers = [Records()]
    logger.setLevel(logging.INFO)


def commit(checkpoint: str | None) -> None:
    """Make the applied state last."""
    import libnmstate  # noqa: PLC0415

    others(libnmstate.commit, checkpoint=checkpoint)


def _state_from(text: str) -> Any:  # noqa: ANN401  (whatever the binding takes)
    import libnmstate  # noqa: PLC0415

    if getattr(libnmstate, "ACCEPTS_TEXT", False):
        return text
    return _document_from(text)  # the distributions' binding takes a document only


def _document_from(text: str) -> Any:  # noqa: ANN401  (a document of NMState)
    from nodenet.core.node_file.yaml_text import load, plain  # noqa: PLC0415

    return plain(load("the document", text)) or {}


def _with_patch_ports(text: str, bridges: list[str]) -> Any:  # noqa: ANN401  (whatever the binding takes)
    """Return the document of *text* with the order that *bridges* keep the patch ports of other programs."""
    document = _document_from(text)
    for item in document.get("interfaces") or ():
        if item.get("type") == "ovs-bridge" and item.get("name") in bridges and "bridge" in item:
            item["bridge"] = {"allow-extra-patch-ports": True, **(item["bridge"] or {})}
    return _state_from(json.dumps(document))


ORDERS = {
    order.__name__: order for order in (validate, show, difference, compare, of_policy, configurations, apply, commit)
}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Carry one request out: ``{"order": NAME, …arguments}``."""
    order = ORDERS[request.pop("order")]
    _seconds.clear()
    said = io.StringIO()
    try:
        # Logging without a configuration writes there; importing it to do so would be a sixth of this start.
        with contextlib.redirect_stderr(said):
            reply = {"result": order(**request)}
    except Exception as error:  # noqa: BLE001  (whatever it was, the parent decides what it means)
        reply = {"kind": kind_of(error), "text": str(error) or type(error).__name__}
    return {**reply, "elsewhere": sum(_seconds), "said": list(dict.fromkeys(said.getvalue().splitlines()))}


def main() -> None:
    """Serve until stdin ends. The parent's import path is the first argument."""
    sys.path[:] = sys.argv[1].split(os.pathsep)
    global _answers  # noqa: PLW0603 - one a process
    _answers = answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with contextlib.suppress(ImportError):  # reported when it is needed
        importlib.import_module("libnmstate")
    os.dup2(2, 1)  # a library that prints must not garble the answers
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
