#!/bin/sh
# SPDX-License-Identifier: MIT
# The commands that run a model, as a user or a script sees them: standard output, exit statuses,
# and one error message on standard error that names the file or object at fault.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
model=$dir/full.gguf
"$build/tests/mktiny" full 5 "$model" || exit 99
"$build/tests/mktiny" window 6 "$dir/window.gguf" || exit 99
"$build/tests/mktiny" hybrid 7 "$dir/hybrid.gguf" || exit 99

# -- run --
does run "$model" -p Hello -n 20 --temp 0
cp "$dir/out" "$dir/greedy"
holds "an answer ends in one newline" [ "$(tail -c 1 "$dir/greedy" | od -An -tx1 | tr -d ' ')" = 0a ]
holds "20 characters and a newline" [ "$(wc -c <"$dir/greedy")" -eq 21 ]
does run "$model" -p Hello -n 20 --temp 0 -t 2 -c 64 --kv-type f32
holds "threads and context change nothing" cmp -s "$dir/out" "$dir/greedy"
printf Hello | ctl run "$model" -n 20 --temp 0 >"$dir/out" 2>"$dir/err"
holds "the prompt from standard input" cmp -s "$dir/out" "$dir/greedy"
does run "$model" -p Hello -n 8 --temp 1 --seed 3
cp "$dir/out" "$dir/seed3"
does run "$model" -p Hello -n 8 --temp 1 --seed 3 --top-k 0 --top-p 1 --min-p 0
does run "$model" -p Hello -n 8 --temp 1 --seed 3
holds "the same seed, the same text" cmp -s "$dir/out" "$dir/seed3"
does run "$model" -p Hello -n 20 --temp 0 --json
holds "json has the tokens" grep -q '"n_out": 20' "$dir/out"
holds "json says why it ended" grep -q '"finish": "length"' "$dir/out"
stop=$(cut -c 5-8 "$dir/greedy")
does run "$model" -p Hello -n 20 --temp 0 --stop "$stop"
holds "an answer ends before a stop sequence" \
	[ "$(cat "$dir/out")" = "$(awk -v s="$stop" '{ print substr($0, 1, index($0, s) - 1) }' "$dir/greedy")" ]
does run "$model" -p Hello -n 0
holds "no tokens give an empty line" [ "$(wc -c <"$dir/out")" -eq 1 ]
does run "$model" -p Hello -n 20 --temp 0 --repeat-penalty 1.5 --frequency-penalty 0.5 \
	--presence-penalty 0.5
holds "penalties change the text" [ "$(cat "$dir/out")" != "$(cat "$dir/greedy")" ]
printf 'a\nb\n' | ctl run "$model" -i -n 5 --temp 0 >"$dir/out" 2>"$dir/err"
holds "interactive: an answer for each line" [ "$(wc -l <"$dir/out")" -ge 2 ]

# -- conversations --
does run "$model" -p Hello -n 20 --temp 0 --template '{{ messages[0].content }}'
holds "a template that adds nothing changes nothing" cmp -s "$dir/out" "$dir/greedy"
does run "$model" -p lo -n 20 --temp 0 --system Hel \
	--template '{{ messages[0].content }}{{ messages[1].content }}'
holds "the system message precedes the prompt" cmp -s "$dir/out" "$dir/greedy"
does run "$model" -p x -n 20 --temp 0 --template '{{ k }}{{ n }}' --template-arg k=Hell \
	--template-arg 'n="o"'
holds "template arguments are JSON or text" cmp -s "$dir/out" "$dir/greedy"
printf '{%% for m in messages %%}{{ m.content }}{%% endfor %%}' >"$dir/t.jinja"
does run "$model" -p Hello -n 20 --temp 0 --template "$dir/t.jinja"
holds "a template from a file" cmp -s "$dir/out" "$dir/greedy"
does run "$model" -p Hello -n 20 --temp 0 --raw
holds "--raw continues plain text" cmp -s "$dir/out" "$dir/greedy"
printf 'a\nb\n' | ctl run "$model" -i -n 5 --temp 0 --template "$dir/t.jinja" >"$dir/out" 2>"$dir/err"
holds "a conversation: an answer for each line" [ "$(wc -l <"$dir/out")" -ge 2 ]
refused 1 'chat template "nosuch" is neither' run "$model" -p x --template nosuch
refused 1 '^llamactl run: the model has no chat template.*--template chatml.*--raw' \
	run "$model" -p x --system y
refused 1 'chat template: no!' run "$model" -p x --template '{{ raise_exception("no!") }}'
refused 1 'more than 268435456 bytes of memory' run "$model" -p x \
	--template '{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}'
refused 2 'not KEY=VALUE' run "$model" -p x --template-arg k
refused 2 'raw cannot be combined' run "$model" -p x --raw --system y

# -- grammars --
printf 'root ::= "yes" | "no"\n' >"$dir/g.gbnf"
does run "$model" -p Hello -n 20 --temp 0 --ignore-eos --grammar "$dir/g.gbnf"
holds "an answer follows its grammar" grep -qx 'yes\|no' "$dir/out"
does run "$model" -p Hello -n 90 --temp 1 --seed 1 -j '{"enum": ["ab", 7]}'
holds "an answer follows its schema" grep -qx '"ab"\|7' "$dir/out"
does run "$model" -p Hello -n 90 --temp 0 -j '{"enum": ["ab", 7]}' --json
holds "its end is the end of the answer" grep -q '"finish": "eog"' "$dir/out"
does run "$model" -p Hello -n 20 --temp 0 --grammar "$dir/g.gbnf" --grammar-trigger '~~~~'
holds "before its trigger a grammar says nothing" cmp -s "$dir/out" "$dir/greedy"
printf 'root ::= "key: " [a-z]{2} "; done"\n' >"$dir/g.gbnf"
does run "$model" -p Hello -n 90 --temp 0 --grammar "$dir/g.gbnf" --jump off --json
cp "$dir/out" "$dir/off"
holds "jumps are off" grep -q '"n_forced": 0' "$dir/out"
does run "$model" -p Hello -n 90 --temp 0 --grammar "$dir/g.gbnf" --json
holds "tokens without a choice take no step" grep -q '"n_forced": [1-9]' "$dir/out"
holds "and are the same" \
	[ "$(grep -v '_ms\|n_forced' "$dir/out")" = "$(grep -v '_ms\|n_forced' "$dir/off")" ]
does run "$model" -p Hello -n 90 --temp 0 --grammar "$dir/g.gbnf" --jump text
holds "forced text" grep -qx 'key: [a-z][a-z]; done' "$dir/out"
refused 2 'jump' run "$model" -p x --jump all
does run "$model" -p Hello -n 20 --temp 0 --heal
holds "what begins nothing longer is not healed" cmp -s "$dir/out" "$dir/greedy"
printf 'root ::= a\na ::= a "x"\n' >"$dir/g.gbnf"
refused 1 'grammar: ' run "$model" -p x --grammar "$dir/g.gbnf"
refused 1 'json_schema: ' run "$model" -p x -j '{"type": "nonsense"}'
refused 1 'json_schema: ' run "$model" -p x -j '{'
refused 2 'exclude each other' run "$model" -p x -j '{}' --grammar "$dir/g.gbnf"
refused 2 'requires --grammar' run "$model" -p x --grammar-trigger x
printf 'root ::= "\\u00e9"\n' >"$dir/g.gbnf"
refused 1 'the grammar allows no token' run "$model" -p x --grammar "$dir/g.gbnf"

# -- order of samplers --
does run "$model" -p Hello -n 8 --temp 1 --seed 3 --order kypmt
does run "$model" -p Hello -n 8 --temp 1 --seed 3 --order temperature-first
does run "$model" -p Hello -n 8 --temp 1 --seed 3 --order default
holds "the default order has a name" cmp -s "$dir/out" "$dir/seed3"
refused 1 'nonsense' run "$model" -p x --order top_k,nonsense
does run "$model" -p Hello -n 20 --chain '[{"sampler": "top_k", "k": 1}, "dist"]'
holds "a chain with parameters" cmp -s "$dir/out" "$dir/greedy"
refused 1 "chain.*nonsense\|nonsense" run "$model" -p x --chain '["nonsense", "dist"]'
refused 1 '^llamactl run: --chain: ' run "$model" -p x --chain '{'
refused 2 'chain and --temp exclude each other' run "$model" -p x --chain '["dist"]' --temp 1
refused 2 'chain and --order exclude each other' run "$model" -p x --chain '["dist"]' --order default

# a reader that goes away ends the command without a word
{
	ctl run "$model" -p Hello --ignore-eos -c 200000 2>"$dir/err"
	echo $? >"$dir/status"
} | head -c 1 >"$dir/out"
holds "a closed pipe is status 141, not $(cat "$dir/status")" [ "$(cat "$dir/status")" -eq 141 ]
holds "a closed pipe has no message" [ ! -s "$dir/err" ]

refused 1 "$dir/nothing.gguf: no such file$" run "$dir/nothing.gguf" -p x
does run "$model" Hello -n 20 --temp 0
holds "the prompt as an argument" cmp -s "$dir/out" "$dir/greedy"
refused 2 'exclude each other' run "$model" -p Hello Hello
printf 'a\nb\n' | ctl chat "$model" -n 5 --temp 0 >"$dir/out" 2>"$dir/err"
holds "chat: an answer for each line" [ "$(wc -l <"$dir/out")" -ge 2 ]
refused 1 "^llamactl run: the model has no text vocabulary" run "$dir/window.gguf" -p Hello
refused 1 'exceeds the available context size of 4' run "$model" -p 'Hello there' -c 4
refused 1 "backend 'nonsense'\|nonsense" run "$model" -p x --backend nonsense
refused 1 '^llamactl run: prompt: 0 tokens, at least 1 is required' run "$model" -p ''
head -c 16777217 /dev/zero | ctl run "$model" >"$dir/out" 2>"$dir/err"
holds "a prompt that is too long" grep -q 'standard input: more than 16777216 bytes$' "$dir/err"
refused 2 'is below -1' run "$model" -p x -n -5
refused 1 "kv-type" run "$model" -p x --kv-type q9
refused 1 "kv-type-v: 'q8_1' is not a data type" run "$model" -p x --cache-type-v q8_1
does run "$model" -p Hello -n 20 --temp 0 -ctk f32 --kv-type-v f16
does run "$model" -p Hello -n 60 --temp 0 --json --draft-max 0
cp "$dir/out" "$dir/off"
does run "$model" -p Hello -n 60 --temp 0 --json -md "$model"
holds "a draft model changes no token" \
	[ "$(grep -v '_ms\|n_drafted\|n_accepted' "$dir/out")" = "$(grep -v '_ms\|n_drafted\|n_accepted' "$dir/off")" ]
holds "the guesses of a draft model are counted" grep -q '"n_accepted": [1-9]' "$dir/out"
refused 1 'draft model .*hybrid.gguf: ' run "$model" -p x --draft-model "$dir/hybrid.gguf"
refused 2 "not one of" run "$model" -p x --activations f64
refused 2 "exclude each other" run "$model" -i --json
head -c 3000 "$model" >"$dir/cut.gguf"
refused 1 "$dir/cut.gguf: " run "$dir/cut.gguf" -p x

# Ctrl-C: after the first character it ends with what was written, a newline and status 130
mkfifo "$dir/pipe"
"$build/llamactl" run "$model" -p Hello --ignore-eos -c 200000 >"$dir/pipe" 2>"$dir/err" </dev/null &
pid=$!
exec 3<"$dir/pipe"
dd bs=1 count=1 <&3 >"$dir/out" 2>/dev/null
kill -INT $pid
cat <&3 >>"$dir/out"
wait $pid
status=$?
exec 3<&-
holds "an interrupt is status 130, not $status" [ $status -eq 130 ]
holds "an interrupt has a sentence" grep -q 'stopped by a signal' "$dir/err"
holds "an interrupted answer ends in a newline" \
	[ "$(tail -c 1 "$dir/out" | od -An -tx1 | tr -d ' ')" = 0a ]

# -- debug logits --
for m in full window hybrid; do
	does debug logits "$dir/$m.gguf" --tokens 1,2,3,4,5 --tokens 9,8 -o "$dir/batch.f32"
	holds "$m: shape" [ "$(cat "$dir/out")" = "7 96" ]
	does debug logits "$dir/$m.gguf" --tokens 1,2,3,4,5 --tokens 9,8 -o "$dir/step.f32" --one-by-one
	holds "$m: batch and steps are equal" cmp -s "$dir/batch.f32" "$dir/step.f32"
	does debug logits "$dir/$m.gguf" --tokens 1,2,3,4,5 -o "$dir/one.f32" --all
	holds "$m: rows of the first sequence come first" \
		cmp -s -n $((5 * 96 * 4)) "$dir/batch.f32" "$dir/one.f32"
done
does debug logits "$model" --tokens 1,2,3 --embd -o "$dir/e.f32"
holds "embeddings: a row for each token" [ "$(cat "$dir/out")" = "3 64" ]
does debug logits "$model" --tokens 1,2,3 --tokens 4 --embd --pooling mean -o "$dir/e.f32" --json
holds "pooled: a row for each sequence" grep -q '"rows": 2' "$dir/out"
holds "pooled rows in the file" [ "$(wc -c <"$dir/e.f32")" -eq $((2 * 64 * 4)) ]
refused 1 "$model: token 1 is 96, but the model's vocabulary has 96 tokens" debug logits "$model" --tokens 1,96
refused 1 "entry 1, 'x'" debug logits "$model" --tokens 1,x
refused 2 'give one of --tokens' debug logits "$model"
refused 2 'must be given together' debug logits "$model" --enc 1,2
refused 2 'exclude each other' debug logits "$model" --tokens 1 --all --one-by-one
refused 1 'encoder' debug logits "$model" --enc 1 --dec 2
mkdir "$dir/kept"
refused 1 'token 1 is 96' debug logits "$model" --tokens 1,96 -o "$dir/kept/o.f32"
holds "a failure leaves no file" [ -z "$(ls -A "$dir/kept")" ]
echo before >"$dir/kept/o.f32"
refused 1 'token 1 is 96' debug logits "$model" --tokens 1,96 -o "$dir/kept/o.f32"
holds "a failure leaves the file as it was" [ "$(cat "$dir/kept"/*)" = before ]
does debug logits "$model" --tokens 1,2 -o "$dir/kept/o.f32"
holds "success takes its place" [ "$(wc -c <"$dir/kept/o.f32")" -eq 768 ]
holds "and leaves nothing beside it" [ "$(ls -A "$dir/kept")" = o.f32 ]
refused 1 '/nonexistent: cannot write there' debug logits "$model" --tokens 1 -o /nonexistent/out.f32
head -c 512 /dev/zero >"$dir/in.f32"
does debug logits "$model" --input "$dir/in.f32" --width 64 --pos 0,1 -o "$dir/r.f32"
holds "rows from a file" [ "$(cat "$dir/out")" = "2 96" ]
refused 1 'rows of 32 numbers, but the model takes 64' debug logits "$model" --input "$dir/in.f32" --width 32
refused 1 'not a whole number of rows of 60' debug logits "$model" --input "$dir/in.f32" --width 60
refused 1 '1 lists with 3 numbers' debug logits "$model" --input "$dir/in.f32" --width 64 --pos 0,1,2

# -- debug observe, debug diff --
does debug observe "$model" --tokens 1,2,3
holds "observe shows the logits" grep -q '^logits .* 3 x 96' "$dir/out"
does debug observe "$model" --tokens 1,2,3 --value logits
holds "a value is a row on a line" [ "$(wc -l <"$dir/out")" -eq 3 ]
does debug observe "$model" --tokens 1 --json
refused 1 "no value 'nix'" debug observe "$model" --tokens 1 --value nix
does debug diff "$model" --tokens 1,2,3 --backend ref --against ref
refused 2 'against NAME is missing' debug diff "$model" --tokens 1

# -- bench, perplexity --
does bench "$model" -p 16 -n 4 -r 3 -t 1 --json
for word in '"test": "pp16"' '"test": "tg4"' '"threads": 1' '"backend": ' '"median": ' '"min": ' \
	'"max": ' '"model": ' '"machine": '; do
	holds "bench: $word" grep -q "$word" "$dir/out"
done
does bench "$model" -p 8 -n 4 -r 1 -t 1 --seqs 3 --depth 16 --json
holds "bench: sequences at a depth" grep -q '"test": "tg4x3@16"' "$dir/out"
holds "bench: prompt at a depth" grep -q '"test": "pp8@16"' "$dir/out"
does bench "$model" -p 32 -n 4 -r 1 -t 1 --threads-batch 2 --phases --json
for word in '"threads": 1' '"threads_batch": 2' '"wait_percent": 0[.0]*,' '"wait_percent": [0-9.]*[1-9]' '"linear": [1-9]'; do
	holds "bench --phases: $word" grep -q "$word" "$dir/out"
done
does bench "$model" -p 0 -n 4 -r 1 -t 2 --cpu-strict on --phases
holds "bench --phases: a share of waiting" grep -q '^  threads waited [0-9.]* %' "$dir/out"
refused 1 "cpus: '5-4' is not a set of processors" bench "$model" --cpus 5-4
refused 2 'nothing to measure' bench "$model" -p 0 -n 0
awk 'BEGIN { for (i = 0; i < 200; i++) printf "%c", 33 + i * 7 % 90 }' >"$dir/text"
does perplexity "$model" --text "$dir/text" --ctx 32 --json
holds "perplexity: windows" grep -q '"windows": 6' "$dir/out"
holds "perplexity: scored tokens" grep -q '"scored": 90' "$dir/out"
does perplexity "$model" --text "$dir/text" --plain --ctx 100 --json
holds "plain: scored tokens" grep -q '"scored": 99' "$dir/out"
refused 1 'a window of 512 is not full' perplexity "$model" --text "$dir/text" --ctx 512
refused 2 'give --text FILE' perplexity "$model"
refused 1 "$dir/none" perplexity "$model" --text "$dir/none"

finish "llamactl models"
