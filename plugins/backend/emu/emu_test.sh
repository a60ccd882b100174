#!/bin/sh
# SPDX-License-Identifier: MIT
# The conformance cases on the emulated device, in each of its modes: the host must keep the rules
# of llamad/backend.h for memory and completion.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
so=$build/plugins/.libs/backend-emu.so
[ -f "$so" ] || { echo "SKIP: plugins are linked in"; exit 77; }
for mode in late=0 late=1 late=1,seed=7 late=1,buckets=1; do
	LLAMAD_EMU=$mode
	export LLAMAD_EMU
	for op in embed norm rope_kv attn head sample gather conv scan index; do
		does plugins test "$so" --only "$op "
		holds "$op with $mode" grep -q ' 0 failed, 0 skipped' "$dir/out"
	done
done
# A fault of the device is the result of the cases, not the end of the program.
LLAMAD_EMU=lose_step=3
call plugins test "$so" --only "norm "
holds "a lost device is named" grep -q 'lost at step 3' "$dir/out"
LLAMAD_EMU=nonsense
call plugins test "$so" --only "norm "
holds "wrong settings are named" grep -q "no setting 'nonsense'" "$dir/err"
finish "emu"
