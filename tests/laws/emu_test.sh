#!/bin/sh
# SPDX-License-Identifier: MIT
# The laws and the engine's tests on the emulated device, which completes at once, late or at random
# times. Sequences share their steps or take turns in two halves. Some of the ways alone; all with LMD_TEST_LONG.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
[ -f "$build/plugins/.libs/backend-emu.so" ] || { echo "SKIP: plugins are linked in"; exit 77; }
LMD_TEST_BACKEND=emu
export LMD_TEST_BACKEND LMD_TEST_HALVES LLAMAD_EMU
engine="core/engine/engine_test core/engine/prefix_test core/engine/constrain_test core/engine/resume_test
	core/engine/load_test"
set -- "never late=1,seed=5" "always late=1" "always late=1,seed=9"
[ -z "${LMD_TEST_LONG:-}" ] ||
	set -- "$@" "never late=0" "always late=0" "always late=1,seed=5"
for mode; do
	LMD_TEST_HALVES=${mode% *} LLAMAD_EMU=${mode#* }
	tests=tests/laws/laws_test
	case $mode in
	"never late=0") tests="$tests $engine" ;;
	*late=1,seed=5) tests="$tests $engine" ;;
	"always late=1") tests="$tests core/engine/step_bound_test" ;; # needs steps that are waited for
	esac
	for t in $tests; do
		[ -x "$build/$t" ] || { skip "$t is not built"; continue; }
		if "$build/$t" >"$dir/out" 2>&1; then
			ok
		else
			bad "$t with $LLAMAD_EMU, halves $LMD_TEST_HALVES: $(tail -n 5 "$dir/out")"
		fi
	done
done
finish "laws on emu"
