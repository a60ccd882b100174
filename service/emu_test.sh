#!/bin/sh
# SPDX-License-Identifier: MIT
# The tests of the service on the emulated device, which completes at once or late: the answers are those
# of ref.  LMD_TEST_LONG=1: also the random walks, in both modes.
#
# Not here: models_test, ops_test and logprobs_test, whose cases are about settings of the null backend, its
# tokens or its plugin; tests that use no model.  A few cases of the others are registered only on the null
# backend, since they compare with its tokens (fx_on_null).
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
[ -f "$build/plugins/.libs/backend-emu.so" ] || { echo "SKIP: plugins are linked in"; exit 77; }
LMD_TEST_BACKEND=emu
export LMD_TEST_BACKEND LLAMAD_EMU
all="bounds embed group infill left preset push quota rerank service stream threads user work_time"
some="bounds service stream threads user"
[ -z "${LMD_TEST_LONG:-}" ] || some="$all walk"
for mode in late=0 late=1,seed=5; do
	LLAMAD_EMU=$mode
	tests=$some
	[ "$mode" = late=0 ] || [ -n "${LMD_TEST_LONG:-}" ] || tests=$all
	for t in $tests; do
		t=service/${t}_test
		[ -x "$build/$t" ] || { skip "$t is not built"; continue; }
		if "$build/$t" >"$dir/out" 2>&1; then
			ok
		else
			bad "$t with $mode: $(tail -n 5 "$dir/out")"
		fi
	done
done
finish "service on emu"
