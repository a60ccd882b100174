#!/bin/sh
# SPDX-License-Identifier: MIT
# The conformance cases on backend-cuda with an emulated device: a selection, all cases with LMD_TEST_LONG.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
so=$build/tests/gpu/.libs/backend-cuda.so
[ -f "$so" ] || { echo "SKIP: plugins are linked in"; exit 77; }

# Without a driver there is no device, and the reason is said.
refused 1 "backend-cuda.so: no driver: libcuda.so.1 cannot be opened" plugins test "$so" --only "norm "
does plugins --plugin-dir "$build/tests/gpu/.libs"
holds "the list says why: $(cat "$dir/out")" \
	grep -q "cannot run here: no driver: libcuda.so.1 cannot be opened" "$dir/out"

# llamactl doctor on a machine with a card says what is wrong with its driver, and what to do.
gpu=$dir/root/sys/bus/pci/devices/0000:01:00.0
mkdir -p "$gpu" "$dir/root/dev"
echo 0x030200 >"$gpu/class"
echo 0x10de >"$gpu/vendor"
touch "$dir/root/dev/nvidiactl"
# advice REASON COMMAND
advice() {
	env LLAMAD_SYSTEM_ROOT="$dir/root" HOME="$dir" VK_DRIVER_FILES="$dir/none.json" VK_ICD_FILENAMES="$dir/none.json" \
		"$build/llamactl" doctor --plugin-dir "$build/tests/gpu/.libs" --log error >"$dir/out" 2>"$dir/err"
	holds "doctor: $1: $(cat "$dir/out" "$dir/err")" sh -c "grep -A1 '1 of NVIDIA.*$1' '$dir/out' | grep -q '$2'"
}
advice 'no driver: libcuda.so.1' 'apt install libcuda1'

LD_LIBRARY_PATH=$build/tests/gpu/driver/.libs
export LD_LIBRARY_PATH
LLAMAD_FAKE_GPU=init=802
export LLAMAD_FAKE_GPU
advice CUDA_ERROR_SYSTEM_NOT_READY nvidia-fabricmanager
LLAMAD_FAKE_GPU=init=803
advice CUDA_ERROR_SYSTEM_DRIVER_MISMATCH reboot
LLAMAD_FAKE_GPU=devices=0
advice 'none is installed or visible' nvidia-smi
LLAMAD_FAKE_GPU=
advice 'for models that are loaded with --backend cuda' ''
mkdir -p "$dir/root/sys/module/nvidia"
echo 580.95.05 >"$dir/root/sys/module/nvidia/version"
advice 'for models that are loaded with --backend cuda, driver 580.95.05$' ''

# all OP...: no case fails, and none is skipped
all() {
	for op; do
		does plugins test "$so" --only "$op"
		grep -v -e '^pass' -e '^[0-9]* passed' "$dir/out" >"$dir/other"
		holds "$op: $(head -n 3 "$dir/other")" [ ! -s "$dir/other" ]
		holds "$op: failures" grep -q ' 0 failed, 0 skipped' "$dir/out"
	done
}
all "embed " "norm " "rope_kv " "glu " "ffn " "head " "ew " "gather " "cast_copy " "bmm " "moe_ffn "
all "softmax " "reduce " "route " "mix " "conv " "scan " "patch " "index " "sample "
all "attn " "linear q4_0" "linear q4_k" "linear q5_k" "linear q6_k" "linear q8_0" "linear mxfp4" "linear ids"
all "linear iq4_nl" "linear iq4_xs" "linear f16" "linear bf16"
all "linear iq2_xs" "linear iq3_s" "linear iq1_m" "linear tq1_0" "linear nvfp4" "linear q6_0" "linear iq2_bn"
all "linear iq6_k" "linear iq3_ks" "linear iq4_kss" "linear iq2_kl" "linear iq4_kt"
modes="warp=64,order=shuffled"
set -- "norm " "rope_kv " "linear q4_0" "linear q6_k" "linear f16"
if [ -n "${LMD_TEST_LONG:-}" ]; then
	modes="$modes warp=64 order=reverse"
	set -- "$@" "attn "
fi
for mode in $modes; do
	LLAMAD_FAKE_GPU=$mode
	export LLAMAD_FAKE_GPU
	all "$@"
done
# Products of many rows use matrix instructions if the code that the driver has loaded has them.
for mma in 0 1; do
	LLAMAD_FAKE_GPU=mma=$mma,count=$dir/count$mma
	export LLAMAD_FAKE_GPU
	all "linear q4_k" "linear bf16" "moe_ffn q8_0" "attn "
	holds "kernels with matrix instructions, mma=$mma" \
		[ "$(grep -c '^ *[1-9][0-9]* gpu_\(tile_q4_k\|tile_bf16\|tile_q8_0\|group\|flash_64_f16\|flash_128_any\|flash_256_f16\|flash_256_bf16\)$' "$dir/count$mma")" = $((8 * mma)) ]
done
# The same on AMD's: CDNA has warps of 64, RDNA of 32.
for unit in warp=64,mma=1,mfma warp=32,mma=2,wmma; do
	LLAMAD_FAKE_GPU=${unit%,*},count=$dir/count-amd
	export LLAMAD_FAKE_GPU
	all "linear q4_k" "linear q6_k" "linear f16" "linear bf16" "moe_ffn q8_0"
	holds "kernels with the instructions of ${unit##*,}" \
		[ "$(grep -c "^ *[1-9][0-9]* gpu_${unit##*,}_\(q4_k\|q6_k\|f16\|bf16\|q8_0\)$" "$dir/count-amd")" = 5 ]
	rm -f "$dir/count-amd"
done
LLAMAD_FAKE_GPU=
[ -z "${LMD_TEST_LONG:-}" ] || all "linear "

# Faults of the device are results of the cases, not the end of the program.
LLAMAD_FAKE_GPU=lose=9
call plugins test "$so" --only "norm "
holds "a lost device is named: $(tail -n 1 "$dir/out")" grep -q 'CUDA_ERROR_LAUNCH_FAILED' "$dir/out"
for n in 1 2 3 4 5 6 7 8; do
	LLAMAD_FAKE_GPU=fail_alloc=$n
	call plugins test "$so" --only "norm "
	holds "out of memory at allocation $n: status $got" test "$got" -eq 1
done
finish "GPU ops on an emulated device"
