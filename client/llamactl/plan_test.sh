#!/bin/sh
# SPDX-License-Identifier: MIT
# explain and debug plan on small models.
ctl="${LMD_TEST_BUILDDIR:-.}/llamactl --no-default-plugins --plugin-dir ${LMD_TEST_BUILDDIR:-.}/plugins/.libs"
parity=$LLAMAD_PARITY_DIR/arch

if [ ! -f "$parity/make_models.py" ] || ! command -v python3 >/dev/null; then
	echo "SKIP: explain, debug plan: no parity pack (LLAMAD_PARITY_DIR) or no python3"
	exit 77
fi
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
failed=0 passed=0
python3 "$parity/make_models.py" "$dir" llama-tied t5 >"$dir/log" || { cat "$dir/log"; exit 1; }
m=$dir/llama-tied.gguf

ok() {
	if [ "$1" -eq 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL: $2: $(cat "$dir/err") $(head -c 300 "$dir/out")"
	fi
}

# prints STATUS PATTERN ARGUMENT...
prints() {
	want=$1 pattern=$2
	shift 2
	# shellcheck disable=SC2086 # a program with options
	$ctl "$@" >"$dir/out" 2>"$dir/err" </dev/null
	[ $? -eq "$want" ] && grep -q -e "$pattern" "$dir/out"
	ok $? "llamactl $*"
}

# refused STATUS PATTERN ARGUMENT...: nothing on stdout, the pattern on stderr
refused() {
	want=$1 pattern=$2
	shift 2
	# shellcheck disable=SC2086 # a program with options
	$ctl "$@" >"$dir/out" 2>"$dir/err" </dev/null
	[ $? -eq "$want" ] && [ ! -s "$dir/out" ] && grep -q -e "$pattern" "$dir/err"
	ok $? "llamactl $*"
}

prints 0 '^[0-9]* tensors used$' explain "$m"
prints 0 '^  token_embd.weight  *f32 ' explain --all "$m"
prints 0 '"fit": "used"' explain --json "$m"
$ctl explain --json "$m" | python3 -c '
import json, sys
j = json.load(sys.stdin)
assert j["arch"] == "llama" and j["count"]["missing"] == 0 and j["count"]["unknown"] == 0
assert len(j["tensors"]) == sum(j["count"].values()) and j["layers"] > 0
assert all(t["found"] for t in j["tensors"])
' >"$dir/out" 2>"$dir/err"
ok $? 'explain --json'

# a tensor under another name is missing and not known
LC_ALL=C sed 's/blk\.1\.ffn_up/blk.1.ffn_UP/' "$m" >"$dir/renamed.gguf"
prints 1 '^1 tensor missing:$' explain "$dir/renamed.gguf"
prints 1 '^1 tensor not known to the architecture:$' explain "$dir/renamed.gguf"
grep -q 'renamed.gguf: tensor blk.1.ffn_up.weight is missing, expected \[[0-9]*, [0-9]*\]$' "$dir/err"
ok $? 'the sentence of a missing tensor'
prints 1 '"fit": "missing", "expected": \[[0-9]*, [0-9]*\]' explain --json "$dir/renamed.gguf"
refused 1 'renamed.gguf: .*blk.1.ffn_up.weight' debug plan "$dir/renamed.gguf"
LC_ALL=C sed 's/llama\.block_count/llama.block_COUNT/' "$m" >"$dir/key.gguf"
refused 1 'key.gguf: .*llama.block_count' explain "$dir/key.gguf"

prints 0 '^plan forward logits$' debug plan "$m"
prints 0 '^plan forward embed pooling=1$' debug plan --pooling mean "$m"
prints 0 ' lora_site=' debug plan --lora "$m"
prints 0 '^output logits ' debug plan "$m"
prints 0 '^scratch [0-9]* bytes for 16 rows$' debug plan --memory --rows 16 "$m"
prints 0 '^plan encode$' debug plan --kind encode "$dir/t5.gguf"
prints 0 '^plan encode$' debug plan --every "$dir/t5.gguf"
refused 1 'plan kind 3' debug plan --kind tail "$m"
refused 2 "option '--kind'" debug plan --kind nonsense "$m"
refused 1 'no-such-file' debug plan "$dir/no-such-file"
prints 0 '^glu\|^ew' debug plan --lower "$m"
! grep -q '^ffn\|^head' "$dir/out"
ok $? 'debug plan --lower'
$ctl debug plan "$m" >"$dir/out"
$ctl debug plan "$m" | cmp -s - "$dir/out"
ok $? 'the same plan twice'

echo "CASES: explain, debug plan: $passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
