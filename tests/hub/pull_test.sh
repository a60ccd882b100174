#!/bin/sh
# SPDX-License-Identifier: MIT
# llamactl pull and op pull against a stand-in for the servers: sources, digests, tokens, splits,
# what is cut off and continued.
if ! command -v python3 >/dev/null; then
	echo "SKIP: pull: no python3"
	exit 77
fi
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"
"$build/tests/mktiny" full 5 "$dir/tiny.gguf" || exit 99
python3 "$src/tests/hub/pull_test.py" "$build" "$src" "$dir" "$dir/tiny.gguf"
holds "downloads" [ $? -eq 0 ]
finish "pull"
