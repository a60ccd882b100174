#!/bin/sh
# SPDX-License-Identifier: MIT
# Durable streams over HTTP when the daemon is killed or stopped; in make check-long 500 times, or LMD_TEST_KILLS
# times, during 16 streams.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
command -v python3 >/dev/null || {
	echo "SKIP: there is no python3"
	exit 77
}
"$build/tests/mktiny" full 5 "$dir/tiny.gguf" || exit 99
kills=4 streams=1
[ -z "$LMD_TEST_LONG" ] || kills=${LMD_TEST_KILLS:-500} streams=4
seed=${LMD_TEST_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
holds "seed $seed" env PYTHONDONTWRITEBYTECODE=1 python3 "$src/tests/http/durable_kills.py" "$build" "$dir" $kills $streams "$seed"
finish "durable streams over HTTP"
