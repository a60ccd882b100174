#!/bin/sh
# SPDX-License-Identifier: MIT
# The commands tokenize and detokenize: arguments, standard input, batches, refusals.
if [ ! -d "${LLAMAD_PARITY_DIR:-/nonexistent}/tokenizers/vocabs" ]; then
	echo "SKIP: tokenize_test: no parity pack"
	exit 77
fi
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
vocabs=$LLAMAD_PARITY_DIR/tokenizers/vocabs
spm=$vocabs/ggml-vocab-llama-spm.gguf
gpt2=$vocabs/ggml-vocab-gpt-2.gguf

ctl tokenize "$spm" 'Hello world' >"$dir/have"
same 'argument' '1,15043,3186\n'
printf 'Hello world' | ctl tokenize "$spm" >"$dir/have"
same 'standard input' '1,15043,3186\n'
ctl tokenize "$spm" --no-special 'Hello world' >"$dir/have"
same '--no-special' '15043,3186\n'
ctl tokenize "$spm" --no-special '' >"$dir/have"
same 'empty' '\n'
ctl tokenize "$spm" --json Hello >"$dir/have"
same '--json' '{"ids": [1, 15043]}\n'
ctl tokenize "$spm" --parse-special --no-special '</s>' >"$dir/have"
same '--parse-special' '2\n'
printf 'a\000\nb' | ctl tokenize "$spm" --no-special --pieces >"$dir/have"
same 'bytes' '263\t a\n3\t\\x00\n13\t\\n\n29890\tb\n'
ctl tokenize "$gpt2" 1234567 >"$dir/have"
same 'pre of the file' '10163,2231,3134\n'
ctl tokenize "$gpt2" --pre qwen2 1234567 >"$dir/have"
same '--pre' '16,17,18,19,20,21,22\n'
printf '{"hex":"48656c6c6f"}\n{"hex":"48656C6C6F","special":false}\n{"hex":"3c2f733e","parse":true}\nx\n{"hex":"5"}\n{"hex":"zz"}\n{"special":true}\n{"hex":"","special":1}\n' |
	ctl tokenize "$spm" --batch >"$dir/batch"
head -3 "$dir/batch" >"$dir/have"
same 'batch' '{"ids": [1, 15043]}\n{"ids": [15043]}\n{"ids": [1, 2]}\n'
sed 1,3d "$dir/batch" | grep -c '^{"error": ".*"}$' >"$dir/have"
same 'batch errors' '5\n'

printf '1,15043 3186\n' | ctl detokenize "$spm" >"$dir/have"
same 'detokenize' '<s> Hello world'
printf '1,15043,3186' | ctl detokenize --no-special "$spm" >"$dir/have"
same 'left out' ' Hello world'
printf '15043' | ctl detokenize "$spm" >"$dir/have"
same 'leading space' 'Hello'
ctl detokenize "$spm" 1 15043,3186 </dev/null >"$dir/have"
same 'ids as arguments' '<s> Hello world'
ctl detokenize "$spm" 15043 --json >"$dir/have"
same 'detokenize --json' '{\n  "text": "Hello",\n  "hex": "48656c6c6f"\n}\n'
ctl detokenize "$spm" 198 --json >"$dir/have" # the byte c3 alone
same 'bytes that are not UTF-8' '{\n  "text": null,\n  "hex": "c3"\n}\n'
refused 1 "token: 'x' is not a whole number" detokenize "$spm" 1 x
refused 2 'batch reads standard input' detokenize "$spm" 1 --batch
refused 2 'do not combine it with --json' detokenize "$spm" --batch --json
printf '' | ctl detokenize "$spm" >"$dir/have"
same 'no ids' ''
printf '{"ids":[1,15043]}\n{"ids":[1,15043],"special":false}\n{"ids":[]}\n' |
	ctl detokenize --batch "$spm" >"$dir/have"
same 'batch' '{"hex": "3c733e2048656c6c6f"}\n{"hex": "2048656c6c6f"}\n{"hex": ""}\n'
printf '{"ids":[32000]}\n{"ids":[-1]}\n{"ids":["x"]}\n{"ids":7}\n{}\n' |
	ctl detokenize --batch "$spm" | grep -c '^{"error": ".*"}$' >"$dir/have"
same 'batch errors' '5\n'

refused 2 'FILE is missing' tokenize
refused 2 'batch' tokenize "$spm" text --batch
refused 1 'nothing.gguf' tokenize "$dir/nothing.gguf" x
refused 1 "'nope' is not known" tokenize "$gpt2" --pre nope x
for ids in 1,x 1.5 32000 99999999999 -2; do
	printf '%s' "$ids" | ctl detokenize "$spm" >"$dir/out" 2>"$dir/err"
	holds "ids $ids were not refused" [ $? -eq 1 -a ! -s "$dir/out" -a -s "$dir/err" ]
done

# tokenizer.json, and a folder with one
mkdir "$dir/folder" "$dir/empty"
cat >"$dir/folder/tokenizer.json" <<'EOF'
{"added_tokens": [{"id": 3, "content": "<s>", "special": true}],
 "pre_tokenizer": {"type": "WhitespaceSplit"},
 "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}},
  {"Sequence": {"id": "A"}}], "special_tokens": {"<s>": {"ids": [3]}}},
 "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "Hello": 1, "world": 2, "<s>": 3}}}
EOF
for file in "$dir/folder" "$dir/folder/tokenizer.json"; do
	ctl tokenize "$file" 'Hello  new world' >"$dir/have"
	same 'a word of no token' '3,1,0,2\n'
	ctl tokenize "$file" --no-special --parse-special 'Hello<s>' >"$dir/have"
	same 'a special token in the text' '1,3\n'
	echo 3,1,2 | ctl detokenize "$file" --no-special >"$dir/have"
	same 'without special tokens' 'Hello world'
done
refused 1 'contains no tokenizer.json or tokenizer.model' tokenize "$dir/empty" x
sed 's/WhitespaceSplit/Magic/' "$dir/folder/tokenizer.json" >"$dir/empty/tokenizer.json"
refused 1 "pre-tokenizer type 'Magic' is not known" tokenize "$dir/empty" x

finish "tokenize"
