# SPDX-License-Identifier: MIT
"""What the tests do with tests/hub/hub.py, the stand-in for the hubs, and with the files beside it.

Import it with tests/hub in sys.path."""
import json
import os
import sys
import time

PATIENCE = 120  # seconds; nothing waits so long unless it hangs


def read(path):
    with open(path, "rb") as f:
        return f.read()


def wait_until(done, what):
    """Waits until done() is true; ends the test if that takes too long."""
    end = time.monotonic() + PATIENCE
    while not done():
        if time.monotonic() > end:
            sys.exit(f"FAIL: {what}")
        time.sleep(0.05)  # asks again; nothing depends on its length


def wait_for(path):
    """Waits until there is such a file."""
    wait_until(lambda: os.path.exists(path), f"{path} does not appear")


class StandIn:
    """The hub whose files are in the folder `root`."""

    def __init__(self, root):
        self.root = root

    def faults(self, **more):
        """What the hub does wrong from now on, as hub.py describes it; nothing without arguments."""
        with open(f"{self.root}/faults.new", "w") as f:
            json.dump(more, f)
        os.rename(f"{self.root}/faults.new", f"{self.root}/faults.json")

    def log(self):
        """The requests since the last call."""
        try:
            with open(f"{self.root}/log") as f:
                lines = f.read().splitlines()
            os.remove(f"{self.root}/log")
            return lines
        except FileNotFoundError:
            return []
