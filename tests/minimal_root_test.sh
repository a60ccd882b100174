#!/bin/sh
# SPDX-License-Identifier: MIT
# Both commands of the README, on a Debian with nothing installed.  In make check-long.
src=${LMD_TEST_SRCDIR:-.}
git -C "$src" rev-parse HEAD >/dev/null 2>&1 || {
	echo "SKIP: minimal_root_test: needs a git checkout"
	exit 77
}
"$src/scripts/minimal-root" "$src" './scripts/demo && ./scripts/check'
status=$?
[ $status -ne 125 ] || {
	echo "SKIP: minimal_root_test: no minimal root can be made here; the lines above say why"
	exit 77
}
exit $status
