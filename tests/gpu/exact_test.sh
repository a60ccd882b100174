#!/bin/sh
# SPDX-License-Identifier: MIT
# deterministic = exact (docs/exact.md): all logits of the emulated device have the bits of backend cpu.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
plugins=$build/tests/gpu/.libs
[ -f "$plugins/backend-cuda.so" ] || { echo "SKIP: plugins are linked in"; exit 77; }
command -v python3 >/dev/null || { echo "SKIP: no python3"; exit 77; }
LD_LIBRARY_PATH=$build/tests/gpu/driver/.libs
export LD_LIBRARY_PATH LLAMAD_FAKE_GPU

# model TYPE WIDTH FFN HEADS: $dir/TYPE.gguf
model() {
	python3 "$src/bench/make_model" "$dir/$1.gguf" --type "$1" --layers 2 --width "$2" --ffn "$3" \
		--heads "$4" --kv-heads 1 --vocab 300 --ctx 512 >"$dir/out" 2>&1 || exit 99
}

# logits BACKEND FILE N OPTION...: those of N tokens, in $dir/BACKEND.bin; a worker, which is killed,
# would count no kernels
logits() {
	backend=$1 file=$2 n=$3
	shift 3
	call debug logits "$dir/$file" --tokens "$(seq -s , "$n")" --backend "$backend" \
		--isolation off --plugin-dir "$plugins" --deterministic exact --out "$dir/$backend.bin" "$@"
	holds "$file on $backend, $*: $(cat "$dir/err")" test $got -eq 0
}

# equal FILE N OPTION...: on both backends
equal() {
	logits cpu "$@"
	logits cuda "$@"
	holds "$*: the bits of the logits differ" cmp -s "$dir/cpu.bin" "$dir/cuda.bin"
}

LLAMAD_FAKE_GPU=
model q8_0 96 96 3
for cache in f32 f16 bf16; do
	equal q8_0.gguf 20 --kv-type $cache
done
for type in q4_0 iq4_nl mxfp4; do
	model $type 64 96 2
	equal $type.gguf 11
done
for type in q4_k q5_k q6_k iq4_xs; do
	model $type 256 256 4
	equal $type.gguf 11
done
# more keys than a chunk; rows one by one have the same bits as together, on both
equal q4_0.gguf 20 --all
equal q4_0.gguf 150
cp "$dir/cpu.bin" "$dir/together.bin"
equal q4_0.gguf 150 --threads 2 --one-by-one
holds "rows one by one differ from rows together" cmp -s "$dir/cpu.bin" "$dir/together.bin"
# whatever the device is like
for device in warp=64 order=shuffled mma=0; do
	LLAMAD_FAKE_GPU=$device,count=$dir/count
	equal q8_0.gguf 20
done
for kernel in norm rope_kv glu attn q8_0; do
	holds "kernel exact_$kernel has run" grep -q "^ *[1-9][0-9]* gpu_exact_$kernel\$" "$dir/count"
done
holds "products of the other arithmetic: $(grep '^ *[1-9].*gpu_\(fast\|tile\|linear\|split\|flash\)_' "$dir/count")" \
	[ "$(grep -c '^ *[1-9].*gpu_\(fast\|tile\|linear\|split\|flash\)_' "$dir/count")" = 0 ]
LLAMAD_FAKE_GPU=
# the default is another arithmetic: a test that cannot tell them apart shows nothing
call debug logits "$dir/q8_0.gguf" --tokens "$(seq -s , 20)" --backend cuda --plugin-dir "$plugins" \
	--out "$dir/default.bin"
if cmp -s "$dir/default.bin" "$dir/cuda.bin"; then bad "exact and default logits are the same"; else ok; fi

# What it does not have is refused by name.
model f16 64 96 2
model q3_k 256 256 4
for backend in cpu cuda; do
	refused 1 "$backend: deterministic = exact does not compute products with the type of tensor blk.0" \
		run "$dir/f16.gguf" --raw -n 1 -p A --deterministic exact --backend $backend --plugin-dir "$plugins"
	refused 1 "$backend: deterministic = exact needs activations = int8, not f32" \
		run "$dir/q8_0.gguf" --raw -n 1 -p A --deterministic exact --activations f32 --backend $backend \
		--plugin-dir "$plugins"
	refused 1 "$backend: deterministic = exact does not compute a KV cache" \
		run "$dir/q8_0.gguf" --raw -n 1 -p A --deterministic exact --kv-type q8_0 --backend $backend \
		--plugin-dir "$plugins"
done
refused 1 "cuda: deterministic = exact does not compute rows with the type of tensor token_embd.weight" \
	run "$dir/q3_k.gguf" --raw -n 1 -p A --deterministic exact --backend cuda --plugin-dir "$plugins"
refused 1 "ref: deterministic = exact is not available; use backend cpu, cuda or hip" \
	run "$dir/q8_0.gguf" --raw -n 1 -p A --deterministic exact --backend ref
# a generation: the same text
for backend in cpu cuda; do
	call run "$dir/q8_0.gguf" --raw -n 8 --seed 5 -p "A B" --deterministic exact --backend $backend \
		--plugin-dir "$plugins"
	holds "a generation on $backend: $(cat "$dir/err")" test $got -eq 0
	cp "$dir/out" "$dir/$backend.txt"
done
holds "$(cat "$dir/cuda.txt") instead of $(cat "$dir/cpu.txt")" cmp -s "$dir/cpu.txt" "$dir/cuda.txt"
finish "exact arithmetic on an emulated GPU"
