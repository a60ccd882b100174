#!/bin/sh
# SPDX-License-Identifier: MIT
# deterministic = batch: the bits of a sequence's logits are the same alone, beside other sequences, all rows in one
# step, and row by row, on the emulated devices as on cpu and ref; with LMD_TEST_LONG on more devices, with more models and
# rows.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
plugins=$build/tests/gpu/.libs
[ -f "$plugins/backend-cuda.so" ] || { echo "SKIP: plugins are linked in"; exit 77; }
command -v python3 >/dev/null || { echo "SKIP: no python3"; exit 77; }
LD_LIBRARY_PATH=$build/tests/gpu/driver/.libs
export LD_LIBRARY_PATH LLAMAD_FAKE_GPU

# logits OUT FILE OPTION...: a worker, which is killed, would count no kernels
logits() {
	out=$1 file=$2
	shift 2
	call debug logits "$dir/$file" --isolation off --plugin-dir "$plugins" --out "$dir/$out" "$@"
	holds "$file, $*: $(cat "$dir/err")" test $got -eq 0
}

# invariant FILE BACKEND N OPTION...: a sequence of N tokens, and another one
invariant() {
	file=$1 backend=$2 n=$3
	shift 3
	first=$(seq -s , "$n") second=$(seq -s , 13 -1 7)
	: >"$dir/alone"
	for sequence in "$first" "$second"; do
		logits part "$file" --tokens "$sequence" --backend "$backend" --deterministic batch "$@"
		cat "$dir/part" >>"$dir/alone"
	done
	logits together "$file" --tokens "$first" --tokens "$second" --backend "$backend" --deterministic batch "$@"
	holds "$file on $backend, $LLAMAD_FAKE_GPU $*: beside others the bits differ" cmp -s "$dir/alone" "$dir/together"
	logits rows "$file" --tokens "$first" --tokens "$second" --one-by-one --backend "$backend" --deterministic batch "$@"
	holds "$file on $backend, $LLAMAD_FAKE_GPU $*: row by row the bits differ" cmp -s "$dir/alone" "$dir/rows"
}

# model TYPE WIDTH FFN HEADS: $dir/TYPE.gguf
model() {
	python3 "$src/bench/make_model" "$dir/$1.gguf" --type "$1" --layers 1 --width "$2" --ffn "$3" \
		--heads "$4" --kv-heads 1 --vocab 300 --ctx 512 >"$dir/out" 2>&1 || exit 99
}

LLAMAD_FAKE_GPU=
model q4_k 256 256 2
model f16 64 96 2
model q4_0 64 96 2
for kind in full window state hybrid sandwich; do
	"$build/tests/mktiny" $kind 5 "$dir/$kind.gguf" || exit 99
done
# a window of more keys than threads of a block have the same columns, so that the first key matters: 20 instead of 8
python3 - "$dir/window.gguf" <<'END' || exit 99
import struct, sys
name = b"sliding_window" + struct.pack("<I", 4)
data = open(sys.argv[1], "rb").read()
assert data.count(name + struct.pack("<I", 8)) == 1
open(sys.argv[1], "wb").write(data.replace(name + struct.pack("<I", 8), name + struct.pack("<I", 20)))
END
# more rows than the kernels for few rows take
LLAMAD_FAKE_GPU=count=$dir/count
invariant f16.gguf cuda 17
invariant window.gguf cuda 29
LLAMAD_FAKE_GPU=warp=64,order=shuffled,count=$dir/count
invariant q4_0.gguf cuda 17
if [ -n "${LMD_TEST_LONG:-}" ]; then
	model q3_k 256 256 2
	for device in warp=32 warp=64 warp=32,mma=2; do
		LLAMAD_FAKE_GPU=$device,order=shuffled,count=$dir/count
		invariant q4_k.gguf cuda 70
		invariant f16.gguf cuda 33
	done
	LLAMAD_FAKE_GPU=count=$dir/count
	invariant q3_k.gguf cuda 20
	invariant f16.gguf cuda 270 --kv-type q8_0 # more keys than a chunk
	for kind in full window state hybrid sandwich; do
		invariant $kind.gguf cuda 40
	done
fi
holds "kernels for many rows: $(grep '^ *[1-9].*gpu_\(tile\|mfma\|wmma\|flash\)_' "$dir/count")" \
	[ "$(grep -c '^ *[1-9].*gpu_\(tile\|mfma\|wmma\|flash\)_' "$dir/count")" = 0 ]
LLAMAD_FAKE_GPU=
# these compute each row alone in any case
for backend in cpu ref; do
	invariant q4_k.gguf $backend 33
	invariant window.gguf $backend 20
done
# by default the order of sums depends on the number of rows: a test that cannot tell shows nothing
for way in "" --one-by-one; do
	# shellcheck disable=SC2086 # an option or none
	logits "default$way" f16.gguf --tokens "$(seq -s , 17)" --backend cuda $way
done
if cmp -s "$dir/default" "$dir/default--one-by-one"; then bad "the default is batch-invariant"; else ok; fi
finish "batch-invariant arithmetic on an emulated GPU"
