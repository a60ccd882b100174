#!/bin/sh
# SPDX-License-Identifier: MIT
# llamactl push against a stand-in for registries: what is sent and what is not, logins, what is cut off
# and continued; what was pushed is pulled again.
if ! command -v python3 >/dev/null; then
	echo "SKIP: push: no python3"
	exit 77
fi
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"
"$build/tests/mktiny" full 5 "$dir/tiny.gguf" || exit 99
"$build/tests/mktiny" tower:mlp 0 "$dir/tower.gguf" || exit 99
python3 "$src/tests/hub/push_test.py" "$build" "$src" "$dir" "$dir/tiny.gguf"
holds "uploads" [ $? -eq 0 ]
finish "push"
