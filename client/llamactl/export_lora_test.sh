#!/bin/sh
# SPDX-License-Identifier: MIT
# export-lora: a merged adapter has the same effect as at run time.
if ! command -v python3 >/dev/null; then
	echo "SKIP: export-lora: no python3"
	exit 77
fi
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
"$build/tests/mktiny" full 5 "$dir/m.gguf" || exit 99
python3 "$src/client/llamactl/export_lora_test.py" "$build/llamactl" "$dir/m.gguf" "$src" "$dir"
holds "merged adapters" [ $? -eq 0 ]
finish "export-lora"
