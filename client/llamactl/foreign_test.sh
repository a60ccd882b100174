#!/bin/sh
# SPDX-License-Identifier: MIT
# llamactl add --from: the models that other programs keep, made as they make their folders.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"
"$build/tests/mktiny" full 5 "$dir/tiny.gguf" || exit 99
HOME=$dir/home
export HOME
unset OLLAMA_MODELS HF_HUB_CACHE HF_HOME LLAMA_CACHE
start

# -- Ollama --
hex=$(sha256sum "$dir/tiny.gguf" | cut -c 1-64)
top=$HOME/.ollama/models
mkdir -p "$top/blobs" "$top/manifests/registry.ollama.ai/library/tiny" \
	"$top/manifests/registry.ollama.ai/me/mine" "$top/manifests/hf.co/u/r"
cp "$dir/tiny.gguf" "$top/blobs/sha256-$hex"
for file in registry.ollama.ai/library/tiny/latest registry.ollama.ai/library/tiny/q4 \
	registry.ollama.ai/me/mine/v1 hf.co/u/r/Q4_0; do
	printf '{"layers":[{"mediaType":"application/vnd.ollama.image.template","digest":"sha256:0"},
		{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:%s"}]}' "$hex" \
		>"$top/manifests/$file"
done
echo nonsense >"$top/manifests/registry.ollama.ai/library/broken"
prints '^tiny:q4  .*  not added  .*/blobs/sha256-' add --from ollama --dry-run
prints '^\[\]$' list --json
does add --from ollama
for name in tiny tiny:q4 me/mine:v1 hf.co/u/r:Q4_0; do
	holds "ollama: $name: $(cat "$dir/out")" grep -q "^$name  .*  added  " "$dir/out"
done
holds "four models" [ "$(grep -c '  added  ' "$dir/out")" -eq 4 ]
does generate tiny:q4 -p x -n 2 --raw
prints '  there already  ' add --from ollama
prints '"result": "there already"' add tiny --from ollama --json
refused 1 'no model other in .*/.ollama/models' add other --from ollama

# -- LM Studio --
refused 1 'no model in .*/lm-studio/models' add --from lmstudio
mkdir -p "$HOME/.lmstudio/models/pub/repo-GGUF"
cp "$dir/tiny.gguf" "$HOME/.lmstudio/models/pub/repo-GGUF/Tiny-Q4_K_M.gguf"
cp "$dir/tiny.gguf" "$HOME/.lmstudio/models/pub/repo-GGUF/mmproj-Tiny.gguf"
echo x >"$HOME/.lmstudio/models/pub/repo-GGUF/broken.gguf"
does add --from lmstudio
holds "lmstudio: a file" grep -q '^Tiny-Q4_K_M  .*  added  ' "$dir/out"
holds "lmstudio: a file that is no model has a reason" grep -q '^broken  .*GGUF' "$dir/out"
holds "lmstudio: no projector" [ "$(grep -c mmproj "$dir/out")" -eq 0 ]

# -- Hugging Face --
top=$dir/hf/hub/models--u--Small-GGUF
mkdir -p "$top/blobs" "$top/snapshots/0123" "$dir/hf/hub/models--u--plain/snapshots/4567"
cp "$dir/tiny.gguf" "$top/blobs/aaaa"
ln -s ../../blobs/aaaa "$top/snapshots/0123/small-Q8_0.gguf"
HF_HOME=$dir/hf
export HF_HOME
prints '^small-Q8_0  .*  added  .*/snapshots/0123/small-Q8_0.gguf$' add --from huggingface
does generate small-Q8_0 -p x -n 2 --raw
echo '{}' >"$dir/hf/hub/models--u--plain/snapshots/4567/model.safetensors"
prints '^plain  .*  not added  .*/snapshots/4567$' add --from huggingface --dry-run

# -- llama.cpp --
mkdir -p "$dir/cpp"
"$build/llamactl" split --split-max-tensors 8 "$dir/tiny.gguf" "$dir/cpp/u_parts" >/dev/null
LLAMA_CACHE=$dir/cpp
export LLAMA_CACHE
does add --from llama.cpp
holds "a model in parts is one" [ "$(grep -c '^u_parts  .*  added  ' "$dir/out")" -eq 1 ]
holds "and nothing else" [ "$(wc -l <"$dir/out")" -eq 2 ]
does generate u_parts -p x -n 2 --raw

refused 2 'one model at most' add --from ollama a b
refused 2 'NAME and PATH are missing' add one
refused 2 'dry-run needs --from' add a b --dry-run
refused 2 'not one of' add --from vllm

# -- another name --
does cp tiny copied
prints '^tiny .* copied  ' list
stop
finish "models of other programs"
