#!/bin/sh
# SPDX-License-Identifier: MIT
# Ten operations and one tiny model on lavapipe, with validation layers if there are any.  Most
# of the time goes into compiling, so the short form tells the driver not to optimise, and what makes
# further pipelines is left to the long form.
. "${LMD_TEST_SRCDIR:-.}/tests/vulkan/lavapipe.sh"
long=${LMD_TEST_LONG:-}
if [ -z "$long" ]; then
	GALLIVM_PERF=nopt
	export GALLIVM_PERF
fi
with_layers
for op in "embed " "norm rms" "rope_kv " "glu " "head f32" "ew " "bmm f" "gather " "cast_copy "; do
	cases "$op"
done
for kind in "cache of f" "cache of q8_0" "cache, two" "list of keys" "draft tree"; do
	cases "attn $kind"
done
cases "ffn f32 silu with adapters"
holds "adapters with a gain: $(tail -n 1 "$dir/out")" grep -q "^[1-9].* 0 failed, 0 skipped" "$dir/out"
if [ -n "$long" ]; then
	for op in "norm " "head " "attn " "bmm " "linear iq3_s" "linear iq4_kt" "with adapters"; do
		cases "$op"
	done
	holds "adapters with a gain: $(tail -n 1 "$dir/out")" grep -q ' 0 skipped' "$dir/out"
fi
silent "operations"
# the table has all operations and all types of weights, and nothing is missing
does plugins --matrix --log error
awk '$1 == "OP" || $1 == "WEIGHTS" { for (i = 2; i <= NF; i++) if ($i == "vulkan") at = i; next }
	NF > 2 && $1 !~ /,$/ { n++; if ($at != "native") print $1, $at }
	END { if (n < 60) print n " rows" }' "$dir/out" >"$dir/missing"
holds "the matrix: $(cat "$dir/missing")" [ ! -s "$dir/missing" ]
silent "the matrix"
if [ -x "$build/tests/mktiny" ]; then
	"$build/tests/mktiny" full 5 "$dir/tiny.gguf" || exit 99
	on_device "$dir/tiny.gguf"
	same "$dir/tiny.gguf" "hello there" 8 f32 --device vulkan0
	does debug observe "$dir/tiny.gguf" --tokens 1,2,3 --device vulkan0
	silent "a tiny model"
else
	skip "tests/mktiny is not built"
fi
# groups of devices, which are the same one several times: with memory that all have imported, and with copies;
# without the layers, which wait ten seconds for semaphores that the host has signalled (docs/vulkan.md)
unset VK_INSTANCE_LAYERS
for import in 1 0; do
	LLAMAD_VULKAN=devices=4,import=$import,cache=0
	cases "device collectives"
	holds "collectives, import=$import: $(tail -n 1 "$dir/out")" grep -q '^4 passed' "$dir/out"
done
# a device waits for another one no longer than its bound, by the clock of the case
does plugins test "$so" --all --only "device collectives with a late rank"
holds "a rank that does not come: $(cat "$dir/out")" grep -q 'a late rank; the other one gives up' "$dir/out"
# in two parts, a model gives the same bits on one device and on two
if [ -f "$dir/tiny.gguf" ]; then
	LLAMAD_VULKAN=devices=2,cache=0
	for devices in vulkan0 vulkan0,vulkan1; do
		does debug logits "$dir/tiny.gguf" --tokens 1,2,3,4,5 --device $devices --split tensor:2 \
			--isolation off --out "$dir/parts.$devices"
	done
	holds "two devices change the logits" cmp -s "$dir/parts.vulkan0" "$dir/parts.vulkan0,vulkan1"
fi
[ $layers = no ] || with_layers
# what a driver offers is switched off: the products that GPUs use, without the instruction, and with
# workgroups that share keys; each dispatch is a submission
LLAMAD_VULKAN=split=8,dot=0,cache=0
cases "head q8_0"
LLAMAD_VULKAN=shares=8,work=1,cache=0
cases "heads of 64, eight share"
silent "operations in other ways"

other_ways() {
	LLAMAD_VULKAN=split=8,cache=0
	cases "linear q4_k"
	LLAMAD_VULKAN=split=8,dot=0,cache=0
	cases "linear q6_k"
	LLAMAD_VULKAN=shares=8,cache=0
	cases "attn heads of"
	LLAMAD_VULKAN=tile=1,cache=0
	for type in q8_0 q4_k f16; do
		cases "linear $type"
	done
	LLAMAD_VULKAN=tile=1,dot=0,cache=0
	cases "linear q6_k"
	silent "operations in more ways"
	# addresses are checked in the shaders themselves
	with_layers GPU_ASSISTED
	LLAMAD_VULKAN=cache=0
	cases "cast_copy "
	cases "rope_kv "
	silent "addresses"
	with_layers
}

# Attention counts as work: with 32 million multiply-adds for a submission, a step of 512 rows is divided,
# though its products (20 million) alone are not.
long_prompt() {
	rows=$(yes "$(seq -s , 60)" | head -n 10 | paste -sd ,)
	command -v python3 >/dev/null || { skip "python3 is missing"; return; }
	python3 "$src/bench/make_model" "$dir/long.gguf" --type q8_0 --layers 4 --width 32 --ffn 32 --heads 1 \
		--kv-heads 1 --vocab 300 --ctx 1024 >"$dir/out" 2>&1 || exit 99
	for work in 1 32 1000000; do
		LLAMAD_VULKAN=work=$work,counts=1,cache=0
		call debug logits "$dir/long.gguf" --tokens "$rows" --device vulkan0 --out "$dir/long.$work"
		holds "600 rows, work=$work: $(cat "$dir/err")" test $got -eq 0
		sed -n 's/.* submissions=\([0-9]*\) .*/\1/p' "$dir/err" >"$dir/submissions.$work"
	done
	more=$(($(cat "$dir/submissions.32") - $(cat "$dir/submissions.1000000")))
	holds "attention of 4 layers: $more more submissions, at least 1" test "$more" -ge 1
	holds "divided submissions change the logits" cmp -s "$dir/long.32" "$dir/long.1000000"
	# with 1 million, single products and the attention of single layers are divided
	more=$(($(cat "$dir/submissions.1") - $(cat "$dir/submissions.32")))
	holds "divided operations: $more more submissions, at least 40" test "$more" -ge 40
	holds "divided operations change the logits" cmp -s "$dir/long.1" "$dir/long.32"
	silent "a long prompt"
}

# guesses with branches, whose rows are masked
branches() {
	LLAMAD_VULKAN=cache=0
	LMD_TEST_BACKEND=vulkan CK_RUN_CASE=branches CK_FORK=no "$build/core/engine/draft_tree_test" >"$dir/out" 2>&1 &&
		ok || bad "branches: $(tail -n 5 "$dir/out")"
	grep '^vulkan: ' "$dir/out"
	silent "branches"
}
if [ -n "$long" ]; then
	other_ways
	long_prompt
	branches
fi
# memory that is larger than an allocation is refused
if [ -f "$dir/tiny.gguf" ]; then
	LLAMAD_VULKAN=piece_kb=1,chunk_kb=1,cache=0
	call run "$dir/tiny.gguf" --raw -n 1 -p hello --device vulkan0
	holds "a large piece is refused: $(cat "$dir/err")" \
		grep -q '[0-9] bytes in one piece, the device allows at most 1024' "$dir/err"
fi
# a priority that the driver does not know is refused
LLAMAD_VULKAN=priority=1,cache=0
call plugins test "$so" --only "cast_copy"
holds "priority: $(cat "$dir/err")" grep -q "VK_KHR_global_priority" "$dir/err"
# a device that is lost is reported, and the cases go on with the device opened again
LLAMAD_VULKAN=lost=30,cache=0
call plugins test "$so" --only "cast_copy"
holds "a lost device is named" grep -q "device is lost" "$dir/out" "$dir/err"
holds "the cases go on after the device was lost" grep -q "^[1-9][0-9]* passed" "$dir/out"
# faults of the settings have a name, and copies work without memory that can be mapped
LLAMAD_VULKAN=nonsense
call plugins test "$so" --only "cast_copy"
holds "wrong settings are named" grep -q "no setting 'nonsense'" "$dir/err"
LLAMAD_VULKAN=staging=1,chunk_kb=64,cache=0
cases "embed "
cases "attn cache of f16"
silent "operations with staging"
# the pipeline cache: a file is made, a damaged one is written anew
unset LLAMAD_VULKAN
XDG_CACHE_HOME=$dir/cache
export XDG_CACHE_HOME
mkdir "$XDG_CACHE_HOME"
cases "cast_copy "
set -- "$XDG_CACHE_HOME"/llamad/vulkan-*.bin
holds "there is one pipeline cache" [ $# -eq 1 ] && holds "it is a file" [ -s "$1" ]
echo damaged >"$1"
cases "cast_copy "
holds "a damaged pipeline cache is replaced" [ "$(wc -c <"$1")" -gt 40 ]
rm -r "$XDG_CACHE_HOME/llamad"
LLAMAD_VULKAN=cache=0
export LLAMAD_VULKAN
cases "cast_copy "
holds "no pipeline cache if it is switched off" [ ! -e "$1" ]
silent "the pipeline cache"
stop_listening
finish "vulkan"
