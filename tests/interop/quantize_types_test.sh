#!/bin/sh
# SPDX-License-Identifier: MIT
# The choices of llamactl quantize beside llama.cpp's quantiser.  For make check-long;
# LMD_TEST_LLAMA_CPP: the folder of its libraries, as the npm package @node-llama-cpp/linux-x64 has
# it in bins/linux-x64; LMD_TEST_MODELS: further model files, with blanks between (optional).
if [ ! -d "${LMD_TEST_LLAMA_CPP:-/nonexistent}" ]; then
	echo "SKIP: types beside llama.cpp: LMD_TEST_LLAMA_CPP names no folder of its libraries"
	exit 77
fi
# shellcheck disable=SC2086 # a list
exec python3 -B "${LMD_TEST_SRCDIR:-.}/tests/interop/quantize_types.py" \
	--llamactl "${LMD_TEST_BUILDDIR:-.}/llamactl" --libs "$LMD_TEST_LLAMA_CPP" --quick \
	$LMD_TEST_MODELS
