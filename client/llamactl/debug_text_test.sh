#!/bin/sh
# SPDX-License-Identifier: MIT
# The commands debug sampler and debug template: output, state over steps, errors.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"

ctl() {
	"$build/llamactl" --no-default-plugins --plugin-dir "$build/plugins/sampler/basic/.libs" \
		--plugin-dir "$build/plugins/tokenizer/bpe/.libs" "$@"
}

# 1.0 2.0 0.0 2.0, and -inf 0.0
printf '\000\000\200\077\000\000\000\100\000\000\000\000\000\000\000\100' >"$dir/a.f32"
printf '\000\000\200\377\000\000\000\000' >"$dir/b.f32"

ctl debug sampler --chain '[{"sampler":"top_k","k":2}]' --logits "$dir/a.f32" --json >"$dir/have"
same 'top_k' '[\n  {"id": 1, "logit": 2, "p": 0.5},\n  {"id": 3, "logit": 2, "p": 0.5}\n]\n'
ctl debug sampler --chain '[{"sampler":"penalties","repeat":2},"greedy"]' --history 1,3,3 \
	--logits "$dir/a.f32" --ids 7,1,5,3 --json >"$dir/have"
same 'history and ids' '[\n  {"id": 7, "logit": 1, "p": 0.29692274},\n  {"id": 1, "logit": 1, "p": 0.29692274},\n  {"id": 5, "logit": 0, "p": 0.10923177},\n  {"id": 3, "logit": 1, "p": 0.29692274}\n]\n'
ctl debug sampler --chain '[{"sampler":"temp","t":1}]' --logits "$dir/b.f32" --json >"$dir/have"
same 'infinity' '[\n  {"id": 0, "logit": "-inf", "p": 0},\n  {"id": 1, "logit": 0, "p": 1}\n]\n'
printf '[{"logits":"%s","accept":1},{"logits":"%s"}]' "$dir/b.f32" "$dir/b.f32" >"$dir/steps.json"
ctl debug sampler --chain '[{"sampler":"penalties","freq":1}]' --steps "$dir/steps.json" --json |
	grep -c '"logit": -1,' >"$dir/have"
same 'steps' '1\n'
ctl debug sampler --chain '["greedy"]' --logits "$dir/b.f32" >"$dir/have"
same 'text' '       0          -inf  0\n       1             0  1  *\n'

refused 2 'chain' debug sampler --logits "$dir/a.f32"
refused 2 'logits' debug sampler --chain '["greedy"]'
refused 1 'nosuch' debug sampler --chain '["nosuch"]' --logits "$dir/a.f32"
refused 1 'k is -9' debug sampler --chain '[{"sampler":"top_k","k":-9}]' --logits "$dir/a.f32"
refused 1 '2 tokens, but there are 4' debug sampler --chain '["greedy"]' --logits "$dir/a.f32" --ids 1,2
refused 1 'is not a token id' debug sampler --chain '["greedy"]' --logits "$dir/a.f32" --history 1,x
refused 1 'missing.f32' debug sampler --chain '["greedy"]' --logits "$dir/missing.f32"
refused 1 'steps.json' debug sampler --chain '["greedy"]' --logits "$dir/steps.json"
printf '[{"accept":1}]' >"$dir/bad.json"
refused 1 'step 0' debug sampler --chain '["greedy"]' --steps "$dir/bad.json"
refused 1 'needs a vocabulary' debug sampler --chain '["infill"]' --logits "$dir/a.f32"

printf '{{ x }} {{ strftime_now("%%Y-%%m-%%d %%H:%%M:%%S") }}\n' >"$dir/t.jinja"
printf '{"x": "a\\u0000\303\251"}' >"$dir/x.json"
ctl debug template "$dir/t.jinja" --input "$dir/x.json" --now 2026-09-28T12:34:56 >"$dir/have"
same 'template' 'a\0000\0303\0251 2026-09-28 12:34:56'
: >"$dir/empty.jinja"
ctl debug template "$dir/empty.jinja" >"$dir/have"
same 'empty template' ''
printf '{{ raise_exception("roles must " ~ y) }}' >"$dir/raise.jinja"
printf '{"y": "alternate"}' >"$dir/y.json"
refused 1 'roles must alternate' debug template "$dir/raise.jinja" --input "$dir/y.json"
printf '{%% if %%}' >"$dir/bad.jinja"
refused 1 'bad.jinja: template line 1' debug template "$dir/bad.jinja"
refused 1 'x.jinja' debug template "$dir/x.jinja"
refused 1 'not JSON' debug template "$dir/t.jinja" --input "$dir/t.jinja"
refused 1 'not a JSON object' debug template "$dir/t.jinja" --input "$dir/bad.json"
ctl debug template --list | grep -c . >"$dir/have"
same 'built-in templates' '54\n'
printf '{"messages": [{"role": "user", "content": "hi"}], "add_generation_prompt": true}' >"$dir/c.json"
ctl debug template chatml --input "$dir/c.json" >"$dir/have"
same 'a built-in template' '<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n'
ctl debug template chatml --input "$dir/c.json" --json >"$dir/have"
same 'a text as JSON' '{\n  "text": "<|im_start|>user\\nhi<|im_end|>\\n<|im_start|>assistant\\n"\n}\n'
ctl debug template --list --json | grep -c '^  "' >"$dir/have"
same 'built-in templates as JSON' '54\n'
refused 1 'nosuch' debug template nosuch
refused 2 'FILE is missing' debug template
ctl debug template chatml --caps | grep -c '"system": true\|"tools": false' >"$dir/have"
same 'what a template can do' '2\n'

printf 'ok <tool_call>{"name": "f", "arguments": {"a": "\303\251"}}</tool_call>' >"$dir/answer"
ctl debug parse hermes <"$dir/answer" >"$dir/have"
same 'an answer taken apart' '{"content":"ok"}\n{"call":"f"}\n{"arguments":"{\\"a\\": \\"\303\251\\"}"}\n{"end":true}\n'
ctl debug parse none <"$dir/answer" | grep -c '"content"' >"$dir/have"
same 'an answer that is content' '1\n'
ctl debug parse hermes --thinks --chunk 1 --markup <"$dir/answer" | grep -c '"reasoning"' >"$dir/have"
same 'a thought byte by byte' '55\n'
ctl debug parse --list | grep -cx 'hermes\|llama3\|mistral\|gpt-oss' >"$dir/have"
same 'names of formats' '4\n'
ctl debug parse hermes --json <"$dir/answer" >"$dir/have"
same 'events as one list' '[\n  {"content":"ok"},\n  {"call":"f"},\n  {"arguments":"{\\"a\\": \\"\303\251\\"}"},\n  {"end":true}\n]\n'
ctl debug parse hermes --json </dev/null >"$dir/have"
same 'no events' '[]\n'
ctl debug parse --list --json | grep -c '^  "' >"$dir/have"
ctl debug parse --list | wc -l >"$dir/want"
holds 'a list of formats' cmp -s "$dir/have" "$dir/want"
refused 1 'nosuch' debug parse nosuch
refused 2 'FORMAT is missing' debug parse
refused 2 'is not a time' debug template "$dir/t.jinja" --now yesterday
printf 'GGUFxxxx' >"$dir/model.gguf"
refused 1 'model.gguf' debug template "$dir/model.gguf"

if [ -d "${LLAMAD_PARITY_DIR:-/nonexistent}/samplers" ]; then
	refused 1 'no chat template' debug template "$LLAMAD_PARITY_DIR/samplers/byte-vocab.gguf"
	ctl debug sampler --chain '[{"sampler":"dry","multiplier":1,"breakers":["\n"]}]' \
		--vocab "$LLAMAD_PARITY_DIR/samplers/byte-vocab.gguf" --history 97,98,97,98 \
		--logits "$dir/b.f32" --ids 97,98 --json | grep -c '"id": 97, "logit": "-inf"' >"$dir/have"
	same 'vocabulary' '1\n'
else
	echo "SKIP: debug_text_test: vocabulary: no parity pack"
fi

finish "debug sampler and template"
