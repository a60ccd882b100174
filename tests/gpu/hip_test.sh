#!/bin/sh
# SPDX-License-Identifier: MIT
# backend-hip on emulated devices of AMD: how the host's side uses HIP where it differs from CUDA, a selection of the
# conformance cases (all with LMD_TEST_LONG), groups of devices, and the same logits as those of backend-cuda.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
plugins=$build/tests/gpu/amd/.libs
so=$plugins/backend-hip.so
[ -f "$so" ] || { echo "SKIP: plugins are linked in"; exit 77; }
LD_LIBRARY_PATH=$build/tests/gpu/amd/driver/.libs
export LD_LIBRARY_PATH LLAMAD_FAKE_GPU

# What doctor says of it, and what is shown.
gpu=$dir/root/sys/bus/pci/devices/0000:01:00.0
mkdir -p "$gpu" "$dir/root/dev"
echo 0x038000 >"$gpu/class"
echo 0x1002 >"$gpu/vendor"
touch "$dir/root/dev/kfd"
# advice REASON COMMAND
advice() {
	env LLAMAD_SYSTEM_ROOT="$dir/root" HOME="$dir" VK_DRIVER_FILES="$dir/none.json" VK_ICD_FILENAMES="$dir/none.json" \
		"$build/llamactl" doctor --plugin-dir "$plugins" --log error >"$dir/out" 2>"$dir/err"
	holds "doctor: $1: $(cat "$dir/out" "$dir/err")" sh -c "grep -A1 '1 of AMD.*$1' '$dir/out' | grep -q '$2'"
}
LLAMAD_FAKE_GPU=devices=0
advice 'the driver has no device: hipErrorNoDevice' 'HIP_VISIBLE_DEVICES'
LLAMAD_FAKE_GPU=init=100
advice 'the driver does not start: hipErrorNoDevice' 'HIP_VISIBLE_DEVICES'
LLAMAD_FAKE_GPU=devices=2,warp=64
advice 'for models that are loaded with --backend hip' ''

# cases MODE OP...: no case fails, and none is skipped
cases() {
	LLAMAD_FAKE_GPU=$1,count=$dir/count
	shift
	for op; do
		does plugins test "$so" --only "$op"
		holds "$LLAMAD_FAKE_GPU, $op: $(grep -v ^pass "$dir/out" | head -n 3)" grep -q ' 0 failed, 0 skipped' "$dir/out"
	done
}
if [ -n "${LMD_TEST_LONG:-}" ]; then
	cases devices=4,warp=64 " "
	cases devices=4,mma=2 " "
else
	cases devices=4,warp=64,ahead=1 "device " "linear q4_k" "attn cache of q8_0"
	cases devices=4,mma=2 "linear bf16"
fi
for kernel in mfma_q4_k wmma_bf16 peer_sum; do
	holds "kernel $kernel has run" grep -q "^ *[1-9][0-9]* gpu_$kernel\$" "$dir/count"
done
# Devices see what others write in fine-grained memory alone.
LLAMAD_FAKE_GPU=devices=2,warp=64,fault=coarse
call plugins test "$so" --only "device collectives"
holds "memory of the wrong kind is found: $(cat "$dir/err")" grep -q "it is not fine-grained" "$dir/err"

# logits BACKEND MODE DEVICES OPTION...: those of a prompt, in $dir/BACKEND.bin
logits() {
	backend=$1 devices=$3 LLAMAD_FAKE_GPU=$2
	shift 3
	does debug logits "$dir/model.gguf" --tokens "$(seq -s , 20)" --all --device "$devices" --isolation off \
		--out "$dir/$backend.bin" "$@"
}
"$build/tests/mktiny" window 5 "$dir/model.gguf" || exit 99
LD_LIBRARY_PATH=$build/tests/gpu/driver/.libs
logits cuda warp=64 cuda0 --plugin-dir "$build/tests/gpu/.libs" --split tensor:2
LD_LIBRARY_PATH=$build/tests/gpu/amd/driver/.libs
logits hip warp=64 hip0 --plugin-dir "$plugins" --split tensor:2
holds "logits of hip and cuda" cmp -s "$dir/cuda.bin" "$dir/hip.bin"
for mode in ahead=1 peer=0; do
	logits hip devices=2,warp=64,$mode hip0,hip1 --plugin-dir "$plugins" --split tensor:2
	holds "logits of two devices, $mode" cmp -s "$dir/cuda.bin" "$dir/hip.bin"
done
logits hip devices=2,warp=64 hip0,hip1 --plugin-dir "$plugins" --split layer
holds "logits of two devices with layers of their own" [ -s "$dir/hip.bin" ]
# Errors have HIP's names.
LLAMAD_FAKE_GPU=warp=64,lose=20
call debug logits "$dir/model.gguf" --tokens 1,2,3 --one-by-one --device hip0 --isolation off --plugin-dir "$plugins" \
	--out "$dir/hip.bin"
holds "a lost device: status $got: $(cat "$dir/err")" grep -q "hipErrorLaunchFailure" "$dir/err"
finish "backend-hip on emulated devices"
