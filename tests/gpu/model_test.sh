#!/bin/sh
# SPDX-License-Identifier: MIT
# Tiny models on backend-cuda with an emulated device: every value of a step is that of ref, and a
# generation gives the same text.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
plugins=$build/tests/gpu/.libs
[ -f "$plugins/backend-cuda.so" ] || { echo "SKIP: plugins are linked in"; exit 77; }
LD_LIBRARY_PATH=$build/tests/gpu/driver/.libs
export LD_LIBRARY_PATH
for kind in full window state hybrid sandwich; do
	"$build/tests/mktiny" $kind 5 "$dir/$kind.gguf" || exit 99
	call debug diff "$dir/$kind.gguf" --tokens 1,7,3,9,11,2,5 --backend cuda --against ref \
		--activations f32 --plugin-dir "$plugins"
	holds "$kind: values of a step: $(cat "$dir/err")" test $got -eq 0
done
# Prompts of more rows than a block of the matrix kernels takes, with heads of 128 and 32 columns.
for type in f16 bf16 q8_0; do
	command -v python3 >/dev/null || continue
	case $type in
	q8_0) heads=4 kv=q8_0 flash=64_any nmse=1e-3 ;; # activations close to a half round to either side
	*) heads=1 kv=$type flash=128_$type nmse=1e-6 ;;
	esac
	python3 "$src/bench/make_model" "$dir/$type.gguf" --type $type --layers 1 --width 128 --ffn 96 \
		--heads $heads --kv-heads 1 --vocab 300 >"$dir/out" 2>&1 || exit 99
	LLAMAD_FAKE_GPU=count=$dir/count-$type
	export LLAMAD_FAKE_GPU
	call debug diff "$dir/$type.gguf" --tokens "$(seq -s , 70)" --backend cuda --against ref --nmse $nmse \
		--kv-type $kv --plugin-dir "$plugins"
	holds "$type: values of 70 rows: $(cat "$dir/err")" test $got -eq 0
	for kernel in tile_$type flash_$flash; do
		holds "$type: kernel $kernel has run" grep -q "^ *[1-9][0-9]* gpu_$kernel\$" "$dir/count-$type"
	done
	[ $type != q8_0 ] || continue
	# instructions of warp groups, which no device chooses by itself: the same sums in the same order
	LLAMAD_GPU=wgmma=1 LLAMAD_FAKE_GPU=count=$dir/count-wgmma
	export LLAMAD_GPU
	call debug diff "$dir/$type.gguf" --tokens "$(seq -s , 70)" --backend cuda --against ref --nmse $nmse \
		--kv-type $kv --plugin-dir "$plugins"
	holds "$type: values of 70 rows, warp groups: $(cat "$dir/err")" test $got -eq 0
	holds "$type: warp groups have multiplied" grep -q "^ *[1-9][0-9]* gpu_wgmma_$type\$" "$dir/count-wgmma"
	unset LLAMAD_GPU
done
# Launches of a layer for one row: what a second layer adds.
launches() {
	python3 "$src/bench/make_model" "$dir/layers.gguf" --type q8_0 --layers "$1" --width 64 --ffn 96 \
		--heads 2 --kv-heads 1 --vocab 300 >"$dir/out" 2>&1 || exit 99
	LLAMAD_FAKE_GPU=count=$dir/launches-$1
	export LLAMAD_FAKE_GPU
	does debug diff "$dir/layers.gguf" --tokens 5 --backend cuda --against ref --nmse 1e-3 --plugin-dir "$plugins"
	awk '{ n += $1 } END { print n }' "$dir/launches-$1"
}
if command -v python3 >/dev/null; then
	layer=$(($(launches 2) - $(launches 1)))
	echo "$layer launches for a layer"
	holds "$layer launches for a layer, at most 6" test "$layer" -le 6
fi
LLAMAD_FAKE_GPU=
for backend in ref cuda; do
	call run "$dir/full.gguf" --raw -n 12 --temp 0 -p "A B" --backend $backend --activations f32 \
		--plugin-dir "$plugins"
	holds "a generation on $backend: $(cat "$dir/err")" test $got -eq 0
	cp "$dir/out" "$dir/$backend.txt"
done
holds "$(cat "$dir/cuda.txt") instead of $(cat "$dir/ref.txt")" cmp -s "$dir/ref.txt" "$dir/cuda.txt"
# The device chooses tokens, which the next steps read there, unless guesses need the logits.
for seed in 5 6 7; do
	for backend in ref cuda; do
		LLAMAD_FAKE_GPU=count=$dir/count-sample
		export LLAMAD_FAKE_GPU
		call run "$dir/full.gguf" --raw -n 12 --seed $seed --chain '["top_k","top_p","temp","dist"]' \
			-p "A B" --draft-max 0 --backend $backend --activations f32 --kv-type f32 \
			--isolation off --plugin-dir "$plugins" # in a worker the host would choose
		holds "seed $seed on $backend: $(cat "$dir/err")" test $got -eq 0
		cp "$dir/out" "$dir/$backend.txt"
	done
	holds "seed $seed: $(cat "$dir/cuda.txt") instead of $(cat "$dir/ref.txt")" \
		cmp -s "$dir/ref.txt" "$dir/cuda.txt"
	holds "seed $seed: the device chose tokens" grep -q '^ *[1-9][0-9]* gpu_sample$' "$dir/count-sample"
	rm -f "$dir/count-sample"
done
LLAMAD_FAKE_GPU=
# Launches one by one, and as graphs once a number of rows comes again.
for graphs in 0 1; do
	LLAMAD_FAKE_GPU=graphs=$graphs
	export LLAMAD_FAKE_GPU
	call run "$dir/full.gguf" --raw -n 12 --temp 0 -p "A B" --backend cuda --plugin-dir "$plugins"
	holds "a generation, graphs=$graphs: $(cat "$dir/err")" test $got -eq 0
	cp "$dir/out" "$dir/graphs$graphs.txt"
done
holds "graphs change the text" cmp -s "$dir/graphs0.txt" "$dir/graphs1.txt"
# guesses with branches, whose rows are masked
LMD_TEST_BACKEND=cuda LMD_TEST_PLUGIN_DIR=$plugins CK_RUN_CASE=branches CK_FORK=no \
	"$build/core/engine/draft_tree_test" >"$dir/out" 2>&1 && ok || bad "branches: $(tail -n 5 "$dir/out")"
grep '^cuda: ' "$dir/out"
finish "models on an emulated GPU"
