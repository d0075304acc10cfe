"""How long does a command take as a whole process, and how much of the processor?

Runs on the node: `spawn.py TIMES COMMAND…`. Prints one JSON object a run: `wall` and `cpu` in seconds, `out`, `err`.
"""

import json
import resource
import subprocess
import sys
import time


def spent() -> float:
    """Return the processor time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(command: list[str]) -> dict[str, object]:
    """Run *command* once."""
    before, begun = spent(), time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wall, cpu = time.monotonic() - begun, spent() - before
    return {"wall": wall, "cpu": cpu, "code": done.returncode, "out": done.stdout, "err": done.stderr}


for _ in range(int(sys.argv[1])):
    sys.stdout.write(json.dumps(run(sys.argv[2:])) + "\n")
