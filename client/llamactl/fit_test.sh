#!/bin/sh
# SPDX-License-Identifier: MIT
# llamactl fit: a file, a registered model and a well-known name.
if ! command -v python3 >/dev/null; then
	echo "SKIP: fit: no python3"
	exit 77
fi
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
HOME=$dir/home STATE_DIRECTORY=$dir/state XDG_RUNTIME_DIR=$dir/run
export HOME STATE_DIRECTORY XDG_RUNTIME_DIR
mkdir -p "$HOME" "$XDG_RUNTIME_DIR"
model=$dir/full.gguf
"$build/tests/mktiny" full 5 "$model" || exit 99

ctl() {
	"$build/llamactl" --log error "$@"
}

# value FILTER: of the last output in JSON
value() {
	python3 -c "import json, sys; r = json.load(open(sys.argv[1])); print($1)" "$dir/out"
}

# -- a file: the same context and memory as explain --
prints '^QUANTISATION  *WEIGHTS  *DEVICE' fit "$model"
holds "a row of the cpu" grep -q 'cpu0 ' "$dir/out"
does fit "$model" --json
n=$(value "[x['context'] for x in r if x['device'] == 'cpu0'][0]")
kv=$(value "[x['kv'] for x in r if x['device'] == 'cpu0'][0]")
holds "a measured bound" [ "$(value "[x['max_tokens_per_second'] > 1 for x in r if x['device'] == 'cpu0'][0]")" = True ]
does explain "$model" --json --device cpu0
holds "explain says $(value "r['memory']['context']"), not $n" [ "$(value "r['memory']['context']")" = "$n" ]
holds "explain says $(value "r['memory']['sequences']"), not $kv" [ "$(value "r['memory']['sequences']")" = "$kv" ]
does fit "$model" --json --ctx 16
holds "--ctx" [ "$(value "[x['context'] for x in r if x['device'] == 'cpu0'][0]")" = 16 ]
does fit "$model" --json --device cpu0
holds "--device" [ "$(value "[x['device'] for x in r]")" = "['cpu0']" ]
does fit "$model" --json
holds "a backend for tests, which nobody named" [ "$(value "any(x['device'] in ('ref0', 'emu0', 'null0') for x in r)")" = False ]
does fit "$model" --json --backend ref
holds "--backend" [ "$(value "[x['device'] for x in r]")" = "['ref0']" ]
refused 1 'draft model.*missing.gguf' fit "$model" --draft-model "$dir/missing.gguf"

# -- with a draft model: a part of the memory, and of the choice of the context --
"$build/tests/mktiny" full 6 "$dir/draft.gguf" || exit 99
LLAMAD_EMU=memory_mb=9
export LLAMAD_EMU
does fit "$model" --json --backend emu
n=$(value "r[0]['context']")
holds "no draft model" [ "$(value "r[0]['draft']")" = 0 ]
does fit "$model" --json --backend emu --draft-model "$dir/draft.gguf"
m=$(value "r[0]['context']")
draft=$(value "r[0]['draft']")
holds "a context of $m beside a draft model, of $n without" [ "$m" -gt 0 -a "$m" -lt "$n" ]
does explain "$model" --json --device emu0 -ngl auto -md "$dir/draft.gguf"
holds "explain says $(value "r['memory']['draft']"), not $draft" [ "$(value "r['memory']['draft']")" = "$draft" ]
holds "explain says $(value "r['memory']['context']"), not $m" [ "$(value "r['memory']['context']")" = "$m" ]
holds "more than there is" [ "$(value "r['memory']['sum'] <= r['memory']['budget']")" = True ]
prints ' DRAFT ' fit "$model" --backend emu --draft-model "$dir/draft.gguf"
"$build/tests/mktiny" tower:mlp 5 "$dir/mmproj.gguf" || exit 99
LLAMAD_EMU=memory_mb=10
does fit "$model" --json --backend emu
holds "the tower beside the model" [ "$(value "r[0]['tower'] > 0 and r[0]['context'] > 0")" = True ]
mv "$dir/mmproj.gguf" "$dir/tower.gguf"
does fit "$model" --json --backend emu --mmproj "$dir/tower.gguf"
holds "a tower that is named" [ "$(value "r[0]['tower'] > 0")" = True ]
refused 1 'mmproj .*: architecture llama is not a vision tower, which files named mmproj have' \
	fit "$model" --backend emu --mmproj "$model"
refused 1 'mmproj.*missing.gguf' fit "$model" --backend emu --mmproj "$dir/missing.gguf"
unset LLAMAD_EMU
refused 1 'need a file or a name' fit smollm2:135m --draft-model "$dir/draft.gguf"

refused 1 'nodevice3' fit "$model" --device nodevice3
refused 1 'missing.gguf' fit "$dir/missing.gguf"

# -- a well-known name --
prints '^llama3.1:8b: 8.0 billion parameters, 7.5 of them for a token$' fit llama3.1:8b
prints '^Q4_K_M  .* cpu0 ' fit llama3-8b
does fit smollm2:135m --json --ctx 1024
holds "four quantisations" [ "$(value "len({x['quantisation'] for x in r})")" = 4 ]
# 30 layers, 3 heads of 64, keys and values of 2 bytes
holds "KV of 1024 tokens" [ "$(value "r[0]['kv']")" = 23592960 ]
does fit smollm2:135m --json --ctx 8193
holds "more than the trained context does not fit" [ "$(value "max(x['context'] for x in r)")" = 0 ]
refused 1 "no model 'llama9:8b'" fit llama9:8b

prints '^layers  *32$' info llama3-8b
prints '^parameters  *8.0 billion' info llama3-8b
prints '"n_layer": 32' info llama3-8b --json
refused 1 'llama9' info llama9-8b

# -- a model of the user's own store --
does add small "$model"
prints "full.gguf: .* of weights" fit small

finish "fit"
