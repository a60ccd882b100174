#!/bin/sh
# SPDX-License-Identifier: MIT
# llamactl bundle and add FILE: what is written is registered elsewhere, with and without a daemon; damaged
# and hostile bundles leave nothing behind.
if ! command -v python3 >/dev/null; then
	echo "SKIP: bundle: no python3"
	exit 77
fi
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"
"$build/tests/mktiny" full 5 "$dir/tiny.gguf" || exit 99
"$build/tests/mktiny" tower:mlp 0 "$dir/tower.gguf" || exit 99
python3 "$src/tests/hub/bundle_test.py" "$build" "$src" "$dir" "$dir/tiny.gguf"
holds "bundles" [ $? -eq 0 ]
finish "bundle"
