#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/gpu/pack: the folder for a machine with a card has at most 64 MiB, and bench/gpu/run works with it, here on an
# emulated device, whose plugin takes the place of the packed one.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
plugin=$build/tests/gpu/.libs/backend-cuda.so
[ -f "$plugin" ] || { echo "SKIP: plugins are linked in"; exit 77; }
[ -z "${LMD_TEST_SAN:-}" ] || { echo "SKIP: a sanitizer's programs are for this machine alone"; exit 77; }
[ -x "$build/bench/gpu/rates" ] || { echo "SKIP: bench/gpu/rates is not built (make bench-programs)"; exit 77; }
for tool in python3 strip objcopy ldd awk; do
	command -v $tool >/dev/null || { echo "SKIP: no $tool"; exit 77; }
done
"$src/bench/gpu/pack" "$build" "$dir/pack" >"$dir/out" 2>&1
holds "pack: $(cat "$dir/out")" [ $? -eq 0 ]
kib=$(du -sk "$dir/pack" | cut -f 1)
echo "packed: $kib KiB"
holds "$kib KiB, more than 64 MiB" [ "$kib" -le 65536 ]
for name in llamactl mktiny rates plugins/backend-ref.so; do
	holds "$name is packed" [ -f "$dir/pack/$name" ]
done
cp "$plugin" "$dir/pack/plugins/"
LD_LIBRARY_PATH=$build/tests/gpu/driver/.libs "$src/bench/gpu/run" --build "$dir/pack" --out "$dir/results" --small \
	--only '^(devices|op norm|architecture full|rates)$' >"$dir/out" 2>&1
holds "run: $(cat "$dir/out")" [ $? -eq 0 ]
holds "4 stages: $(cat "$dir/out")" grep -q '^4 stages, not ok: none; ' "$dir/out"
holds "the card is named: $(cat "$dir/results/results.json")" grep -q '"name": "emulated_GPU_0' "$dir/results/results.json"
# what does not fit is refused
mkdir -p "$dir/build/plugins/.libs" "$dir/build/tests" "$dir/build/bench/gpu"
for name in llamactl tests/mktiny bench/gpu/rates; do cp "$dir/pack/mktiny" "$dir/build/$name"; done
head -c 70000000 /dev/zero >"$dir/big"
objcopy --add-section big="$dir/big" "$plugin" "$dir/build/plugins/.libs/backend-cuda.so"
"$src/bench/gpu/pack" "$dir/build" "$dir/pack" >"$dir/out" 2>&1
holds "too much is packed: $(cat "$dir/out")" [ $? -eq 1 ]
holds "it says why: $(cat "$dir/out")" grep -q 'more than 64 MiB' "$dir/out"
finish "bench/gpu/pack"
