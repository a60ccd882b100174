#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares checkpoints of many families with transformers itself, which creates, saves and runs the
# models.  For make check-long; LMD_TEST_TRANSFORMERS names a Python that has transformers.
python=${LMD_TEST_TRANSFORMERS:-python3}
here=${LMD_TEST_SRCDIR:-.}/tests/interop
if ! "$python" -c 'import torch, transformers' 2>/dev/null; then
	echo "SKIP: logits of transformers: no transformers with torch"
	exit 77
fi
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
"$python" -B "$here/hf_models.py" "$dir" 2>"$dir/log" || { tail -n 5 "$dir/log"; exit 1; }
llamactl=${LMD_TEST_BUILDDIR:-.}/llamactl
"$python" -B "$here/hf_logits.py" "$llamactl" "$dir" || exit 1
if ! "$python" -c 'import peft' 2>/dev/null; then
	echo "SKIP: adapters of PEFT: no peft"
	exit 0
fi
mkdir "$dir/adapters" && "$python" -B "$here/hf_adapters.py" "$dir/adapters" "$llamactl" 2>"$dir/log" ||
	{ tail -n 5 "$dir/log"; exit 1; }
