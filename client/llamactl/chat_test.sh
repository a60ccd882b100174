#!/bin/sh
# SPDX-License-Identifier: MIT
# llamactl chat on a terminal: editing, history, commands, markdown, reasoning and tool calls.
if ! command -v python3 >/dev/null; then
	echo "SKIP: chat: no python3"
	exit 77
fi
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
"$build/tests/mktiny" tower:mlp 0 "$dir/tower.gguf" || exit 99
edit=no
grep -q '^EDIT_LIBS = .*-ledit' "$build/Makefile" && edit=yes
python3 "$src/client/llamactl/chat_test.py" "$build/llamactl" "$src" "$dir" "$edit"
holds "conversations" [ $? -eq 0 ]
finish "chat"
