#!/bin/sh
# SPDX-License-Identifier: MIT
# Every endpoint of the HTTP APIs, with a small model that has no chat template.
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"
command -v curl >/dev/null || {
	echo "SKIP: there is no curl"
	exit 77
}

"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
: >"$dir/conf"
start_http
ctl add tiny "$dir/full.gguf" >/dev/null || { cat "$dir/log"; exit 1; }
u=http://$http

# post CODE PATTERN PATH BODY
post() {
	fetch "$1" "$2" -H 'Content-Type: application/json' -d "$4" "$u$3"
}
# over the unix socket, as an administrator: admin CODE PATTERN CURL-ARGUMENT...
admin() {
	code=$1 pattern=$2
	shift 2
	fetch "$code" "$pattern" --unix-socket "$dir/http.sock" "$@"
}

# ---- OpenAI ----
fetch 200 '"object":"list","data":\[{"id":"tiny","object":"model"' "$u/v1/models"
fetch 200 '^{"id":"tiny"' "$u/v1/models/tiny"
fetch 404 '"type":"not_found_error"' "$u/v1/models/nosuch"
opts='"model":"tiny","max_tokens":6,"temperature":0,"ignore_eos":true'
post 200 '"finish_reason":"length"' /v1/completions "{$opts,\"prompt\":\"the cat\"}"
header '^content-type: application/json'
holds "usage" grep -q '"completion_tokens":6' "$dir/body"
post 200 '^data: \[DONE\]$' /v1/completions "{$opts,\"prompt\":\"the cat\",\"stream\":true}"
header '^content-type: text/event-stream'
post 200 '"text":"the cat' /v1/completions "{$opts,\"prompt\":\"the cat\",\"echo\":true}"
# several prompts, more than run at a time: each has its answer, and all of them count
post 200 '"text":"cat' /v1/completions "{$opts,\"prompt\":[\"the\",\"cat\"],\"echo\":true,\"n\":2}"
holds "two answers for each of two prompts" grep -q '"index":3' "$dir/body"
holds "tokens of both prompts, once" grep -q '"prompt_tokens":6,"completion_tokens":24' "$dir/body"
many=$(printf '[%d,2],' $(seq 3 22))
post 200 '"index":19,' /v1/completions "{$opts,\"prompt\":[${many%,}]}"
holds "20 answers" grep -q '"prompt_tokens":40,"completion_tokens":120' "$dir/body"
post 200 '"index":19,' /v1/completions "{$opts,\"prompt\":[${many%,}],\"stream\":true}"
holds "20 ends" [ "$(grep -c '"finish_reason":"length"' "$dir/body")" -eq 20 ]
post 200 '"completion_tokens":18' /v1/completions "{$opts,\"prompt\":\"the\",\"best_of\":3}"
post 200 '"token_logprobs":\[null,-' /v1/completions \
	'{"model":"tiny","max_tokens":0,"prompt":[[3,4,5],[6,7]],"echo":true,"logprobs":1}'
holds "nothing was generated" grep -q '"completion_tokens":0' "$dir/body"
post 400 '129' /v1/completions "{\"prompt\":[$(seq -s , 129 | sed 's/[0-9][0-9]*/\"a\"/g')]}"
post 400 '"param":"prompt"' /v1/completions "{$opts}"
post 400 '"param":"tempreature"' /v1/completions "{$opts,\"prompt\":\"a\",\"tempreature\":1}"
post 404 'template' /v1/chat/completions \
	"{$opts,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}"
post 200 '"role":"assistant"' /v1/chat/completions \
	"{$opts,\"chat_template\":\"chatml\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}"
# a required call: several are allowed, and a schema may refer to itself; without the token of "]" the
# list does not end
end=$(curl -s -d '{"content":"]"}' "$u/tokenize" | tr -dc '0-9')
call='"chat_template":"chatml","messages":[{"role":"user","content":"hi"}],"tool_choice":"required","tools":[
{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"x":{"$ref":"#/$defs/c"}},
"required":["x"],"additionalProperties":false,"$defs":{"c":{"enum":["a","b"]}}}}},
{"type":"function","function":{"name":"g","parameters":{"properties":{},"additionalProperties":false}}}]'
post 200 '"finish_reason":"tool_calls"' /v1/chat/completions \
	"{\"temperature\":0,\"parallel_tool_calls\":false,$call}"
holds "one call" [ "$(grep -o '"type":"function"' "$dir/body" | wc -l)" -eq 1 ]
post 200 '"finish_reason":"length"' /v1/chat/completions \
	"{\"temperature\":0,\"max_tokens\":300,\"logit_bias\":{\"$end\":-100},$call}"
holds "several calls" [ "$(grep -o '"type":"function"' "$dir/body" | wc -l)" -gt 1 ]
post 200 '"index":1,"id"' /v1/chat/completions \
	"{\"stream\":true,\"temperature\":0,\"max_tokens\":300,\"logit_bias\":{\"$end\":-100},$call}"
# in the format of the template, whose calls are not JSON alone
own=$(printf %s "$call" | sed 's/"chat_template":"chatml"/"chat_template":"{# <function= #}{{ messages[0].content }}"/')
post 200 '"finish_reason":"tool_calls"' /v1/chat/completions \
	"{\"temperature\":0,\"parallel_tool_calls\":false,\"logprobs\":true,$own}"
holds "the call is one of functionary: $(head -c 300 "$dir/body")" \
	grep -q '"content":\[{"token":"<"' "$dir/body"
holds "and has arguments" grep -q '"arguments":"{ *\\"x\\": *\\"[ab]\\" *}"\|"arguments":"{ *}"' "$dir/body"
# in the formats of further families, each found by its marker in the template; whole and streamed
calls_as() {
	call=$(printf %s "$call" | sed 's|"\$ref":"#/$defs/c"|"type":"string","enum":["a","b"]|; s|,"$defs":{"c":{"enum":\["a","b"\]}}||')
	own=$(printf %s "$call" | sed "s/\"chat_template\":\"chatml\"/\"chat_template\":\"{# $1 #}{{ messages[0].content }}\"/")
	post 200 '"finish_reason":"tool_calls"' /v1/chat/completions \
		"{\"temperature\":0,\"parallel_tool_calls\":false,\"logprobs\":true,$own}"
	holds "$1: the call begins with $2: $(head -c 300 "$dir/body")" \
		grep -q "\"content\":\[{\"token\":\"$2\"" "$dir/body"
	holds "$1: arguments: $(head -c 700 "$dir/body")" grep -q '"arguments":"{ *\\"x\\" *: *\\"[ab]\\" *}"\|"arguments":"{ *}"' "$dir/body"
	post 200 '"tool_calls":\[{"index":0,.*"arguments":' /v1/chat/completions \
		"{\"stream\":true,\"temperature\":0,\"parallel_tool_calls\":false,$own}"
	holds "$1: the end of the stream" grep -q '"finish_reason":"tool_calls"' "$dir/body"
}
calls_as '[TOOL_CALLS]' '\['
calls_as '[ARGS]' '\['
calls_as '<|channel|>' '<'
calls_as '<|tool_call_argument_begin|>' '<'
post 200 '^{"object":"list","data":\[{"object":"embedding","index":0,"embedding":\[[-0-9.e]*,[-0-9.e]*\]}' \
	/v1/embeddings '{"model":"tiny","input":["a","b"],"dimensions":2}'
holds "an index for each input" grep -q '"index":1,' "$dir/body"
holds "usage of embeddings" grep -q '"usage":{"prompt_tokens":[1-9][0-9]*,"total_tokens":[1-9]' "$dir/body"
# two floats are 8 bytes, in base64 12 characters
post 200 '"embedding":"[A-Za-z0-9+/]\{11\}="' /v1/embeddings \
	'{"input":[1,2,3],"dimensions":2,"encoding_format":"base64"}'
post 400 '"param":"input"' /v1/embeddings '{}'
post 400 '"param":"input\[1\]"' /v1/embeddings '{"input":["a",""]}'
post 400 '"param":"encoding_format"' /v1/embeddings '{"input":"a","encoding_format":"int8"}'
post 400 'dimensions: 5000, the vectors of the model have' /v1/embeddings '{"input":"a","dimensions":5000}'
post 400 'several lists' /v1/embeddings '{"input":[[1],[2]]}'
post 200 '"object":"response",.*"status":"incomplete",.*"output_tokens":6' /v1/responses \
	'{"input":"hi","chat_template":"chatml","max_output_tokens":6,"ignore_eos":true}'
post 200 '^event: response.incomplete$' /v1/responses \
	'{"input":"hi","chat_template":"chatml","max_output_tokens":6,"ignore_eos":true,"stream":true}'
post 200 '^{"object":"response.input_tokens","input_tokens":[1-9]' /v1/responses/input_tokens \
	'{"input":"hi","chat_template":"chatml"}'
post 400 '"param":"input"' /v1/responses '{}'

# ---- Anthropic ----
post 400 '^{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: is missing' \
	/v1/messages '{"model":"tiny","messages":[{"role":"user","content":"hi"}]}'
post 404 'template' /v1/messages/count_tokens '{"model":"tiny","messages":[{"role":"user","content":"hi"}]}'
post 400 '^{"type":"error"' /v1/messages/count_tokens '{}'

# ---- Ollama ----
fetch 200 '"version":"[0-9.]*"' "$u/api/version"
fetch 200 '"models":\[{"name":"tiny","model":"tiny"' "$u/api/tags"
post 200 '"done_reason":"load"' /api/generate '{"model":"tiny"}'
post 200 '"done_reason":"load"' /api/chat '{"model":"tiny","messages":[]}'
fetch 200 '"models":\[{"name":"tiny".*"expires_at":"20.*"context_length":[1-9]' "$u/api/ps"
post 200 '"model_info":{"general.*"capabilities":\["completion"\]' /api/show '{"model":"tiny"}'
holds "a digest of the usual length" sh -c 'curl -s "$1/api/ps" | grep -q "\"digest\":\"[0-9a-f]\{64\}\""' - "$u"
post 200 '"model_info":{.*"general.parameter_count":[1-9]' /api/show '{"model":"","name":"tiny"}'
post 404 '^{"error":' /api/show '{"model":"nosuch"}'
post 400 '^{"error":"model: is missing"}$' /api/show '{}'
post 200 '"done":true,"done_reason":"length"' /api/generate \
	'{"model":"tiny","prompt":"the cat","raw":true,"stream":false,"options":{"num_predict":4,"temperature":0}}'
post 200 '"done":true' /api/generate \
	'{"model":"tiny","prompt":"the cat","raw":true,"options":{"num_predict":4}}'
header '^content-type: application/x-ndjson'
post 200 '^{"model":"tiny","embeddings":\[\[[-0-9.e]*,[-0-9.e]*\],\[' /api/embed \
	'{"model":"tiny","input":["a","b"],"dimensions":2}'
post 200 '^{"embedding":\[[-0-9.]' /api/embeddings '{"model":"tiny","prompt":"a"}'
for path in embed embeddings; do
	post 400 '^{"error":"[a-z]*: is missing"}' /api/$path '{"model":"tiny"}'
done
for path in realtime audio/transcriptions audio/translations audio/speech images/generations moderations \
	chat/completions/control; do
	post 501 '^{"error":{"message":"not implemented: [A-Z][a-z ]*\.' /v1/$path '{}'
done
fetch 501 'no realtime sessions' "$u/v1/realtime"
fetch 501 'no cloud' "$u/api/status"
for path in me signout; do
	post 501 '^{"error":"not implemented: There are no accounts\."}' /api/$path '{}'
done
admin 501 'not uploaded' -d x http://localhost/api/blobs/sha256:00
admin 501 '' -I http://localhost/api/blobs/sha256:00
fetch 501 'ask /models' "$u/models/sse"
admin 501 '/api/pull' -d '{}' http://localhost/models
admin 501 '/api/delete' -X DELETE http://localhost/models
# llama.cpp's server has these without /v1 as well, and counts tokens of conversations
hi='"messages":[{"role":"user","content":"hi"}],"chat_template":"chatml"'
post 200 '"object":"chat.completion"' /chat/completions "{$hi,\"max_tokens\":2}"
post 200 '^{"object":"response.input_tokens","input_tokens":[1-9]' /v1/chat/completions/input_tokens "{$hi}"
post 200 '"input_tokens":[1-9]' /chat/completions/input_tokens "{$hi}"
post 200 '"object":"response"' /responses '{"input":"a","chat_template":"chatml","max_output_tokens":2}'
post 200 '"input_tokens":[1-9]' /responses/input_tokens '{"input":"a","chat_template":"chatml"}'
post 403 'role admin' /models/unload '{"model":"tiny"}'
admin 200 '^{"success":true}' -d '{"model":"tiny"}' http://localhost/models/unload
admin 200 '^{"success":true}' -d '{"model":"tiny"}' http://localhost/models/load
fetch 200 '"status":{"value":"loaded"}' "$u/models"
admin 404 'nosuch' -d '{"model":"nosuch"}' http://localhost/models/load
admin 400 'model: is missing' -d '{}' http://localhost/models/load
for path in push; do
	admin 501 '^{"error":' -d '{}' http://localhost/api/$path
done
post 403 . /api/copy '{"source":"tiny","destination":"other"}'
admin 200 '' -d '{"source":"tiny","destination":"other"}' http://localhost/api/copy
admin 200 '"id":"tiny".*"aliases":\["other"\]' http://localhost/v1/models/other
admin 400 'destination' -d '{"source":"tiny"}' http://localhost/api/copy
admin 200 '' -X DELETE -d '{"model":"other"}' http://localhost/api/delete
admin 404 . -X DELETE -d '{"model":"other"}' http://localhost/api/delete

# ---- llama.cpp ----
post 200 '"stop":true.*"tokens_predicted":4.*"stop_type":"limit"' /completion \
	'{"prompt":"the cat","n_predict":4,"temperature":0,"ignore_eos":true}'
post 200 '"tokens":\[[0-9]' /completion \
	'{"prompt":"the cat","n_predict":4,"temperature":0,"ignore_eos":true,"return_tokens":true}'
post 200 '^data: {"index":0,"content":"","tokens":\[\],"id_slot":-1,"stop":true' /completion \
	'{"prompt":"the cat","n_predict":4,"ignore_eos":true,"stream":true}'
post 200 '^\[{"index":0,.*{"index":1,' /completion '{"prompt":["the",[3,4]],"n_predict":2}'
post 200 '^{"tokens":\[[0-9, ]*\]}$' /tokenize '{"content":"the cat"}'
post 200 '"piece":' /tokenize '{"content":"the cat","model":"tiny","with_pieces":true}'
tokens=$(curl -s -d '{"content":"the cat"}' "$u/tokenize")
post 200 '^{"content":".*the cat"}$' /detokenize "$tokens"
post 400 'tokens: is missing' /detokenize '{}'
post 400 'content: is a number' /tokenize '{"content":3}'
fetch 200 '"total_slots":[1-9].*"model_alias":"tiny"' "$u/props"
fetch 200 '"model_alias":"tiny"' "$u/props?model=tiny"
holds "no template" grep -q '"chat_template_caps":{"supports_string_content":false,' "$dir/body"
post 200 '^{"n_predict":2,"has_new_line":false,"stop":true}$' /completion \
	'{"prompt":"the","n_predict":2,"grammar":"root ::= [ab]{9}","response_fields":["generation_settings/n_predict","has_new_line","stop","x/y"]}'
post 400 '"response_fields.*"' /completion '{"prompt":"the","response_fields":7}'
fetch 200 '"model_alias":"tiny"' "$u/props?model=nosuch" # the only model in memory
post 200 '^{"tokens":' /tokenize '{"content":"the cat","model":"nosuch"}'
post 200 '^{"content":' /detokenize '{"tokens":[3],"model":"nosuch"}'
post 200 '"content":"[ab]\{4\}"' /completion \
	'{"prompt":"the cat","n_predict":20,"guided_regex":"[ab]{4}"}'
post 400 'regex: byte 2: expected .).' /completion '{"prompt":"a","guided_regex":"(a"}'
# a structural tag: free text, which likes t best, and after the trigger t a value of the schema
t=$(curl -s -d '{"content":"t"}' "$u/tokenize" | tr -dc '0-9')
tag='{"type":"structural_tag","triggers":["t"],"structures":[{"begin":"t","schema":{"enum":[42]},"end":"!"}]}'
tag="\"max_tokens\":12,\"temperature\":0,\"logit_bias\":{\"$t\":99},\"response_format\":$tag"
post 200 '"text":"t42!t42!' /v1/completions "{$tag,\"prompt\":\"a\"}"
post 200 '"content":"t42!t42!' /v1/chat/completions \
	"{$tag,\"chat_template\":\"chatml\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}"
post 400 'structural_tag: no tag begins with the trigger' /v1/completions \
	"{\"prompt\":\"a\",\"response_format\":{\"type\":\"structural_tag\",\"triggers\":[\"x\",\"y\"],
\"structures\":[{\"begin\":\"x\",\"schema\":{},\"end\":\"\"}]}}"
fetch 200 '^\[{"id":0,"model":"tiny"' "$u/slots"
holds "no slot is busy" sh -c "! grep -q '\"is_processing\":true' '$dir/body'"
# a running answer is seen with the values that it is computed with, and the next user's is not
mkfifo "$dir/answer"
curl -sN -d '{"prompt":"the cat","stream":true,"n_predict":100000,"ignore_eos":true,"context_shift":true,"top_k":7,
"seed":42}' "$u/completion" >"$dir/answer" 2>/dev/null &
answer=$!
exec 3<"$dir/answer"
read -r _ <&3
fetch 200 '^\[{"id":0,"model":"tiny","n_ctx":[0-9]*,"speculative":[a-z]*,"is_processing":true,"id_task":[0-9]*,' "$u/slots"
holds "its settings: $(cat "$dir/body")" grep -q '"params":{"seed":42,.*"top_k":7,.*"n_predict":100000,' "$dir/body"
holds "its tokens" grep -q '"n_prompt_tokens":[1-9][0-9]*,"n_past":[1-9].*"n_decoded":[1-9]' "$dir/body"
fetch 200 '"is_processing":true' "$u/slots?fail_on_no_slot=1"
exec 3<&-
kill "$answer"
wait "$answer" 2>/dev/null
fetch 200 '"status":{"value":"loaded"}' "$u/models"
post 200 '^\[{"index":0,"embedding":\[\[' /embedding '{"content":"a","embd_normalize":-1}'
post 400 'embd_normalize: must be 2' /embedding '{"content":"a","embd_normalize":0}'
post 200 '^{"prompt":"<|im_start|>user.nhi<|im_end|>' /apply-template \
	'{"chat_template":"chatml","messages":[{"role":"user","content":"hi"}]}'
post 400 'input_suffix: is missing' /infill '{}'
post 400 'cannot infill' /infill '{"input_prefix":"a","input_suffix":"b"}'
post 400 'cannot infill' /v1/completions '{"prompt":"a","suffix":"b"}'
post 400 'cannot infill' /api/generate '{"model":"tiny","prompt":"a","suffix":"b"}'
post 400 'has no classifier' /rerank '{"query":"a","documents":["b"]}'
post 400 'has no classifier' /classify '{"input":"a"}'
post 200 '"object":"pooling","data":\[[-0-9]' /pooling '{"input":"a"}'
# ---- vLLM ----
post 200 '^{"count":[1-9][0-9]*,"tokens":\[' /tokenize '{"prompt":"the cat"}'
post 200 '"prompt":".*the cat"' /detokenize "$tokens"
post 400 'prompt: is a number' /tokenize '{"prompt":3}'
fetch 200 '^{"server_load":0}' "$u/load"
for path in sleep wake_up; do
	post 403 . /$path '{}'
done
admin 200 '' -X POST http://localhost/wake_up?model=tiny
fetch 200 '^{"is_sleeping":false}' "$u/is_sleeping?model=tiny"
admin 200 '' -X POST http://localhost/sleep?level=1
fetch 200 '^{"is_sleeping":true}' "$u/is_sleeping"
fetch 200 '"models":\[\]' "$u/api/ps"
admin 200 '' -X POST http://localhost/wake_up
fetch 200 '"models":\[{"name":"tiny"' "$u/api/ps"
post 400 'exceed_context_size_error' /completion \
	"{\"prompt\":\"$(printf 'cat %.0s' $(seq 20000))\"}"

# more requests than are kept wait behind a long one: others are answered meanwhile, and then they are
cat >"$dir/many.py" <<'EOF'
import socket, sys
host, port = sys.argv[1].split(":")
body = b'{"prompt":"the cat","n_predict":400,"ignore_eos":true}'
s = socket.create_connection((host, int(port)), timeout=60)
n = 4000
s.sendall(b"POST /completion HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
          + b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n" * n)
other = socket.create_connection((host, int(port)), timeout=60)
other.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
assert other.recv(100).startswith(b"HTTP/1.1 200 "), "another connection"
got = 0
rest = b""
while got < n + 1:
    data = s.recv(1 << 16)
    assert data, got
    rest += data
    got += rest.count(b"HTTP/1.1 200 ")
    rest = rest[-12:]
EOF
holds "requests behind a long one" /usr/bin/env python3 "$dir/many.py" "$http"

# ---- metrics ----
fetch 200 '^llamad_time_to_first_token_seconds_count{model="tiny"} [1-9]' "$u/metrics"
header '^content-type: text/plain; version=0.0.4'
for name in llamad_generation_length_sum llamad_inter_token_latency_seconds_count \
	vllm:time_to_first_token_seconds_count; do
	holds "$name is counted" grep -q "^$name{model[a-z_]*=\"tiny\"} [1-9]" "$dir/body"
done
holds "ends by reason" grep -q \
	'^llamad_finished_total{model="tiny",finish_reason="length"} [1-9]' "$dir/body"
holds "the format of metrics" sh -c '/usr/bin/env python3 "$0" llamad_requests_running \
	llamad_queue_time_seconds llamad_e2e_request_latency_seconds llamad_http_responses_total \
	llamad_kv_usage_ratio vllm:num_requests_running vllm:inter_token_latency_seconds \
	vllm:kv_cache_usage_perc vllm:prompt_tokens_total llamacpp:requests_processing \
	llamacpp:tokens_predicted_total llamacpp:prompt_seconds_total <"$1"' \
	"$src/tests/http/metrics.py" "$dir/body"

holds "the dashboard and the alert rules: $(/usr/bin/env python3 "$src/tests/http/monitoring.py" \
	"$src/monitoring" <"$dir/body" 2>&1)" sh -c '/usr/bin/env python3 "$0" "$1" <"$2"' \
	"$src/tests/http/monitoring.py" "$src/monitoring" "$dir/body"

admin 200 '"done_reason":"unload"' -d '{"model":"tiny","keep_alive":0}' http://localhost/api/generate

# ---- a reranker: the outputs of its classifier, and the probabilities that follow from them ----
"$build/tests/mktiny" rank 7 "$dir/rank.gguf" || exit 99
ctl add rank "$dir/rank.gguf" >/dev/null || exit 1
post 200 '"tokens_evaluated":9,' /infill \
	'{"model":"rank","input_prefix":"ab","prompt":"c","input_suffix":"def","n_predict":1}'
post 200 '"prompt_token_ids":\[93,65,92,66,91\]' /v1/completions \
	'{"model":"rank","prompt":"a","suffix":"b","return_token_ids":true,"max_tokens":1}'
post 200 '"prompt_eval_count":5' /api/generate \
	'{"model":"rank","prompt":"a","suffix":"b","stream":false,"options":{"num_predict":1}}'
two=$(ctl embed rank cd --pooling rank --no-normalize) # the two outputs for one text
ctl rerank rank ab cd efg --json >"$dir/json"
first=$(sed -n 's/.*"index": 0, "score": \([-0-9.e]*\).*/\1/p' "$dir/json")
second=$(sed -n 's/.*"index": 1, "score": \([-0-9.e]*\).*/\1/p' "$dir/json")
# near NUMBER PATTERN: the number that follows the pattern in the body
near() {
	value=$(sed -n "s/.*$2\\([-0-9.e]*\\).*/\\1/p" "$dir/body")
	holds "$2: '$value', not $1" awk "BEGIN { d = ${value:-9} - $1; exit !(d < 1e-4 && d > -1e-4) }"
}
sigmoid() { awk "BEGIN { printf \"%.8f\", 1 / (1 + exp(-($1))) }"; }
pair='"model":"rank","query":"ab","documents":["cd",{"text":"efg"}]'
for path in rerank reranking v1/rerank v1/reranking; do
	post 200 '"object":"list".*"total_tokens":[1-9]' /$path "{$pair}"
	near "$first" '"index":0,"relevance_score":'
	near "$second" '"index":1,"relevance_score":'
done
best=0
awk "BEGIN { exit !($first < $second) }" && best=1
post 200 "\"results\":\\[{\"index\":$best,\"relevance_score\":[-0-9.e]*}\\]" /rerank "{$pair,\"top_n\":1}"
post 200 "^\\[{\"index\":$best,\"score\"" /rerank \
	'{"model":"rank","query":"ab","texts":["cd","efg"],"return_text":true}'
post 200 '"document":{"text":"cd"}' /v2/rerank "{$pair}"
near "$(sigmoid "$first")" '"text":"cd"},"relevance_score":'
for path in score v1/score; do
	post 200 '"object":"list"' /$path '{"model":"rank","text_1":"ab","text_2":["cd","efg"]}'
	near "$(sigmoid "$first")" '"index":0,"object":"score","score":'
done
post 200 '"num_classes":2' /classify '{"model":"rank","input":"cd"}'
near "$(sigmoid "${two% *} - (${two#* })")" '"probs":\['
post 400 'text_1' /score '{"model":"rank","text_1":["a","b"],"text_2":"c"}'
post 400 'documents: is missing' /rerank '{"model":"rank","query":"a"}'
stop

# ---- what a client writes is in no log, whatever becomes of the request ----
start_http --log trace
u=http://$http word=plughxyzzy
hi="\"messages\":[{\"role\":\"user\",\"content\":\"$word\"}],\"chat_template\":\"chatml\",\"max_tokens\":2"
while read -r path body; do
	curl -s -m 30 -o /dev/null -d "{\"model\":\"tiny\",$body}" "$u$path?q=$word"
done <<-LIST
	/v1/chat/completions $hi
	/v1/chat/completions $hi,"stream":true
	/v1/chat/completions $hi,"temperature":"$word"
	/v1/chat/completions $hi,"$word":1
	/v1/chat/completions $hi $word
	/v1/completions "prompt":"$word","max_tokens":2
	/v1/responses "input":"$word","chat_template":"chatml","max_output_tokens":2
	/v1/messages $hi
	/v1/messages/count_tokens $hi
	/api/chat "messages":[{"role":"user","content":"$word"}],"options":{"num_predict":2}
	/api/generate "prompt":"$word","raw":true,"options":{"num_predict":2}
	/completion "prompt":"$word","n_predict":2
	/completion "prompt":"$word","n_predict":2,"grammar":"$word ::="
	/infill "input_prefix":"$word","input_suffix":"$word","n_predict":2
	/tokenize "content":"$word"
	/v1/embeddings "input":"$word"
	/rerank "query":"$word","documents":["$word"]
LIST
holds "each of 17 requests is in the log" [ "$(grep -c 'http: POST ' "$dir/log")" -eq 17 ]
stop
for log in "$dir/log" "$dir/state/audit.log"; do
	holds "$log has what a client wrote: $(grep -m 1 -e "$word" "$log")" \
		sh -c '! grep -q -e "$1" "$2"' sh "$word" "$log"
done
finish endpoints_test
