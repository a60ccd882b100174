#!/bin/sh
# SPDX-License-Identifier: MIT
# The format of examples/format-llama2c in llamactl and in a daemon: every command that opens a model
# takes a path of that format.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"
src=$(cd "$src" && pwd)
build=$(cd "$build" && pwd)
cc=${LMD_TEST_CC:-${CC:-cc}}
command -v python3 >/dev/null && command -v make >/dev/null || {
	echo "SKIP: format_test: no python3 or make"
	exit 77
}
mkdir -m 755 "$dir/plugins" "$dir/models"
cp "$src/examples/format-llama2c/"* "$dir" && chmod u+w "$dir"/* &&
	(unset MAKEFLAGS MFLAGS MAKELEVEL
	make -s -C "$dir" CC="$cc" HEADERS="-I$src/include -I$build/include" install DESTDIR= \
		PLUGINDIR="$dir/plugins") || {
	echo "SKIP: format_test: the plugin does not build with $cc"
	exit 77
}
python3 "$src/examples/format-llama2c/make_model.py" "$dir/models" || exit 99
model=$dir/models/tied.bin
gguf=$dir/models/tied.gguf
prompt='hello there'

# -- this program --
here() {
	verb=$1
	shift
	"$build/llamactl" --plugin-dir "$dir/plugins" "$verb" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	got=$?
	holds "llamactl $verb $*: status $got: $(cat "$dir/err")" [ $got -eq 0 ]
}
here plugins --factories
holds "the format is listed" grep -q '^    format  *llama2c  *score 100' "$dir/out"
holds "the built-in formats are listed" grep -q '^    format  *gguf  *score 100' "$dir/out"
holds "and their plugin" grep -q '^format-builtin .*format  (built in)' "$dir/out"
here info "$model"
holds "info has the format" grep -q '^format *llama2c' "$dir/out"
holds "info has both files" grep -q '^file .*tokenizer.bin' "$dir/out"
here diff "$model" "$gguf"
here tokenize "$model" "$prompt"
cp "$dir/out" "$dir/tokens"
here tokenize "$gguf" "$prompt"
holds "the tokens are those of the GGUF file" cmp -s "$dir/out" "$dir/tokens"
here debug plan "$model"
cp "$dir/out" "$dir/plan"
here debug plan "$gguf"
holds "the plan is that of the GGUF file" cmp -s "$dir/out" "$dir/plan"
here quantize "$model" "$dir/models/q.gguf" Q8_0
cp "$dir/models/q.gguf" "$dir/models/q1.gguf"
here quantize "$gguf" "$dir/models/q.gguf" Q8_0
here diff "$dir/models/q.gguf" "$dir/models/q1.gguf"
here run "$gguf" --backend ref --raw -p "$prompt" -n 20 --temp 0 --ignore-eos
cp "$dir/out" "$dir/answer"
here run "$model" --backend ref --raw -p "$prompt" -n 20 --temp 0 --ignore-eos
holds "the answer is that of the GGUF file" cmp -s "$dir/out" "$dir/answer"
"$build/llamactl" info "$model" >"$dir/out" 2>"$dir/err"
holds "without the plugin the file is refused" [ $? -eq 1 ]
holds "and the message says so" grep -q 'no plugin recognises the format' "$dir/err"

# -- a daemon --
start --plugin-dir "$dir/plugins" --model-dir "$dir/models" --backend ref
does plugins --factories
holds "the daemon lists it" grep -q '^format-llama2c .* format ' "$dir/out"
does add tiny "$model"
does info tiny
does generate tiny --raw -p "$prompt" -n 20 --temp 0 --ignore-eos
holds "the daemon's answer is that of the GGUF file" cmp -s "$dir/out" "$dir/answer"
refused 1 'format llama2c cannot be copied' add copied "$model" --import
stop
finish "the format of an example"
