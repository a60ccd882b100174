#!/bin/sh
# SPDX-License-Identifier: MIT
# The command debug grammar: verdicts, sets, triggers, errors; the parity pack through the
# command line.
build=${LMD_TEST_BUILDDIR:-.}
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
failed=0 passed=0

ctl() {
	"$build/llamactl" --no-default-plugins --plugin-dir "$build/plugins/tokenizer/bpe/.libs" \
		--plugin-dir "$build/plugins/tokenizer/none/.libs" debug grammar "$@"
}

# gives WANT ARGUMENT...: exactly WANT on stdout, status 0
gives() {
	printf '%b' "$1" >"$dir/want"
	shift
	if ctl "$@" >"$dir/have" 2>"$dir/err" && cmp -s "$dir/have" "$dir/want"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL: debug grammar $*: $(head -c 300 "$dir/have") $(cat "$dir/err")"
	fi
}

# refused STATUS PATTERN ARGUMENT...: status, nothing on stdout, the error message on stderr
refused() {
	want=$1 pattern=$2
	shift 2
	ctl "$@" >"$dir/out" 2>"$dir/err" </dev/null
	if [ $? -eq "$want" ] && [ ! -s "$dir/out" ] && grep -q -e "$pattern" "$dir/err"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL: debug grammar $*: $(cat "$dir/err")"
	fi
}

printf 'root ::= "a" [0-9]+ | "b"\n' >"$dir/g"
printf '{"type": "object", "properties": {"n": {"type": "integer", "maximum": 12}}}' >"$dir/s"
printf 'a1' >"$dir/a1"
printf 'a' >"$dir/a"
printf 'bb' >"$dir/bb"
printf '{"n": 7}' >"$dir/n7"
printf '{"n": 13}' >"$dir/n13"
: >"$dir/empty"

gives 'accept\n' --gbnf "$dir/g" --text "$dir/a1"
gives 'incomplete\n' --gbnf "$dir/g" --text "$dir/a"
gives 'incomplete\n' --gbnf "$dir/g"
gives 'reject@1\n' --gbnf "$dir/g" --text "$dir/bb"
gives 'accept\n' --gbnf "$dir/empty" --text "$dir/bb"
gives '61-62\n30-39\n30-39 100\naccept\n' --gbnf "$dir/g" --text "$dir/a1" --allowed
gives '61-62\n100\n\naccept\n' --gbnf "$dir/g" --tokens 98,256 --allowed
gives 'reject@1\n' --gbnf "$dir/g" --tokens 97,97
gives 'accept\n' --schema "$dir/s" --text "$dir/n7"
gives '{\n  "allowed": [\n    [[97, 98]],\n    [[48, 57]]\n  ],\n  "verdict": "incomplete",\n  "at": null\n}\n' \
	--gbnf "$dir/g" --text "$dir/a" --allowed --json
gives '{\n  "verdict": "reject",\n  "at": 1\n}\n' --gbnf "$dir/g" --text "$dir/bb" --json
gives 'reject@7\n' --schema "$dir/s" --text "$dir/n13"
gives '0-100\n0-100\n30-39\nincomplete\n' --gbnf "$dir/g" --tokens 120,97 --trigger-token 97 --allowed
gives '0-100\n30-39\nincomplete\n' --gbnf "$dir/g" --tokens 97 --trigger-pattern 'a' --allowed

refused 2 'exactly one of' --text "$dir/a"
refused 2 'exactly one of' --gbnf "$dir/g" --schema "$dir/s"
refused 2 'exclude' --gbnf "$dir/g" --text "$dir/a" --tokens 1
refused 1 'nosuch' --gbnf "$dir/nosuch"
refused 1 'line 1' --gbnf "$dir/s"
refused 1 'JSON, byte 4' --schema "$dir/g"
refused 1 'token 257, the vocabulary has 257' --gbnf "$dir/g" --tokens 257
refused 1 'trigger-token' --gbnf "$dir/g" --trigger-token -1
refused 1 'trigger pattern' --gbnf "$dir/g" --trigger-pattern '('

pack=${LLAMAD_PARITY_DIR:-/nonexistent}/grammar
if [ -f "$pack/byte-vocab.gguf" ]; then
	printf 'root ::= <think> [a-c]* </think>' >"$dir/think"
	gives '102\n61-63 103\n100\naccept\n' --gbnf "$dir/think" --vocab "$pack/byte-vocab.gguf" \
		--tokens 258,259 --allowed
else
	echo "SKIP: debug_grammar_test: vocabulary: no parity pack"
fi

echo "CASES: debug grammar: $passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
