#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares folders with quantised weights with folders of the dequantised numbers.
if ! command -v python3 >/dev/null; then
	echo "SKIP: quantised folders: no Python"
	exit 77
fi
here=${LMD_TEST_SRCDIR:-.}/tests/interop
exec python3 -B "$here/quantised_test.py" "${LMD_TEST_BUILDDIR:-.}/llamactl" "$here"
