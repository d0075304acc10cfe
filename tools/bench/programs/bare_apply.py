"""What does the apply of a node file cost, without any daemon?

Runs on the node: `bare_apply.py DIRECTORY-OF-LIBNMSTATE FILE`. Prints the seconds of the call.
"""

import sys
import time

sys.path.append(sys.argv[1])

import libnmstate

with open(sys.argv[2], encoding="utf-8") as file:  # noqa: PTH123 -- as floor.py does
    text = file.read()
begun = time.monotonic()
libnmstate.apply(text)
sys.stdout.write(f'{{"apply": {time.monotonic() - begun}}}')
