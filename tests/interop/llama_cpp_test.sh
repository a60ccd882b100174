#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks converted files in llama.cpp.  For make check-long; LMD_TEST_LLAMA_CPP: the folder of its
# libraries, bins/linux-x64 of the npm package @node-llama-cpp/linux-x64; LMD_TEST_TOKENIZERS: a folder
# of files NAME.json, each a tokenizer.json (optional).
if [ ! -d "${LMD_TEST_LLAMA_CPP:-/nonexistent}" ]; then
	echo "SKIP: files in llama.cpp: LMD_TEST_LLAMA_CPP does not name a folder"
	exit 77
fi
here=${LMD_TEST_SRCDIR:-.}/tests/interop
exec python3 -B "$here/llama_cpp_test.py" "${LMD_TEST_BUILDDIR:-.}/llamactl" "$LMD_TEST_LLAMA_CPP" \
	"$here" "${LMD_TEST_TOKENIZERS:-/nonexistent}"
