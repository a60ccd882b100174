#!/bin/sh
# SPDX-License-Identifier: MIT
# Ten operations and one tiny model on lavapipe, with validation layers if there are any.
. "${LMD_TEST_SRCDIR:-.}/tests/vulkan/lavapipe.sh"
with_layers
for op in "embed " "norm " "rope_kv " "attn " "glu " "head " "ew " "bmm " "gather " "cast_copy "; do
	cases "$op"
done
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
export LLAMAD_VULKAN
call plugins test "$so" --only "cast_copy"
holds "wrong settings are named" grep -q "no setting 'nonsense'" "$dir/err"
LLAMAD_VULKAN=staging=1,chunk_kb=64
cases "embed "
cases "attn "
silent "operations with staging"
finish "vulkan"
