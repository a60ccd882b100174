#!/bin/sh
# SPDX-License-Identifier: MIT
# Races between the threads of a launch, on an emulated GPU whose kernels tell of every access to memory: a selection of
# the conformance cases, all with LMD_TEST_LONG.  Mistakes in barriers and fences are found.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
so=$build/tests/gpu/.libs/backend-cuda.so
[ -f "$so" ] && [ -f "$build/tests/gpu/races/.libs/libcuda.so.1" ] || {
	echo "SKIP: plugins are linked in, or the build has a sanitizer"
	exit 77
}
LD_LIBRARY_PATH=$build/tests/gpu/races/.libs
export LD_LIBRARY_PATH LLAMAD_FAKE_GPU

# no_race CASES: they pass
no_race() {
	does plugins test "$so" --only "$1"
	holds "$LLAMAD_FAKE_GPU, $1: $(tail -n 2 "$dir/err")" grep -q '^[1-9][0-9]* passed, 0 failed, ' "$dir/out"
}
# a_race FAULT CASES: one is found
a_race() {
	LLAMAD_FAKE_GPU=fault=$1
	call plugins test "$so" --only "$2"
	holds "no race without $1: $(cat "$dir/err")" grep -q "a race in .*memory" "$dir/err"
}
a_race barriers "norm "
a_race barriers "linear bf16"
a_race fences "attn "
LLAMAD_FAKE_GPU=
if [ -n "${LMD_TEST_LONG:-}" ]; then
	for device in devices=4 devices=4,warp=64 devices=4,mma=2; do
		LLAMAD_FAKE_GPU=$device
		no_race " "
	done
else
	for case in "norm " "attn cache of q8_0" "moe_ffn q8_0" "linear q4_k" "linear bf16" "sample "; do
		no_race "$case"
	done
fi
finish "races on an emulated GPU"
