#!/bin/sh
# SPDX-License-Identifier: MIT
# One honest client beside all attackers at once: a few seconds, correctness only.  LMD_TEST_LONG=1: half an hour
# (LMD_TEST_SECONDS) twice, with well-behaved clients in place of the attackers first.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"

if [ -z "$python" ]; then
	skip "Python 3.10 with msgpack is missing"
	finish attack
fi
"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
set -- --seconds 12
if [ -n "${LMD_TEST_LONG:-}" ]; then
	set -- --seconds "${LMD_TEST_SECONDS:-1800}" --compare --seed "${LMD_TEST_SEED:-$$}"
fi
"$python" "$src/tests/attack/run" --build "$build" --model "$dir/full.gguf" "$@" >"$dir/out" 2>&1
status=$?
holds "run: status $status" [ $status -eq 0 ]
cat "$dir/out"
finish attack
