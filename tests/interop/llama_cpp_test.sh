#!/bin/sh
# SPDX-License-Identifier: MIT
# Converted files in llama.cpp.  For make check-long; LMD_TEST_LLAMA_CPP: the folder of its libraries,
# as the npm package @node-llama-cpp/linux-x64 has it in bins/linux-x64; LMD_TEST_TOKENIZERS: a folder
# of files NAME.json, each a tokenizer.json (optional).
if [ ! -d "${LMD_TEST_LLAMA_CPP:-/nonexistent}" ]; then
	echo "SKIP: files in llama.cpp: LMD_TEST_LLAMA_CPP names no folder of its libraries"
	exit 77
fi
here=${LMD_TEST_SRCDIR:-.}/tests/interop
exec python3 -B "$here/llama_cpp_test.py" "${LMD_TEST_BUILDDIR:-.}/llamactl" "$LMD_TEST_LLAMA_CPP" \
	"$here" "${LMD_TEST_TOKENIZERS:-/nonexistent}"
