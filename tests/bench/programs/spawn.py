"""How long does a command take as a whole process, and how much of the processor?

Runs on the node: `spawn.py TIMES COMMAND…`. Prints one JSON object a run: `wall` and `cpu` in seconds, `out`, `err`.
"""

import json
import os
import subprocess
import sys
import time


def run(command: list[str]) -> dict[str, object]:
    """Run *command* once."""
    begun = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        out, err = process.stdout.read(), process.stderr.read()  # type: ignore[union-attr]  # both are pipes
        _, status, used = os.wait4(process.pid, 0)
        wall = time.monotonic() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
    cpu = used.ru_utime + used.ru_stime
    return {"wall": wall, "cpu": cpu, "code": process.returncode, "out": out, "err": err}


for _ in range(int(sys.argv[1])):
    sys.stdout.write(json.dumps(run(sys.argv[2:])) + "\n")
