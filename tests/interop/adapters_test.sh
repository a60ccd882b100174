#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares adapters and control vectors with models into which they were merged.
if ! command -v python3 >/dev/null; then
	echo "SKIP: adapters: no Python"
	exit 77
fi
here=${LMD_TEST_SRCDIR:-.}/tests/interop
exec python3 -B "$here/adapters_test.py" "${LMD_TEST_BUILDDIR:-.}/llamactl" "$here"
