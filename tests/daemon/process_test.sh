#!/bin/sh
# SPDX-License-Identifier: MIT
# A daemon with little address space or few descriptors, and how it ends after signals.  More of it, and
# the times, with LMD_TEST_LONG=1.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"

if [ -z "$python" ]; then
	skip "Python 3.10 with msgpack is missing"
	finish process
fi
"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
LLAMAD_NULL_STEP_US=2000
export LLAMAD_NULL_STEP_US
"$python" "$src/tests/daemon/process_limits.py" "$build" "$dir" "$dir/full.gguf" >"$dir/out"
status=$?
holds "process_limits.py: status $status" [ $status -eq 0 ]
cat "$dir/out"

# nobody of the same user reads its memory
unset LLAMAD_DUMPABLE
start
if [ -z "${LMD_TEST_SAN:-}" ]; then
	holds "the memory of the daemon belongs to root" \
		[ "$(stat -c %u "/proc/$daemon/mem")" = 0 ]
	if [ "$(id -u)" != 0 ]; then
		holds "the memory of the daemon is readable" [ ! -r "/proc/$daemon/environ" ]
	fi
fi
stop
finish process
