#!/bin/sh
# SPDX-License-Identifier: MIT
# Mixed load with cancels, kills and switches of models: 10 seconds, in make check-long 30 minutes or LMD_TEST_SECONDS.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
command -v python3 >/dev/null || {
	echo "SKIP: there is no python3"
	exit 77
}
"$build/tests/mktiny" full 5 "$dir/one.gguf" || exit 99
"$build/tests/mktiny" full 6 "$dir/two.gguf" || exit 99
seconds=10
[ -z "$LMD_TEST_LONG" ] || seconds=${LMD_TEST_SECONDS:-1800}
seed=${LMD_TEST_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
holds "seed $seed" env PYTHONDONTWRITEBYTECODE=1 python3 "$src/tests/http/mixed_load.py" "$build" "$dir" $seconds "$seed"
finish "mixed load over HTTP"
