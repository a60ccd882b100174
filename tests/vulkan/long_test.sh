#!/bin/sh
# SPDX-License-Identifier: MIT
# All conformance cases, and a real model alone on lavapipe and with half of its layers on the cpu.
. "${LMD_TEST_SRCDIR:-.}/tests/vulkan/lavapipe.sh"
cases " "
with_layers
model=${XDG_CACHE_HOME:-$HOME/.cache}/llamad/models/SmolLM2-135M-Instruct.Q4_1.gguf
if [ -f "$model" ]; then
	on_device "$model"
	same "$model" "The capital of France is" 8 f32 --device vulkan0
	same "$model" "The capital of France is" 8 f32 --device vulkan0 -ngl 15
	same "$model" "The capital of France is" 8 int8 --device vulkan0
	silent "a real model"
	# the logits, and every value before them, are those of ref; the cpu's logits are 6e-7 away
	unset VK_INSTANCE_LAYERS
	call debug diff "$model" --tokens 504,3575,282,4649,314 --backend vulkan --against ref --activations f32 --nmse 4e-6
	holds "values of a step: $(cat "$dir/err")" test $got -eq 0
	with_layers
	# a weight that is larger than an allocation is refused by its name
	LLAMAD_VULKAN=piece_kb=4000,cache=0
	call run "$model" --raw -n 1 -p hi --device vulkan0
	holds "a large weight is refused: $(cat "$dir/err")" \
		grep -q 'token_embd.weight: [0-9]* bytes in one piece, the device allows at most 4096000' \
		"$dir/err"
	LLAMAD_VULKAN=cache=0
else
	skip "$model is missing (scripts/fetch-model)"
fi
# tiny models of all architectures, whose operations all run on the device
models=$build/tests/parity/models
if [ -x "$build/tests/parity/arch_test" ] && [ -n "${LLAMAD_PARITY_DIR:-}" ]; then
	unset VK_INSTANCE_LAYERS
	# arch_cases NAME,NAME,...: a few in each process, since lavapipe keeps about 400 memory mappings for each
	# model until the process ends, and Linux allows 65530
	arch_cases() {
		LMD_TEST_CASES=$1 LMD_TEST_BACKEND=vulkan CK_RUN_CASE=architectures CK_FORK=no \
			"$build/tests/parity/arch_test" >"$dir/out" 2>&1 && ok ||
			bad "architectures $1: $(tail -n 5 "$dir/out")"
		sed -n 's/^CASES: architectures: \([0-9]*\) passed.*/\1/p' "$dir/out" >>"$dir/compared"
	}
	arch_cases llama-untied # makes the models
	: >"$dir/compared"
	for f in "$models"/*.gguf; do
		# its numbers are those of attention in half precision, which the backend refuses
		[ "${f##*/}" = minimax-m3.gguf ] || basename "$f" .gguf
	done | xargs -n 20 | tr ' ' , >"$dir/names"
	while read -r names; do
		arch_cases "$names"
	done <"$dir/names"
	echo "architectures: $(awk "{ n += \$1 } END { print n }" "$dir/compared") comparisons passed"
	explained=0
	for f in "$models"/*.gguf; do
		[ -f "$f" ] || continue
		ctl explain "$f" --device vulkan0 >"$dir/out" 2>&1 || continue
		explained=$((explained + 1))
		sed -n '/^devices/,/^$/p' "$dir/out" >"$dir/devices"
		if grep -q '^  cpu ' "$dir/devices"; then
			bad "$f has operations on the cpu: $(cat "$dir/devices")"
		else
			ok
		fi
	done
	holds "only $explained architectures, 100 are wanted" [ $explained -ge 100 ]
else
	skip "tests/parity/arch_test is not built, or there is no parity pack"
fi
stop_listening
finish "vulkan, long"
