#!/bin/sh
# SPDX-License-Identifier: MIT
# Ten operations, two tensor types and one tiny model on lavapipe, with validation layers if there are any.
. "${LMD_TEST_SRCDIR:-.}/tests/vulkan/lavapipe.sh"
with_layers
for op in "embed " "norm " "rope_kv " "attn " "glu " "head " "ew " "bmm " "gather " "cast_copy "; do
	cases "$op"
done
# types whose decoders read a table, and one with a number at the start of each row
for type in iq3_s iq4_kt; do
	cases "linear $type"
done
cases "with adapters"
silent "operations"
if [ -x "$build/tests/mktiny" ]; then
	"$build/tests/mktiny" full 5 "$dir/tiny.gguf" || exit 99
	on_device "$dir/tiny.gguf"
	same "$dir/tiny.gguf" "hello there" 8 --device vulkan0
	silent "a tiny model"
else
	skip "tests/mktiny is not built"
fi
# faults of the settings have a name, and copies work without memory that can be mapped
LLAMAD_VULKAN=nonsense
call plugins test "$so" --only "cast_copy"
holds "wrong settings are named" grep -q "no setting 'nonsense'" "$dir/err"
LLAMAD_VULKAN=staging=1,chunk_kb=64,cache=0
cases "embed "
cases "attn "
silent "operations with staging"
# the pipeline cache: a file is made, a damaged one is written anew
unset LLAMAD_VULKAN
XDG_CACHE_HOME=$dir/cache
export XDG_CACHE_HOME
mkdir "$XDG_CACHE_HOME"
cases "cast_copy "
set -- "$XDG_CACHE_HOME"/llamad/vulkan-*.bin
holds "there is one pipeline cache" [ $# -eq 1 ] && holds "it is a file" [ -s "$1" ]
echo damaged >"$1"
cases "cast_copy "
holds "a damaged pipeline cache is replaced" [ "$(wc -c <"$1")" -gt 40 ]
rm -r "$XDG_CACHE_HOME/llamad"
LLAMAD_VULKAN=cache=0
export LLAMAD_VULKAN
cases "cast_copy "
holds "no pipeline cache if it is switched off" [ ! -e "$1" ]
silent "the pipeline cache"
finish "vulkan"
