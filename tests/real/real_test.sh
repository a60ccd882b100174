#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares real models with two oracles (LLAMAD_PARITY_DIR/real): logits in one batch and token by
# token, greedy continuations, perplexities.  The models are those cached by scripts/fetch-model;
# missing ones are reported as skipped.  LMD_TEST_LONG=1: all cases.
dir=$LLAMAD_PARITY_DIR/real
if ! command -v python3 >/dev/null; then
	echo "SKIP: real models: no Python"
	exit 77
fi
if [ ! -f "$dir/compare.py" ]; then
	echo "SKIP: real models: no parity pack"
	exit 77
fi
exec python3 "${LMD_TEST_SRCDIR:-.}/tests/real/real_test.py" "$dir"
