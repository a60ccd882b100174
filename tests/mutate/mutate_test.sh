#!/bin/sh
# SPDX-License-Identifier: MIT
# Each change in the list is noticed by a test.  It takes an hour, so it runs only with LMD_TEST_LONG=1.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"

if [ -z "${LMD_TEST_LONG:-}" ] || [ -n "${LMD_TEST_LEFT_OUT:-}" ]; then
	skip "LMD_TEST_LONG=1 and the Check library"
	finish mutations
fi
python3 "$src/tests/mutate/run" --dir "$build/mutate" >"$dir/out" 2>&1
status=$?
holds "run: status $status" [ $status -eq 0 ]
cat "$dir/out"
finish mutations
