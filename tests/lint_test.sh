#!/bin/sh
# SPDX-License-Identifier: MIT
# make lint passes on this tree; walls_test.sh plants faults for it to find.
build=${LMD_TEST_BUILDDIR:-.}
src=${LMD_TEST_SRCDIR:-.}
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
passed=0 failed=0 skipped=0

ok() { passed=$((passed + 1)); }
bad() {
	echo "FAIL: $*"
	failed=$((failed + 1))
}

if git -C "$src" rev-parse HEAD >/dev/null 2>&1; then
	unset MAKEFLAGS MFLAGS MAKELEVEL
	if make -s -C "$build" lint >"$dir/out" 2>&1; then ok; else bad "make lint: $(cat "$dir/out")"; fi
else
	echo "SKIP: make lint: needs a git checkout"
	skipped=1
fi
echo "CASES: lint: $passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
