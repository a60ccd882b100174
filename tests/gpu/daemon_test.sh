#!/bin/sh
# SPDX-License-Identifier: MIT
# A daemon whose emulated GPU chooses the tokens of requests without guesses: the text is that of ref.
# isolation = off: in a worker the host would choose them, and the build's plugins need not be root's.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"
plugins=$build/tests/gpu/.libs
[ -f "$plugins/backend-cuda.so" ] || { echo "SKIP: plugins are linked in"; exit 77; }
LD_LIBRARY_PATH=$build/tests/gpu/driver/.libs LLAMAD_FAKE_GPU=count=$dir/count
export LD_LIBRARY_PATH LLAMAD_FAKE_GPU
"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
for backend in ref cuda; do
	printf '[engine]\nbackend = %s\nactivations = f32\nkv_type = f32\ndraft_max = 0\nisolation = off\n' \
		$backend >"$dir/conf"
	rm -rf "$dir/state" "$dir/count"
	start --config "$dir/conf" --plugin-dir "$plugins"
	does add tiny "$dir/full.gguf"
	: >"$dir/$backend.txt"
	for seed in 5 6 7; do
		does generate tiny -p "A B" -n 12 --seed $seed --ignore-eos \
			--chain '["top_k","top_p","temp","dist"]'
		cat "$dir/out" >>"$dir/$backend.txt"
	done
	stop
done
holds "$(cat "$dir/cuda.txt") instead of $(cat "$dir/ref.txt")" cmp -s "$dir/ref.txt" "$dir/cuda.txt"
holds "the device chose tokens" grep -q '^ *[1-9][0-9]* gpu_sample$' "$dir/count"
finish "a daemon whose emulated GPU chooses tokens"
