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
LLAMAD_EMU=late=1,lose_step=3
call plugins test "$so" --only "attn cross" --all
holds "a lost device is closed and opened again" \
	grep -q '^ok  *device *calls after a loss' "$dir/out"
holds "what follows runs: $(tail -n 1 "$dir/out")" grep -q '^ok  *attn' "$dir/out"
LLAMAD_EMU=late=1,lose_step=3,fault=18
call plugins test "$so" --only "attn cross"
holds "fault 18 is found by 'calls after a loss'" \
	grep -q '^FAIL device *calls after a loss.*a device that was lost answers' "$dir/out"
LLAMAD_EMU=nonsense
call plugins test "$so" --only "norm "
holds "wrong settings are named" grep -q "no setting 'nonsense'" "$dir/err"
# Each mistake of a driver is found by the case that is about it, and without a fault every case passes.
LLAMAD_EMU=late=1,devices=4
does plugins test "$so" --only "device "
holds "a device without faults" grep -q '^[1-9][0-9]* passed, 0 failed, 0 skipped' "$dir/out"
LLAMAD_EMU=late=1
does plugins test "$so" --only "device "
holds "what one device cannot do is skipped" \
	grep -q '^skip device *ops on the second device.*: the backend has one device' "$dir/out"
fault=0
while read -r case; do
	fault=$((fault + 1))
	[ "$case" = "-" ] && continue
	LLAMAD_EMU=late=1,devices=2,fault=$fault
	call plugins test "$so" --only "${case%%;*}"
	holds "fault $fault is found by '$case'" grep -q "^FAIL ${case%% *} *${case#* }" "$dir/out"
done <<'EOF'
device events fire after their work
device queues wait for events
device events answer
device copies at offsets
device mapped buffers
device copy of a page
device rows of a page
device copy of a slot
device zeros of a slot
attn cross
attn long context, two key heads
attn a cancelled step, then the step
device waits that time out
device ops on the second device
device beside another device
device copies between devices
attn a block in segments
-
device collectives of 2 ranks
device collectives of 2 ranks
device collectives with a cancelled rank
-
linear f32, K 24; 1 row
EOF
# Groups, in each mode.
for mode in late=0 late=1 late=1,seed=7 late=1,buckets=1; do
	LLAMAD_EMU=$mode,devices=4
	does plugins test "$so" --only "device collectives"
	holds "groups with $mode" grep -q '^4 passed, 0 failed, 0 skipped' "$dir/out"
done
LLAMAD_EMU=devices=4,group=0
does plugins test "$so" --only "device collectives"
holds "devices without groups" grep -q '^0 passed, 0 failed, 4 skipped' "$dir/out"
finish "emu"
