#!/bin/sh
# SPDX-License-Identifier: MIT
# The checks that bench/peers makes before it measures llama.cpp.  The tests that need its library
# run if LMD_TEST_LLAMA_CPP names its folder or "bench/peers/llama_cpp.py --fetch" has fetched it.
if ! command -v python3 >/dev/null; then
	echo "SKIP: measuring llama.cpp: there is no Python"
	exit 77
fi
exec python3 -B "${LMD_TEST_SRCDIR:-.}/tests/interop/peer_bench_test.py"
