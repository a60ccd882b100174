#!/bin/sh
# SPDX-License-Identifier: MIT
# list, info, alias and detokenize with a daemon: states, widths, order of arguments.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"

folder=$dir/a-folder-with-a-name-that-is-longer-than-a-line-of-most-terminals/and-one-more
mkdir -p "$folder"
"$build/tests/mktiny" full 5 "$folder/tiny-model-q4_0.gguf" || exit 99
start
does add tiny "$folder/tiny-model-q4_0.gguf"

# a model that is not loaded; programs get the protocol's word
prints '^tiny  *llama  *[0-9.]*K  not loaded  ' list
prints '"state": "absent"' list --json
prints '^state  *not loaded$' info tiny

# the whole path in a pipe; its beginning and end on a terminal
prints "  $folder/tiny-model-q4_0.gguf\$" list
if command -v python3 >/dev/null; then
	for columns in 80 100 120; do
		python3 "$src/client/llamactl/models_test.py" $columns "$build/llamactl" \
			--socket "$url" list >"$dir/out"
		holds "list at $columns columns: status" [ $? -eq 0 ]
		longest=$(awk '{ if (length > n) n = length } END { print n }' "$dir/out")
		holds "list at $columns columns: $longest: $(cat "$dir/out")" \
			[ "$longest" -eq $columns ]
		holds "list at $columns columns: $(cat "$dir/out")" \
			grep -q '  /.*\.\.\..*.gguf$' "$dir/out"
	done
	python3 "$src/client/llamactl/models_test.py" 100 "$build/llamactl" --socket "$url" \
		list --json >"$dir/out"
	holds "list --json on a terminal" grep -q "\"path\": \"$folder/tiny-model" "$dir/out"
else
	skip "list on a terminal: no python3"
fi

# the order of ln: the existing name, then the new one
does alias tiny chat
prints '^tiny .* chat  ' list
refused 1 "'talk' is not known, but 'chat' is: the model comes first, .*: llamactl alias chat talk" \
	alias talk chat
does alias chat talk
refused 1 "model 'nothing' does not exist" alias nothing nobody
refused 2 'NAME ALIAS' alias tiny

# deadlines and priorities
does generate tiny -p Hello -n 4 --raw --class batch --timeout 1h
refused 2 'not one of' generate tiny -p Hello --class urgent
prints '"finish": "deadline"' generate tiny -p Hello --raw --ignore-eos --timeout 1ms --json
prints '^memory_limit  *none$' status
prints 'KV RESERVED' ps
prints '^tiny ' ps --memory
does ps --memory --json
holds "the memory of the model: $(cat "$dir/out")" \
	[ "$(grep -c -e '"kv_used_bytes": 0' -e '"kv_peak_bytes": [1-9]' -e '"vocabulary_bytes": [1-9]' "$dir/out")" = 3 ]

# the engine's log names the model as the registry does
does load tiny
holds "the log: $(grep 'engine:' "$dir/log")" grep -q 'engine: .* model=tiny (.*) n_ctx=' "$dir/log"
prints '^tiny .*  ready  ' list

# llama.cpp's spelling of --threads-batch
refused 2 'tb.* 0' load tiny -tb 0
refused 2 'not a whole number' load tiny -tb x
does unload tiny
does load tiny --backend cpu -t 1 -tb 3
names=$(cat "/proc/$daemon/task/"*/comm)
holds "two more threads for many rows: $names" [ "$(echo "$names" | grep -c team)" = 2 ]

# ids as arguments
ctl tokenize tiny 'the cat' >"$dir/ids"
ids=$(tr , ' ' <"$dir/ids")
# shellcheck disable=SC2086 # each id is a word
ctl detokenize tiny $ids >"$dir/have"
ctl detokenize tiny <"$dir/ids" >"$dir/want"
holds "detokenize with arguments" cmp -s "$dir/have" "$dir/want"
# shellcheck disable=SC2086
prints '"text": ".*the cat",$' detokenize tiny $ids --json
refused 2 'needs a model file' detokenize tiny --batch

stop

# a daemon that was started on a terminal says what to type next; other daemons do not
holds "a log without hints" [ "$(grep -c 'try, in another' "$dir/log")" -eq 0 ]
if command -v python3 >/dev/null; then
	python3 "$src/client/llamactl/models_test.py" 100 "$build/llamad" --socket "$url" \
		--state-dir "$dir/state" >"$dir/screen" 2>&1 &
	daemon=$!
	until ctl ping >/dev/null 2>&1 || ! kill -0 $daemon 2>/dev/null; do
		sleep 0.05 # asks again; nothing depends on its length
	done
	does shutdown
	ended
	holds "a hint: $(cat "$dir/screen")" \
		grep -q "^  llamactl --socket $url run smollm2 " "$dir/screen"
else
	skip "a daemon in a terminal: no python3"
fi
finish "models of a daemon"
