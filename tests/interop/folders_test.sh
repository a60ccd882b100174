#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares Hugging Face checkpoints of many families, written with Python's standard library, with the
# logits that transformers computed for them.
if ! command -v python3 >/dev/null; then
	echo "SKIP: folders: no Python"
	exit 77
fi
here=${LMD_TEST_SRCDIR:-.}/tests/interop
exec python3 -B "$here/folders_test.py" "${LMD_TEST_BUILDDIR:-.}/llamactl" "$here"
