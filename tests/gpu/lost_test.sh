#!/bin/sh
# SPDX-License-Identifier: MIT
# A daemon whose emulated GPU is lost while a model computes on it: the request ends with an error that
# names the device, and the model comes back when the device has been opened again.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"
plugins=$build/tests/gpu/.libs
[ -f "$plugins/backend-cuda.so" ] || { echo "SKIP: plugins are linked in"; exit 77; }
LD_LIBRARY_PATH=$build/tests/gpu/driver/.libs LLAMAD_FAKE_GPU=lose=400
export LD_LIBRARY_PATH LLAMAD_FAKE_GPU
"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
printf '[engine]\nbackend = cuda\nactivations = f32\nisolation = off\n' >"$dir/conf"
start --config "$dir/conf" --plugin-dir "$plugins"
does add tiny "$dir/full.gguf"
does generate tiny -p "A B" -n 3 --temp 0 --ignore-eos
cp "$dir/out" "$dir/before"
call generate tiny -p "A B" -n 60 --temp 0 --ignore-eos
holds "a request on the lost device: $(cat "$dir/err")" \
	grep -q 'device cuda0 was lost: .*CUDA_ERROR_LAUNCH_FAILED' "$dir/err"
tries=0
until ctl generate tiny -p "A B" -n 3 --temp 0 --ignore-eos >"$dir/out" 2>"$dir/err" || [ $tries -gt 1200 ]; do
	tries=$((tries + 1))
	sleep 0.05 # asks again; nothing depends on its length
done
holds "after the pause: $(cat "$dir/err")" cmp -s "$dir/before" "$dir/out"
does devices
holds "the device is open again: $(cat "$dir/out")" grep -q '^cuda0  *in use  *1 ' "$dir/out"
holds "capability and driver are shown: $(cat "$dir/out")" \
	grep -q 'emulated GPU 0 (compute 9\.0, CUDA 13\.0' "$dir/out"
# What happened meanwhile is over too soon to be asked for; the log keeps it.
holds "the loss is logged: $(cat "$dir/log")" \
	grep -q 'device lost; device=cuda0 losses=1 retry_ms=[1-9]' "$dir/log"
holds "the model goes with its device: $(cat "$dir/log")" \
	grep -q 'model lost, it will be loaded again with its device; model=tiny' "$dir/log"
stop
finish "an emulated GPU that is lost"
