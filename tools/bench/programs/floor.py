"""What does it cost, without any daemon, to learn that a node file is in force?

Runs on the node: `floor.py DIRECTORY-OF-LIBNMSTATE FILE`. Prints the seconds of each part.
"""

import sys
import time

begun = time.monotonic()
sys.path.append(sys.argv[1])

import libnmstate  # noqa: E402 -- its import is timed

imported = time.monotonic()
state = libnmstate.show()
shown = time.monotonic()
with open(sys.argv[2], encoding="utf-8") as file:  # noqa: PTH123 -- pathlib would be in the floor
    libnmstate.generate_differences(file.read(), state)
compared = time.monotonic()
sys.stdout.write(f'{{"import": {imported - begun}, "show": {shown - imported}, "difference": {compared - shown}}}')
