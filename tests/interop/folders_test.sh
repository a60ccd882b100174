#!/bin/sh
# SPDX-License-Identifier: MIT
# Hugging Face folders of many families, made by the standard library of Python, against the logits
# that transformers gave for them.
if ! command -v python3 >/dev/null; then
	echo "SKIP: folders: no Python"
	exit 77
fi
here=${LMD_TEST_SRCDIR:-.}/tests/interop
exec python3 -B "$here/folders_test.py" "${LMD_TEST_BUILDDIR:-.}/llamactl" "$here"
