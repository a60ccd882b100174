#!/bin/sh
# SPDX-License-Identifier: MIT
# The commands tokenize and detokenize: arguments, standard input, batches, refusals.
ctl=${LMD_TEST_BUILDDIR:-.}/llamactl
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
failed=0 passed=0

if [ ! -d "${LLAMAD_PARITY_DIR:-/nonexistent}/tokenizers/vocabs" ]; then
	echo "SKIP: tokenize_test: no parity pack"
	exit 77
fi
vocabs=$LLAMAD_PARITY_DIR/tokenizers/vocabs
spm=$vocabs/ggml-vocab-llama-spm.gguf
gpt2=$vocabs/ggml-vocab-gpt-2.gguf

# same WHAT WANT: the file "have" is exactly WANT
same() {
	printf '%b' "$2" >"$dir/want"
	if cmp -s "$dir/have" "$dir/want"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL: $1: $(head -c 300 "$dir/have")"
	fi
}

# refused STATUS PATTERN ARGUMENT...: status, nothing on stdout, the sentence on stderr
refused() {
	want=$1 pattern=$2
	shift 2
	"$ctl" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	if [ $? -eq "$want" ] && [ ! -s "$dir/out" ] && grep -q -e "$pattern" "$dir/err"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL: llamactl $*: $(cat "$dir/err")"
	fi
}

"$ctl" tokenize "$spm" 'Hello world' >"$dir/have"
same 'argument' '1,15043,3186\n'
printf 'Hello world' | "$ctl" tokenize "$spm" >"$dir/have"
same 'standard input' '1,15043,3186\n'
"$ctl" tokenize "$spm" --no-special 'Hello world' >"$dir/have"
same '--no-special' '15043,3186\n'
"$ctl" tokenize "$spm" --no-special '' >"$dir/have"
same 'empty' '\n'
"$ctl" tokenize "$spm" --json Hello >"$dir/have"
same '--json' '{"ids": [1, 15043]}\n'
"$ctl" tokenize "$spm" --parse-special --no-special '</s>' >"$dir/have"
same '--parse-special' '2\n'
printf 'a\000\nb' | "$ctl" tokenize "$spm" --no-special --pieces >"$dir/have"
same 'bytes' '263\t a\n3\t\\x00\n13\t\\n\n29890\tb\n'
"$ctl" tokenize "$gpt2" 1234567 >"$dir/have"
same 'pre of the file' '10163,2231,3134\n'
"$ctl" tokenize "$gpt2" --pre qwen2 1234567 >"$dir/have"
same '--pre' '16,17,18,19,20,21,22\n'
printf '{"hex":"48656c6c6f"}\n{"hex":"48656C6C6F","special":false}\n{"hex":"3c2f733e","parse":true}\nx\n{"hex":"5"}\n{"hex":"zz"}\n{"special":true}\n{"hex":"","special":1}\n' |
	"$ctl" tokenize "$spm" --batch >"$dir/batch"
head -3 "$dir/batch" >"$dir/have"
same 'batch' '{"ids": [1, 15043]}\n{"ids": [15043]}\n{"ids": [1, 2]}\n'
sed 1,3d "$dir/batch" | grep -c '^{"error": ".*"}$' >"$dir/have"
same 'batch errors' '5\n'

printf '1,15043 3186\n' | "$ctl" detokenize "$spm" >"$dir/have"
same 'detokenize' '<s> Hello world'
printf '1,15043,3186' | "$ctl" detokenize --no-special "$spm" >"$dir/have"
same 'left out' ' Hello world'
printf '15043' | "$ctl" detokenize "$spm" >"$dir/have"
same 'leading space' 'Hello'
printf '' | "$ctl" detokenize "$spm" >"$dir/have"
same 'no ids' ''
printf '{"ids":[1,15043]}\n{"ids":[1,15043],"special":false}\n{"ids":[]}\n' |
	"$ctl" detokenize --batch "$spm" >"$dir/have"
same 'batch' '{"hex": "3c733e2048656c6c6f"}\n{"hex": "2048656c6c6f"}\n{"hex": ""}\n'
printf '{"ids":[32000]}\n{"ids":[-1]}\n{"ids":["x"]}\n{"ids":7}\n{}\n' |
	"$ctl" detokenize --batch "$spm" | grep -c '^{"error": ".*"}$' >"$dir/have"
same 'batch errors' '5\n'

refused 2 'FILE is missing' tokenize
refused 2 'batch' tokenize "$spm" text --batch
refused 1 'nothing.gguf' tokenize "$dir/nothing.gguf" x
refused 1 "'nope' is not known" tokenize "$gpt2" --pre nope x
for ids in 1,x 1.5 32000 99999999999 -2; do
	printf '%s' "$ids" | "$ctl" detokenize "$spm" >"$dir/out" 2>"$dir/err"
	if [ $? -eq 1 ] && [ ! -s "$dir/out" ] && [ -s "$dir/err" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL: ids $ids were not refused"
	fi
done

echo "CASES: tokenize: $passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
