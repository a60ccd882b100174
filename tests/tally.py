# SPDX-License-Identifier: MIT
"""Counts checks and prints the line by which the test scripts are summed up.

Import it with tests/ in sys.path:

    from tally import check, finish

    check("the server answers", status == 200, body)
    finish("server")
"""
import sys

passed = failed = 0


def check(what, good, more=""):
    """Counts one check; prints a failed one with `more`."""
    global passed, failed
    if good:
        passed += 1
        return
    failed += 1
    print(f"FAIL: {what}{': ' if more else ''}{more}")


def finish(title):
    """Prints the counts and exits: with status 1 if a check failed."""
    print(f"CASES: {title}: {passed} passed, {failed} failed, 0 skipped")
    sys.exit(failed != 0)
