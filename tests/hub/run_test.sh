#!/bin/sh
# SPDX-License-Identifier: MIT
# llamactl run with a name: of the daemon, of the user's own store, and one that is downloaded after
# asking.
if ! command -v python3 >/dev/null; then
	echo "SKIP: run: no python3"
	exit 77
fi
if [ -e /run/llamad/llamad.sock ]; then
	echo "SKIP: the system's daemon would be asked"
	exit 77
fi
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"
"$build/tests/mktiny" full 5 "$dir/tiny.gguf" || exit 99
python3 "$src/tests/hub/run_test.py" "$build" "$src" "$dir" "$dir/tiny.gguf"
holds "models by name" [ $? -eq 0 ]
finish "run"
