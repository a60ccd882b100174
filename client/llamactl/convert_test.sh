#!/bin/sh
# SPDX-License-Identifier: MIT
# llamactl convert from the outside: options, reports, errors, no files left over.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"

"$build/tests/mkfolder" "$dir/m" || exit 99

prints '^llama: 12 tensors, .* as f16, no vocabulary$' convert "$dir/m" "$dir/m.gguf"
prints '^architecture  *llama$' info "$dir/m.gguf"
prints 'general.file_type  *1$' info "$dir/m.gguf"
prints 'general.name  *"m"$' info "$dir/m.gguf"
prints 'blk.0.ffn_up.weight  *f16' info "$dir/m.gguf"
prints 'output_norm.weight  *f32' info "$dir/m.gguf"
for type in f32 f16 bf16; do
	prints " as $type, " convert --outtype $type "$dir/m" "$dir/$type.gguf"
	prints "token_embd.weight  *$type" info "$dir/$type.gguf"
done
prints ' as q8_0, ' convert --outtype q8_0 "$dir/m" "$dir/q8.gguf"
prints 'token_embd.weight  *f16' info "$dir/q8.gguf" # 8 wide: no block of 32 fits
does convert --model-name other "$dir/m" "$dir/n.gguf"
prints '^name  *other$' info "$dir/n.gguf"
does convert "$dir/m/config.json" "$dir/c.gguf"
holds "the configuration names the folder" cmp -s "$dir/m.gguf" "$dir/c.gguf"
prints 'nothing was written$' convert --dry-run "$dir/m" "$dir/x"
prints '^blk.0.attn_q.weight  *8 x 8  *f32  *f16' convert --dry-run "$dir/m" "$dir/x"
holds "a dry run writes nothing" [ ! -e "$dir/x" ]
does convert --json "$dir/m" "$dir/j.gguf"
if command -v python3 >/dev/null; then
	python3 -c '
import json, sys
j = json.load(open(sys.argv[1]))
assert j["arch"] == "llama" and j["type"] == "f16" and j["pre"] is None, j
assert sum(t["bytes"] for t in j["tensors"]) == j["bytes"] and len(j["tensors"]) == 12, j
' "$dir/out" && ok || bad "the JSON of convert"
else
	echo "SKIP: JSON of convert: no Python"
fi
# the folder and the file compute the same
does debug logits "$dir/m" --tokens 1,2,3 -o "$dir/a.f32" --activations f32 --kv-type f32
does debug logits "$dir/f32.gguf" --tokens 1,2,3 -o "$dir/b.f32" --activations f32 --kv-type f32
holds "the same logits" cmp -s "$dir/a.f32" "$dir/b.f32"

refused 1 'no config.json' convert "$dir" "$dir/x"
refused 1 'missing' convert "$dir/missing" "$dir/x"
refused 1 'config.json' convert "$dir/m.gguf" "$dir/x"
refused 1 'nowhere' convert "$dir/m" "$dir/nowhere/x"
refused 1 'directory' convert "$dir/m" "$dir/m"
refused 2 'outtype' convert --outtype q4_k "$dir/m" "$dir/x"
refused 2 'OUT' convert "$dir/m"
holds "a failed run leaves no file" [ -z "$(ls "$dir" | grep -e '^x' -e part -e tmp)" ]

# a file that holds less than its header says
cp "$dir/m.gguf" "$dir/keep.gguf"
size=$(wc -c <"$dir/m/model.safetensors")
head -c $((size - 100)) "$dir/m/model.safetensors" >"$dir/short" && mv "$dir/short" \
	"$dir/m/model.safetensors"
refused 1 'model.safetensors' convert "$dir/m" "$dir/m.gguf"
holds "the old file stays" cmp -s "$dir/m.gguf" "$dir/keep.gguf"

# a GGUF file as safetensors: the values are those that the decoders give
"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
does quantize "$dir/full.gguf" "$dir/q.gguf" q8_0
prints ' tensors, ' convert "$dir/q.gguf" "$dir/q.safetensors"
does convert --outtype f32 "$dir/q.gguf" "$dir/q32.safetensors"
does convert --outtype bf16 "$dir/q.gguf" "$dir/qb.safetensors"
prints '"tensors": ' convert --json "$dir/full.gguf" "$dir/full.safetensors"
refused 2 'q8_0' convert --outtype q8_0 "$dir/q.gguf" "$dir/x.safetensors"
refused 2 'dry-run is for GGUF' convert --dry-run "$dir/q.gguf" "$dir/x.safetensors"
holds "no file" [ ! -e "$dir/x.safetensors" ]
if command -v python3 >/dev/null; then
	holds "safetensors" python3 "$src/client/llamactl/convert_test.py" "$dir"
else
	echo "SKIP: convert to safetensors: no Python"
fi
finish "convert"
