#!/bin/sh
# SPDX-License-Identifier: MIT
# The first commands of people from ollama, llama.cpp and vLLM, from the table in
# docs/coming-from.md: each works, or says what to type instead.
for program in python3 curl; do
	command -v $program >/dev/null || {
		echo "SKIP: first commands: no $program"
		exit 77
	}
done
if [ -e /run/llamad/llamad.sock ]; then
	echo "SKIP: the system's daemon would be asked"
	exit 77
fi
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
"$build/tests/mktiny" full 5 "$dir/tiny.gguf" || exit 99
python3 "$src/tests/hub/first_commands_test.py" "$build" "$src" "$dir"
holds "first commands" [ $? -eq 0 ]
finish "first commands"
