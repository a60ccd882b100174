#!/bin/sh
# SPDX-License-Identifier: MIT
# The sampling parameters of requests that set none: those of the configuration, of the model's file,
# or the built-in ones, the same for every kind of client; and how long a model stays in memory.
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"
command -v curl >/dev/null || {
	echo "SKIP: there is no curl"
	exit 77
}

"$build/tests/mktiny" greedy 5 "$dir/greedy.gguf" || exit 99 # recommends the temperature 0
cat >"$dir/conf" <<'EOF'
[model hot]
temp = 5
top_k = 0
top_p = 1
min_p = 0
system = Be brief.
template = chatml
EOF
start_http
ctl add greedy "$dir/greedy.gguf" >/dev/null || { cat "$dir/log"; exit 1; }
does alias greedy hot
u=http://$http

# each prints the answer to one prompt: FUNCTION MODEL SEED [temp 0]
generate() {
	ctl generate "$1" -p 'the cat' -n 12 --seed "$2" --raw --ignore-eos ${3:+--temp 0}
}
embedded() {
	"$build/llamactl" run "$dir/greedy.gguf" -p 'the cat' -n 12 --seed "$2" --ignore-eos ${3:+--temp 0}
}
completion() {
	curl -s -m 60 -d "{\"model\":\"$1\",\"prompt\":\"the cat\",\"n_predict\":12,\"seed\":$2,
		\"ignore_eos\":true${3:+,\"temperature\":0}}" "$u/completion" |
		sed 's/.*"content":"\(\([^"\\]\|\\.\)*\)".*/\1/'
}
ollama() {
	curl -s -m 60 -d "{\"model\":\"$1\",\"prompt\":\"the cat\",\"raw\":true,\"stream\":false,
		\"options\":{\"num_predict\":12,\"seed\":$2${3:+,\"temperature\":0}}}" "$u/api/generate" |
		sed 's/.*"response":"\(\([^"\\]\|\\.\)*\)".*/\1/'
}
python_client() {
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$src/bindings/python "$python" - "$url" "$@" <<'EOF'
import sys, llamad
url, model, seed, *zero = sys.argv[1:]
with llamad.Client(url) as c:
    print(c.generate(model, "the cat", raw=True, n=12, seed=int(seed), ignore_eog=True, stream=False,
                     **({"temp": 0} if zero else {})).text)
EOF
}

for front in generate embedded completion ollama ${python:+python_client}; do
	want=$($front greedy 1 greedy)
	holds "$front: an answer" [ -n "$want" ]
	for seed in 1 2 3; do
		holds "$front: the model's temperature" [ "$($front greedy $seed)" = "$want" ]
	done
	[ $front = embedded ] && continue # has no configuration
	holds "$front: an explicit value precedes the preset" [ "$($front hot 2 greedy)" = "$want" ]
	holds "$front: the preset precedes the model" [ "$($front hot 1)" != "$($front hot 2)" ]
done

# what is in effect is shown
fetch 200 '"params":{"temperature":0,"top_k":40,"top_p":0.95' "$u/props?model=greedy"
fetch 200 '"params":{"temperature":5,"top_k":0,"top_p":1,"min_p":0,.*"repeat_last_n":7' "$u/props?model=hot"
holds "what its template supports" grep -q '"supports_system_role":true,"supports_tools":false' "$dir/body"
holds "the system prompt" grep -q '"system_prompt":"Be brief."' "$dir/body"
# and used in an answer: from the configuration, the model, and the request
used() {
	fetch 200 "\"generation_settings\":{$2" \
		-d "{\"model\":\"$1\",\"prompt\":\"a\",\"n_predict\":2,\"ignore_eos\":true${3:+,$3}}" "$u/completion"
}
used hot '"seed":3,"temperature":5,"top_k":0,"top_p":1,"min_p":0,.*"repeat_last_n":7,.*"n_predict":2,' '"seed":3'
used greedy '"seed":[0-9]*,"temperature":0,"top_k":40,"top_p":0.95,.*"stop":\[\],"ignore_eos":true,"stream":false,"n_probs":0}'
used hot '"seed":[0-9]*,"temperature":0.5,"top_k":0,"top_p":1,.*"stop":\["x","y"\],.*"stream":true,"n_probs":1}' \
	'"temperature":0.5,"stop":["x","y"],"stream":true,"n_probs":1'
fetch 200 '"parameters":"temperature  *5\\ntop_k  *0' -d '{"model":"hot"}' "$u/api/show"
holds "the system prompt" grep -q '"system":"Be brief."' "$dir/body"
holds "only defaults of this model" sh -c '! grep -q mirostat "$1"' - "$dir/body"
does info hot
holds "info names the source" grep -q '^temp  *5 (from the configuration)$' "$dir/out"
does info greedy
holds "info names the source" grep -q '^temp  *0 (from the model)$' "$dir/out"
fetch 200 '^{"prompt":"<|im_start|>system.nBe brief.<|im_end|>' \
	-d '{"model":"hot","messages":[{"role":"user","content":"hi"}]}' "$u/apply-template"

# a reload replaces presets
cat >"$dir/conf" <<'EOF'
[model hot]
temp = 4
EOF
does reload
holds "the key of presets" grep -q '^changed: .*model' "$dir/out"
fetch 200 '"params":{"temperature":4,"top_k":40' "$u/props?model=hot"

# keys of [engine] hold for models that are loaded afterwards, also after several reloads
for ctx in 40 48 56; do
	printf '[engine]\nctx = %s\nkv_type = f16\n' $ctx >"$dir/conf"
	does reload
	holds "the keys of [engine]" grep -q '^changed: .*ctx' "$dir/out"
done
does load hot
before=$(ctl ps --json | tr -d ' \n' | grep -o '"n_ctx":[0-9]*' | head -n 1)
does unload hot
does load hot
after=$(ctl ps --json | tr -d ' \n' | grep -o '"n_ctx":[0-9]*' | head -n 1)
holds "the context of the loaded model, $before, then $after" [ "$after" = '"n_ctx":56' ]
printf '[model hot]\ntemp = 4\n' >"$dir/conf"
does reload

# when a model was added is known
now=$(date +%s)
fetch 200 . "$u/v1/models"
added=$(sed 's/.*"created":\([0-9]*\).*/\1/' "$dir/body")
holds "created: $added" [ "$added" -le "$now" ] && holds "created: $added" [ "$added" -gt $((now - 3600)) ]
fetch 200 '"modified_at":"20[2-9][0-9]-' "$u/api/tags"

# ---- how long a model stays in memory ----
for wrong in '"long"' '"5 m"' '"m"' '""' true; do
	fetch 400 '^{"error":"keep_alive: ' -d "{\"model\":\"greedy\",\"keep_alive\":$wrong}" "$u/api/generate"
done
# keep EXPECTED VALUE: what ps says after a request
keep() {
	fetch 200 '"done":true' -d "{\"model\":\"greedy\",\"prompt\":\"a\",\"raw\":true,\"stream\":false,
		\"options\":{\"num_predict\":1},\"keep_alive\":$2}" "$u/api/generate"
	does ps --json
	holds "keep_alive $2: $(cat "$dir/out")" grep -q "\"keep_alive_ms\": $1[,}]" "$dir/out"
}
keep 90000 '"1m30s"'
keep 15000 15.0
keep 70000 '"70"'
keep 12500 '"12500ms"'
keep -1 -1
keep -1 '"-5m"'
fetch 200 '"embeddings"' -d '{"model":"greedy","input":"a","keep_alive":"2h"}' "$u/api/embed"
does ps --json
holds "keep_alive of embed" grep -q '"keep_alive_ms": 7200000[,}]' "$dir/out"
fetch 200 '"done_reason":"load"' -d '{"model":"greedy","keep_alive":"3h"}' "$u/api/generate"
does ps --json
holds "keep_alive of a load" grep -q '"keep_alive_ms": 10800000[,}]' "$dir/out"
# 0: when the last of many is answered, the model leaves
for i in 1 2 3 4 5 6 7 8; do
	curl -s -m 60 -o "$dir/many.$i" -d '{"model":"greedy","prompt":"a","raw":true,"stream":false,
		"options":{"num_predict":20},"keep_alive":0}' "$u/api/generate" &
	curls="$curls $!"
done
wait $curls
for i in 1 2 3 4 5 6 7 8; do
	holds "answer $i: $(cat "$dir/many.$i")" grep -q '"done":true' "$dir/many.$i"
done
tries=0
until [ "$(curl -s "$u/api/ps")" = '{"models":[]}' ] || [ $tries -gt 1200 ]; do
	tries=$((tries + 1))
	sleep 0.05 # asks again; nothing depends on its length
done
holds "the model has left" [ $tries -le 1200 ]
fetch 200 '"done_reason":"unload"' -d '{"model":"greedy","keep_alive":0}' "$u/api/generate"
fetch 200 '"done_reason":"load"' -d '{"model":"greedy"}' "$u/api/generate"
fetch 200 '"done_reason":"unload"' -d '{"model":"greedy","keep_alive":"0s"}' "$u/api/generate"

# ---- a name that does not exist ----
fetch 200 '"model":"nobody"' -d '{"model":"nobody","prompt":"a","max_tokens":1}' "$u/v1/completions"
stop
printf '[daemon]\nhttp_unknown_model = refuse\n' >"$dir/conf"
start_http
u=http://$http
for path in /v1/completions /completion /api/generate; do
	fetch 404 nobody -d '{"model":"nobody","prompt":"a"}' "$u$path"
done
fetch 404 nobody -d '{"model":"nobody","input":"a"}' "$u/v1/embeddings"
fetch 404 nobody -d '{"model":"nobody","content":"a"}' "$u/tokenize"
fetch 404 nobody "$u/props?model=nobody"
fetch 200 '"content":' -d '{"prompt":"a","n_predict":1}' "$u/completion"
stop
finish defaults_test
