#!/bin/sh
# SPDX-License-Identifier: MIT
# llamactl replay: the answer of an earlier request again, the comparison of both, and a model that now
# computes another answer.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"

"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
{
	echo "{%- set replies = ['<think>Well.</think>Yes.'] -%}"
	cat "$src/tests/http/script.jinja"
} >"$dir/think.jinja"
printf '[limits]\nreplay_requests = 8\n[model think]\ntemplate_file = %s\n' "$dir/think.jinja" >"$dir/llamad.conf"

# text_of MEMBER: of the JSON in $dir/out
text_of() {
	sed -n "s/.*\"$1\": *\"\(.*\)\".*/\1/p" "$dir/out" | head -n 1
}

# ask OPTION...
ask() {
	does generate one -p 'it was a dark and' --raw -n 60 --temp 1 --ignore-eos "$@"
}

start
does add one "$dir/full.gguf"
ask --json
refused 1 'requests are not kept: set replay_requests' replay "$(text_of id)"
stop

# same WHAT: replays the request and compares
same() {
	ctl replay "$id" --verify >"$dir/again.txt" 2>"$dir/note"
	holds "$1: the exit status" [ $? = 0 ]
	holds "$1: the answer" cmp "$dir/first.txt" "$dir/again.txt"
	holds "$1: the digest" grep -q '^the answer is the same: sha256:' "$dir/note"
}

start --config "$dir/llamad.conf"
ask --seed 7 --json
id=$(text_of id)
ctl generate one -p 'it was a dark and' --raw -n 60 --temp 1 --ignore-eos --seed 7 >"$dir/first.txt"
ask --seed 8 --json
prints '"n_out": *60' replay "$id" --json
same "at once"
refused 1 'no request of yours with this id is kept' replay 00000000000000000000000000000000
refused 1 "'xyz' is not a stream id" replay xyz
# the same file, computed otherwise
does unload one
does load one --backend null
ctl replay "$id" --verify >"$dir/again.txt" 2>"$dir/note"
holds "another answer: the exit status" [ $? = 1 ]
holds "another answer: the digests" grep -q 'the answer differs from the first one: its digest is sha256:' "$dir/note"
does unload one
does load one
same "loaded again"
# reasoning is printed where `generate` prints it
does debug echo-model "$dir/echo.gguf"
does add think "$dir/echo.gguf"
does generate think -p Hi --json
id=$(text_of id)
ctl generate think -p Hi --show-reasoning >"$dir/first.txt"
holds "there is reasoning" grep -q Well "$dir/first.txt"
does replay "$id" --show-reasoning
holds "the reasoning: $(cat "$dir/out")" cmp "$dir/first.txt" "$dir/out"
does replay "$id"
holds "not without a terminal: $(cat "$dir/out")" [ "$(cat "$dir/out")" = Yes. ]
stop
finish "replay"
