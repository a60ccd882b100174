#!/bin/sh
# SPDX-License-Identifier: MIT
# llamactl top: on a terminal, in a pipe and as JSON.
if ! command -v python3 >/dev/null; then
	echo "SKIP: top: no python3"
	exit 77
fi
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"
"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
start
does add full "$dir/full.gguf"
refused 2 '--interval' top --interval 99ms
refused 2 '--interval' top --interval 2h
refused 2 '--count' top --count -1
python3 "$src/client/llamactl/top_test.py" "$build/llamactl" "$url" full
holds "the screen" [ $? -eq 0 ]
ctl shutdown >/dev/null 2>&1 # if the test above did not come so far
ended
finish "llamactl top"
