#!/bin/sh
# SPDX-License-Identifier: MIT
# The repack cache of a daemon: written by the first load, mapped by those after it, in a process of its own as well,
# after a restart, and for weights that the cpu repacks; a damaged file is written again.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"
"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
"$build/llamactl" quantize "$dir/full.gguf" "$dir/small.gguf" Q4_0 >"$dir/out" 2>&1 || bad "quantize: $(cat "$dir/out")"
printf '[engine]\nthreads = 1\n[limits]\nrepack_cache = 64M\n' >"$dir/conf"

# generates MODEL OPTION...: loads it with these options; its answer is in $dir/out
generates() {
	model=$1
	shift
	does load "$model" "$@"
	does generate "$model" -p "A B" -n 8 --temp 0 --ignore-eos
}

# n_written, n_files: files that this daemon has written, and those that there are
n_written() {
	grep -c 'repack cache.* written$' "$dir/log"
}
n_files() {
	ls "$dir/state/repacked" 2>/dev/null | wc -l
}

# copied: bytes of memory for weights that the only model in memory needs beside its file, as they were estimated
copied() {
	does ps --json
	tr -d ' \n' <"$dir/out" | grep -o '"weight_bytes":[0-9]*' | tail -1 | tr -dc 0-9
}

start --config "$dir/conf"
does add emu "$dir/full.gguf"
does add cpu "$dir/small.gguf"
generates emu --backend emu
cp "$dir/out" "$dir/emu"
holds "a file is written: $(cat "$dir/log")" [ "$(n_written)" -eq 1 ]
holds "it is in the state folder" [ "$(n_files)" -eq 1 ]
holds "for the daemon alone" [ "$(stat -c %a "$dir/state/repacked")" = 700 ]
does unload emu
generates emu --backend emu
holds "the same answer" cmp -s "$dir/emu" "$dir/out"
holds "nothing is written again" [ "$(n_written)" -eq 1 ]
does unload emu
generates cpu --backend cpu
cp "$dir/out" "$dir/cpu"
files=$(n_files)
first=$(copied)
does unload cpu
generates cpu --backend cpu
holds "the same answer on the cpu" cmp -s "$dir/cpu" "$dir/out"
holds "nothing is written again for the cpu" [ "$(n_files)" -eq "$files" ]
if [ "$files" -gt 1 ]; then # a processor for which weights are copied
	again=$(copied)
	holds "the memory of the copies, $first bytes, is left for the context: $again" [ "$again" -lt "$first" ]
fi
stop

# after a restart; a damaged file
start --config "$dir/conf"
generates emu --backend emu
holds "the same answer after a restart" cmp -s "$dir/emu" "$dir/out"
holds "nothing is written after a restart: $(cat "$dir/log")" [ "$(n_written)" -eq 0 ]
does unload emu
for file in "$dir"/state/repacked/*; do
	printf 'x' | dd of="$file" bs=1 seek=5000 conv=notrunc 2>"$dir/err"
done
generates emu --backend emu
holds "the same answer from a damaged file" cmp -s "$dir/emu" "$dir/out"
holds "a warning: $(cat "$dir/log")" grep -q 'repack cache: .*damaged.*is written again' "$dir/log"
holds "the damaged one is written again" [ "$(n_written)" -eq 1 ]
stop

# in a process of its own
start --config "$dir/conf"
does rm emu
does add iso "$dir/full.gguf"
generates iso --backend emu --isolation process
holds "the same answer from a process" cmp -s "$dir/emu" "$dir/out"
holds "which maps the file: $(cat "$dir/log")" [ "$(n_written)" -eq 0 ]
stop
finish "repack cache"
