#!/bin/sh
# SPDX-License-Identifier: MIT
# run and generate on a terminal: Ctrl-D, Ctrl-C and the hint that a prompt is being read.
if ! command -v python3 >/dev/null; then
	echo "SKIP: terminal: no python3"
	exit 77
fi
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"
"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
start
does add full "$dir/full.gguf"
python3 "$src/client/llamactl/terminal_test.py" "$build/llamactl" "$url" "$dir/full.gguf"
holds "a terminal" [ $? -eq 0 ]
stop
finish "llamactl on a terminal"
