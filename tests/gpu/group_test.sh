#!/bin/sh
# SPDX-License-Identifier: MIT
# Several emulated devices: collectives and copies between them, checked for races while the others run as
# far ahead as they can, and models of which every device has a part of each layer.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
plugins=$build/tests/gpu/.libs
[ -f "$plugins/backend-cuda.so" ] || { echo "SKIP: plugins are linked in"; exit 77; }
LD_LIBRARY_PATH=$build/tests/gpu/driver/.libs
export LD_LIBRARY_PATH LLAMAD_FAKE_GPU

for mode in ahead=0 ahead=1 ahead=1,graphs=0 order=shuffled,ahead=1 warp=64,order=reverse; do
	LLAMAD_FAKE_GPU=devices=4,$mode,count=$dir/count
	does plugins test "$plugins/backend-cuda.so" --only "device "
	holds "$mode: $(grep -v ^pass "$dir/out" | head -n 3)" grep -q ' 0 failed, 0 skipped' "$dir/out"
done
for kernel in share sum spread gather end; do
	holds "kernel peer_$kernel has run" grep -q "^ *[1-9][0-9]* gpu_peer_$kernel\$" "$dir/count"
done
# A race is found.
LLAMAD_FAKE_GPU=devices=4,fault=1
call plugins test "$plugins/backend-cuda.so" --only "device collectives"
holds "a race is found: $(cat "$dir/err")" grep -q "a race: it reads what another device may not" "$dir/err"
# Devices that do not reach each other's memory form no group.
LLAMAD_FAKE_GPU=devices=4,peer=0
call plugins test "$plugins/backend-cuda.so" --only "device collectives"
holds "no group: $(cat "$dir/out")" grep -q "^skip.*device 0 cannot reach the memory of device 1" "$dir/out"

# logits DEVICES OPTION...: those of a prompt, and of each of its tokens one by one, in $dir/now.bin
logits() {
	devices=$1
	shift
	does debug logits "$dir/model.gguf" --tokens "$(seq -s , 20)" --all --device "$devices" \
		--isolation off --plugin-dir "$plugins" --out "$dir/now.bin" "$@"
	mv "$dir/now.bin" "$dir/rows.bin"
	does debug logits "$dir/model.gguf" --tokens "$(seq -s , 5)" --one-by-one --device "$devices" \
		--isolation off --plugin-dir "$plugins" --out "$dir/now.bin" "$@"
	cat "$dir/rows.bin" >>"$dir/now.bin"
}
for kind in window full; do
	"$build/tests/mktiny" $kind 5 "$dir/model.gguf" || exit 99
	LLAMAD_FAKE_GPU=
	logits cuda0 --split tensor:4
	mv "$dir/now.bin" "$dir/one.bin"
	modes="2,ahead=1 2,peer=0 4,order=shuffled"
	[ -z "${LMD_TEST_LONG:-}" ] || modes="$modes 2,ahead=0 2,graphs=0 4,ahead=0 4,ahead=1"
	for mode in $modes; do
		n=${mode%%,*}
		rm -f "$dir/used"
		LLAMAD_FAKE_GPU=devices=$mode,count=$dir/used
		list=cuda0,cuda1
		[ "$n" = 2 ] || list=$list,cuda2,cuda3
		logits $list --split tensor:4
		holds "$kind, $mode: other bits than on one device" cmp -s "$dir/one.bin" "$dir/now.bin"
		want='[1-9][0-9]*'
		[ "${mode#*,}" != peer=0 ] || want=0
		holds "$kind, $mode: collectives or none" grep -q "^ *$want gpu_peer_sum\$" "$dir/used"
	done
done
# Without graphs of launches, a step that might not fit into the driver's queue is refused.
if command -v python3 >/dev/null; then
	python3 "$src/bench/make_model" "$dir/long.gguf" --type q8_0 --layers 60 --width 64 --ffn 64 --heads 2 \
		--kv-heads 2 --vocab 300 >"$dir/out" 2>&1 || exit 99
	LLAMAD_FAKE_GPU=devices=2,graphs=0
	call debug logits "$dir/long.gguf" --tokens 1,2,3 --device cuda0,cuda1 --split tensor --isolation off \
		--plugin-dir "$plugins" --out "$dir/now.bin"
	holds "a long step without graphs: status $got: $(cat "$dir/err")" \
		grep -q "a step of [0-9]* launches in a group of devices needs graphs of launches" "$dir/err"
fi
# The devices choose tokens together.
LLAMAD_FAKE_GPU=
does run "$dir/model.gguf" --raw -n 12 --temp 0 -p "A B" --device cuda0 --split tensor:4 --isolation off \
	--plugin-dir "$plugins"
mv "$dir/out" "$dir/one.txt"
LLAMAD_FAKE_GPU=devices=4,ahead=1
does run "$dir/model.gguf" --raw -n 12 --temp 0 -p "A B" --device cuda0,cuda1,cuda2,cuda3 \
	--split tensor:4 --isolation off --plugin-dir "$plugins"
holds "another text: $(cat "$dir/out") instead of $(cat "$dir/one.txt")" cmp -s "$dir/one.txt" "$dir/out"
# A device that is lost ends the step on all.
LLAMAD_FAKE_GPU=devices=2,lose=150
call debug logits "$dir/model.gguf" --tokens 1,2,3,4,5,6,7,8 --one-by-one --device cuda0,cuda1 --split tensor \
	--isolation off --plugin-dir "$plugins" --out "$dir/now.bin"
holds "a lost device: status $got: $(cat "$dir/err")" grep -q "CUDA_ERROR_LAUNCH_FAILED" "$dir/err"
finish "groups of emulated GPUs"
