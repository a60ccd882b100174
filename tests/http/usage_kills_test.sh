#!/bin/sh
# SPDX-License-Identifier: MIT
# The usage of keys, their quotas and the audit log when the daemon is killed; 1000 times in make check-long.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
command -v python3 >/dev/null || {
	echo "SKIP: there is no python3"
	exit 77
}
"$build/tests/mktiny" full 5 "$dir/tiny.gguf" || exit 99
rounds=20
[ -z "$LMD_TEST_LONG" ] || rounds=1000
seed=${LMD_TEST_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
holds "seed $seed" env python3 "$src/tests/http/usage_kills.py" "$build" "$dir" $rounds "$seed"
finish "usage after kills"
