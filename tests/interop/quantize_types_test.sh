#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares the tensor types chosen by llamactl quantize with llama.cpp's.  For make check-long;
# LMD_TEST_LLAMA_CPP: the folder of its libraries, bins/linux-x64 of the npm package
# @node-llama-cpp/linux-x64; LMD_TEST_MODELS: more model files, separated by spaces (optional).
if [ ! -d "${LMD_TEST_LLAMA_CPP:-/nonexistent}" ]; then
	echo "SKIP: types beside llama.cpp: LMD_TEST_LLAMA_CPP does not name a folder"
	exit 77
fi
# shellcheck disable=SC2086 # a list
exec python3 -B "${LMD_TEST_SRCDIR:-.}/tests/interop/quantize_types.py" \
	--llamactl "${LMD_TEST_BUILDDIR:-.}/llamactl" --libs "$LMD_TEST_LLAMA_CPP" --quick \
	$LMD_TEST_MODELS
