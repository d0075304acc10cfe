"""What does the apply of br-ex's document cost without any daemon, and when is the node in reach again?

Runs on the node: `bare_bridge.py DIRECTORY-OF-LIBNMSTATE FILE SECONDS`. Applies FILE uncommitted, prints when that
began and ended (CLOCK_REALTIME), and after SECONDS makes the network again what it was.
"""

import json
import sys
import time

sys.path.append(sys.argv[1])

import libnmstate

with open(sys.argv[2], encoding="utf-8") as file:  # noqa: PTH123 -- as floor.py does
    text = file.read()
begun = time.time()
libnmstate.apply(text, commit=False)
ended = time.time()
time.sleep(float(sys.argv[3]))
libnmstate.rollback()
sys.stdout.write(json.dumps({"begun": begun, "ended": ended}))
