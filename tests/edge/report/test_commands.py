"""A command of a report: it is bounded, and never an error."""

from __future__ import annotations

import os
import subprocess
import time

from nodenet.edge.report.sources import Output, _end, output


def shell(script: str, seconds: float = 60.0, most_bytes: int = 1 << 20) -> Output:
    return output(("sh", "-c", script), seconds, most_bytes)


def test_output_and_errors_and_the_exit_status() -> None:
    assert shell("echo out; echo err >&2; exit 3") == Output(b"out\nerr\n", "exit status 3")
    assert shell("echo out") == Output(b"out\n")


def test_a_program_that_is_not_installed() -> None:
    assert output(("no-such-program",), 1, 1) == Output(b"", "no-such-program cannot be run: No such file or directory")


def test_a_command_that_hangs_is_ended_with_its_children() -> None:
    began = time.monotonic()
    found = shell("echo $$; sleep 1000 & echo begun; wait", seconds=1.0)
    assert found.note == "stopped after 1 s"
    assert found.content.endswith(b"\nbegun\n")
    assert time.monotonic() - began < 500
    group = int(found.content.split()[0])
    while True:  # the kernel removes a killed group in its own time
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        assert time.monotonic() - began < 500


def test_a_command_that_closes_its_output_and_hangs_is_ended() -> None:
    assert shell("exec >&- 2>&-; exec sleep 1000", seconds=1.0) == Output(b"", "stopped after 1 s")


def test_a_command_that_cannot_be_ended_is_left() -> None:
    """The report goes on without one that is in an uninterruptible sleep."""

    class Stuck(subprocess.Popen[bytes]):
        def wait(self, timeout: float | None = None) -> int:
            assert timeout is not None, "it would wait for ever"
            raise subprocess.TimeoutExpired(self.args, timeout)

    stuck = Stuck(["true"], stdout=subprocess.PIPE, start_new_session=True)
    assert _end(stuck) == 0
    subprocess.Popen.wait(stuck)


def test_endless_output_is_cut_off() -> None:
    found = output(("cat", "/dev/zero"), 60.0, 4096)
    assert (len(found.content), found.note) == (4096, "cut off after 4 KiB")


def test_a_command_reads_nothing() -> None:
    assert shell("cat") == Output(b"")
