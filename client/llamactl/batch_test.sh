#!/bin/sh
# SPDX-License-Identifier: MIT
# llamactl batch: against a daemon, and against a server that is busy, fails, is slow or loses
# connections.
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"
unset LLAMAD_KEY
command -v python3 >/dev/null || {
	echo "SKIP: there is no python3"
	exit 77
}

# line ID URL BODY: a request
line() {
	printf '{"custom_id":"%s","method":"POST","url":"%s","body":%s}\n' "$1" "$2" "$3"
}
# result ID PATTERN: the line of $dir/res with that id has it
result() {
	grep "\"custom_id\":\"$1\"" "$dir/res" >"$dir/one"
	holds "one result of $1: $(cat "$dir/one")" [ "$(wc -l <"$dir/one")" -eq 1 ]
	holds "result of $1 lacks '$2': $(head -c 400 "$dir/one")" grep -q -e "$2" "$dir/one"
}
# results N: so many, each JSON in the form of a result
results() {
	holds "$(wc -l <"$dir/res") results, not $1" [ "$(wc -l <"$dir/res")" -eq "$1" ]
	holds "the form of the results: $(cat "$dir/res")" python3 -c '
import json, sys
for line in open(sys.argv[1]):
    r = json.loads(line)
    assert sorted(r) == ["custom_id", "error", "id", "response"], line
    assert r["id"].startswith("batch_req_"), line
    assert (r["response"] is None) != (r["error"] is None), line
    if r["response"]:
        assert sorted(r["response"]) == ["body", "request_id", "status_code"], line' "$dir/res"
}

# ---- what is wrong with the files ----
res=$dir/res
: >"$dir/in"
refused 2 '-o OUT is missing' batch "$dir/in"
refused 1 'has no requests' batch "$dir/in" -o "$res"
refused 1 'nosuch' batch "$dir/nosuch" -o "$res"
echo 'no json' >"$dir/in"
refused 1 'in, line 1: it is not JSON' batch "$dir/in" -o "$res"
printf '\n[]\n' >"$dir/in"
refused 1 'line 2: it is not a JSON object' batch "$dir/in" -o "$res"
echo '{"prompt":"a"}' >"$dir/in"
refused 1 'line 1: it has no body; --endpoint' batch "$dir/in" -o "$res"
refused 2 "'v1' does not begin with /" batch "$dir/in" -o "$res" --endpoint v1
{
	line a /v1/completions '{}'
	line b /v1/completions '{}'
	line a /v1/completions '{}'
} >"$dir/in"
refused 1 'line 3: an earlier line has its custom_id' batch "$dir/in" -o "$res"
line a v1 '{}' >"$dir/in"
refused 1 'line 1: url is not a path' batch "$dir/in" -o "$res"
line a /v1 '[]' >"$dir/in"
refused 1 'line 1: body is not an object' batch "$dir/in" -o "$res"
line a /v1 '{"stream":true}' >"$dir/in"
refused 1 'line 1: a request of a batch is not streamed' batch "$dir/in" -o "$res"
echo '{"custom_id":"a","method":"GET","url":"/v1","body":{}}' >"$dir/in"
refused 1 'line 1: method is not POST' batch "$dir/in" -o "$res"
echo '{"custom_id":7,"url":"/v1","body":{}}' >"$dir/in"
refused 1 'line 1: custom_id is not a text' batch "$dir/in" -o "$res"
head -c 16777217 /dev/zero | tr '\0' a >"$dir/in"
refused 1 'line 1: it is longer than 16 MiB' batch "$dir/in" -o "$res"
holds "nothing is written before all lines are good" [ ! -e "$res" ]
line a /v1/completions '{}' >"$dir/in"
echo hello >"$res"
refused 1 'res, line 1: it is not the result of a batch' batch "$dir/in" -o "$res"
holds "another file is not changed" [ "$(cat "$res")" = hello ]
refused 1 "is not a URL" batch "$dir/in" -o "$dir/none" --url ftp://host
rm "$res"

# ---- a daemon ----
"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
: >"$dir/conf"
start_http
does add tiny "$dir/full.gguf"
opts='"max_tokens":4,"temperature":0,"ignore_eos":true'
{
	line text /v1/completions "{\"prompt\":\"the cat\",$opts}"
	echo
	line 'an "id"' /v1/completions "{\"model\":\"tiny\",\"prompt\":\"the\",$opts}" | sed 's/an "id"/an \\"id\\"/'
	line chat /v1/chat/completions \
		"{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"chat_template\":\"chatml\",$opts}"
	line vectors /v1/embeddings '{"input":["a","b"],"dimensions":2}'
} >"$dir/in"
prints '^4 requests: 4 answered, 0 failed$' batch "$dir/in" -o "$res" -m tiny --url "http://$http/v1"
results 4
result text '"response":{"status_code":200,"request_id":".*"object":"text_completion".*"model":"tiny"'
result 'an \\"id\\"' '"status_code":200'
result chat '"object":"chat.completion"'
result vectors '"embedding":\['
prints '^4 requests: 4 answered, 0 failed; 4 of them in an earlier run$' \
	batch "$dir/in" -o "$res" -m tiny --url "http://$http"

# bodies alone, a unix socket, one request that is refused
rm "$res"
{
	echo "{\"prompt\":\"the cat\",$opts}"
	echo "{\"prompt\":\"the cat\",\"top_p\":7}"
} >"$dir/in"
call batch "$dir/in" -o "$res" -m tiny --url "unix:$dir/http.sock" --endpoint /v1/completions
holds "status $got, not 1" [ $got -eq 1 ]
holds "the summary: $(cat "$dir/out")" grep -q '^2 requests: 1 answered, 1 failed$' "$dir/out"
holds "the message: $(cat "$dir/err")" \
	grep -q '^llamactl batch: 1 of 2 requests failed; --retry-errors sends them again$' "$dir/err"
results 2
result line-1 '"text":'
result line-2 '"status_code":400.*top_p.*"error":null'
# a key
does key add batch
tail -n 1 "$dir/out" >"$dir/key"
chmod 600 "$dir/key"
rm "$res"
sed -i 2d "$dir/in"
refused 1 'refuses the key (401)' batch "$dir/in" -o "$res" -m tiny --url "http://$http" \
	--endpoint /v1/completions --key wrong
holds "a refused key is no result" [ ! -s "$res" ]
prints '1 answered' batch "$dir/in" -o "$res" -m tiny --url "http://$http" \
	--endpoint /v1/completions --key-file "$dir/key"
stop
refused 1 "http://$http: " batch "$dir/in" -o "$dir/none" --url "http://$http" --endpoint /v1/completions
holds "no server is no result" [ ! -s "$dir/none" ]

# ---- a server that does what it is told ----
python3 "$src/client/llamactl/batch_test.py" "$dir/port" "$dir/log" &
daemon=$!
tries=0
until [ -s "$dir/port" ]; do
	tries=$((tries + 1))
	[ $tries -le 1200 ] || exit 99
	sleep 0.05 # looks again; nothing depends on its length
done
server=http://127.0.0.1:$(cat "$dir/port")
# plan NAME WORD...: a line whose tries the server answers so
plan() {
	name=$1
	shift
	line "$name" /v1/completions "{\"name\":\"$name\",\"script\":[$(printf '"%s",' "$@" | sed 's/,$//')]}"
}
# tried NAME N: so often
tried() {
	holds "$1 was sent $(grep -c " $1 " "$dir/log") times, not $2" [ "$(grep -c " $1 " "$dir/log")" -eq "$2" ]
}

rm "$res"
{
	plan good ok
	plan error 500 503 ok
	plan cut cut cut ok
	plan asked 429:1 ok
	plan refused 404
	plan html html
	plan stubborn 500
} >"$dir/in"
LLAMAD_KEY=secret
export LLAMAD_KEY
call batch "$dir/in" -o "$res" --url "$server/" -m m1 --retries 2 --json
unset LLAMAD_KEY
holds "status $got, not 1: $(cat "$dir/err")" [ $got -eq 1 ]
holds "the summary: $(cat "$dir/out")" python3 -c '
import json, sys
got = json.load(open(sys.argv[1]))
want = {"requests": 7, "answered": 4, "failed": 3, "kept": 0, "retries": 9}
sys.exit(got != want)' "$dir/out"
results 7
result good '"status_code":200,"request_id":"req-good","body":{ *"name": "good", *"model": "m1", *"n": 0.1 *}'
result error '"status_code":200'
result cut '"status_code":200'
result asked '"status_code":200'
result refused '"status_code":404.*"code 404"'
result html '"status_code":502.*"body":"<html>bad\\ngateway</html>"'
result stubborn '"status_code":500'
tried good 1
tried error 3
tried cut 3
tried asked 2
tried refused 1
tried html 3
tried stubborn 3
holds "the key is sent" grep -q ' good ok Bearer_secret /v1/completions$' "$dir/log"
holds "Retry-After is respected: $(grep ' asked ' "$dir/log")" awk '$2 == "asked" { if (at && $1 - at < 990) bad = 1
	at = $1 } END { exit bad }' "$dir/log"

# goes on: what has a result is not sent, an incomplete line is
grep -v '"custom_id":"good"' "$res" >"$dir/part"
grep '"custom_id":"good"' "$res" | head -c 50 >>"$dir/part"
cp "$dir/part" "$res"
call batch "$dir/in" -o "$res" --url "$server"
holds "status $got, not 1" [ $got -eq 1 ]
holds "the summary: $(cat "$dir/out")" grep -q '^7 requests: 4 answered, 3 failed; 6 of them in an earlier run$' \
	"$dir/out"
results 7
tried good 2
tried refused 1
# failed lines alone
sed 's/"404"/"404","ok"/; s/\["html"\]/["html","html","html","ok"]/; s/\["500"\]/["500","500","500","ok"]/' "$dir/in" >"$dir/in2"
prints '^7 requests: 7 answered, 0 failed; 4 of them in an earlier run$' \
	batch "$dir/in2" -o "$res" --url "$server" --retry-errors
results 7
tried good 2
tried refused 2
tried html 4
result refused '"status_code":200'

# a time-out, a server that is busy for ever
rm "$res"
{
	plan slow stall
	plan busy 429
	plan drop drop ok
} >"$dir/in"
call batch "$dir/in" -o "$res" --url "$server" --retries 1 --timeout 300ms
holds "status $got, not 1" [ $got -eq 1 ]
results 3
result drop '"status_code":200'
result slow '"response":null,"error":{"code":"timeout","message":"'
result busy '"status_code":429'
tried slow 2
tried busy 2

# a refusal does not count while the server answers others
rm "$res"
for i in 1 2 3 4 5 6 7 8; do plan "alone$i" alone; done >"$dir/in"
prints '8 answered, 0 failed' batch "$dir/in" -o "$res" --url "$server" --retries 3

# so many at a time
rm "$res"
for i in 1 2 3 4 5 6; do plan "gate$i" gate:6; done >"$dir/in"
prints '6 answered' batch "$dir/in" -o "$res" --url "$server" -n 6
rm "$res"
{
	for i in 1 2; do plan "stall$i" stall ok; done
	plan never ok
} >"$dir/in"
call batch "$dir/in" -o "$res" --url "$server" -n 2 --timeout 500ms --retries 0
holds "the third one waits: $(cat "$dir/log")" awk '$2 == "stall1" { at = $1 } $2 == "never" { exit $1 - at < 400 }' \
	"$dir/log"

# a signal: the same command continues
rm "$res"
{
	plan before ok
	plan hang stall ok
	plan after ok
} >"$dir/in"
"$build/llamactl" batch "$dir/in" -o "$res" --url "$server" -n 1 >"$dir/out" 2>"$dir/err" &
pid=$!
tries=0
until grep -q ' hang ' "$dir/log"; do
	tries=$((tries + 1))
	[ $tries -le 1200 ] || break
	sleep 0.05 # looks again; nothing depends on its length
done
refused 1 'another process is writing it' batch "$dir/in" -o "$res" --url "$server"
kill -INT "$pid"
wait "$pid"
got=$?
holds "status $got, not 130" [ $got -eq 130 ]
holds "the message: $(cat "$dir/err")" grep -q 'the same command continues' "$dir/err"
results 1
prints '^3 requests: 3 answered, 0 failed; 1 of them in an earlier run$' batch "$dir/in" -o "$res" --url "$server"
results 3
tried before 1
tried hang 2

kill "$daemon"
wait "$daemon" 2>"$dir/err"
daemon=
finish "batch"
