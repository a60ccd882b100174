#!/bin/sh
# SPDX-License-Identifier: MIT
# llamad and llamactl, of which calls fail, one in turn or several at random: an error message or a recovery, and
# nothing leaks.  LMD_TEST_LONG=1 lets a call from every site fail, otherwise a sample; LMD_TEST_SEED repeats the
# random runs.
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
set -- "$build" "$preload" "$dir/full.gguf"
sites='' walks=2
if [ -n "${LMD_TEST_LONG:-}" ]; then
	sites='--sites --memory' walks=200
fi
{
	# shellcheck disable=SC2086 # an option or nothing
	python3 "$src/tests/fault/run" "$@" $sites &&
		python3 "$src/tests/fault/run" "$@" --random $walks --seed "${LMD_TEST_SEED:-$$}"
} >"$dir/out" 2>&1
status=$?
holds "run: status $status" [ $status -eq 0 ]
cat "$dir/out"
finish faults
