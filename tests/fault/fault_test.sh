#!/bin/sh
# SPDX-License-Identifier: MIT
# llamad and llamactl, of which one call fails in turn: an error message or a recovery, and nothing leaks.
# LMD_TEST_LONG=1 lets every call fail, otherwise a sample.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"

preload=$build/tests/fault/.libs/preload.so
if [ -n "${LMD_TEST_SAN:-}" ]; then
	skip "a sanitizer has its own allocator"
	finish faults
elif [ ! -f "$preload" ]; then
	skip "preload.so is missing (check programs are not built)"
	finish faults
fi
"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
# shellcheck disable=SC2046 # an option or nothing
python3 "$src/tests/fault/run" "$build" "$preload" "$dir/full.gguf" \
	$([ -z "${LMD_TEST_LONG:-}" ] || echo --all) >"$dir/out" 2>&1
status=$?
holds "run: status $status" [ $status -eq 0 ]
cat "$dir/out"
finish faults
