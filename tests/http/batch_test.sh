#!/bin/sh
# SPDX-License-Identifier: MIT
# Files and batches: what is uploaded, run and downloaded, who sees it, and what is left of it.
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"
command -v curl >/dev/null || {
	echo "SKIP: there is no curl"
	exit 77
}

"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99

# by KEY: the requests that follow are sent with it
by() {
	auth="Authorization: Bearer $1"
}
# ask CODE PATTERN PATH [CURL-ARGUMENT...]
ask() {
	code=$1 pattern=$2 path=$3
	shift 3
	fetch "$code" "$pattern" -H "$auth" "$@" "http://$http$path"
}
# upload CODE PATTERN FILE [PURPOSE]: sets $id
upload() {
	ask "$1" "$2" /v1/files -F "purpose=${4:-batch}" -F "file=@$3"
	id=$(sed -n 's/^{"id":"\([a-zA-Z0-9_-]*\)".*/\1/p' "$dir/body")
}
# batch CODE PATTERN FILE-ID ENDPOINT: sets $id
batch() {
	ask "$1" "$2" /v1/batches -H 'Content-Type: application/json' \
		-d "{\"input_file_id\":\"$3\",\"endpoint\":\"$4\",\"completion_window\":\"24h\",\"metadata\":{\"a\":\"b\"}}"
	id=$(sed -n 's/^{"id":"\([a-zA-Z0-9_-]*\)".*/\1/p' "$dir/body")
}
# ends STATUS BATCH-ID: waits until it has ended
ends() {
	tries=0
	while
		ask 200 '"object":"batch"' "/v1/batches/$2"
		grep -q '"status":"\(in_progress\|finalizing\|cancelling\)"' "$dir/body"
	do
		tries=$((tries + 1))
		[ $tries -le 1200 ] || break
		sleep 0.05 # asks again; nothing depends on its length
	done
	holds "the status of $2: $(cat "$dir/body")" grep -q "\"status\":\"$1\"" "$dir/body"
}
# member NAME: a text of the last response
member() {
	sed -n "s/.*\"$1\":\"\([a-zA-Z0-9_-]*\)\".*/\1/p" "$dir/body"
}

# nothing is stored by default
: >"$dir/conf"
start_http
ctl add tiny "$dir/full.gguf" >/dev/null || { cat "$dir/log"; exit 1; }
by none
echo '{}' >"$dir/in.jsonl"
upload 400 'files are not stored here: set http_store' "$dir/in.jsonl"
ask 400 'are not stored here' /v1/files
ask 400 'batches are not stored here' /v1/batches/batch_a
stop

printf '[limits]\nhttp_store = 384K\nhttp_store_number = 40\n' >"$dir/conf"
start_http
for who in ann bob; do
	prints . key add $who
	eval "$who=\$(tail -n 1 \"\$dir/out\")"
done
by "$ann"

# ---- files ----
printf 'a\r\n--b\0c' >"$dir/odd"
upload 200 '"object":"file","bytes":8,"created_at":[1-9][0-9]*,"filename":"odd","purpose":"user_data"' \
	"$dir/odd" user_data
odd=$id
ask 200 '' "/v1/files/$odd/content"
holds "the same bytes" cmp -s "$dir/odd" "$dir/body"
ask 200 "^{\"id\":\"$odd\"" "/v1/files/$odd"
: >"$dir/empty"
upload 200 '"bytes":0' "$dir/empty" user_data
ask 200 '"data":\[{"id":"file-.*"filename":"empty".*"filename":"odd"' /v1/files
ask 200 '"filename":"empty".*"has_more":true' "/v1/files?limit=1"
ask 200 '"filename":"odd".*"has_more":false' "/v1/files?after=$id"
ask 200 '"data":\[\]' "/v1/files?purpose=batch"
ask 400 '0 is not in the range 1 to 100' "/v1/files?limit=0"
upload 400 'must be batch.*"param":"purpose"' "$dir/odd" poetry
ask 400 'is missing.*"param":"file"' /v1/files -F purpose=batch
ask 400 'must be multipart/form-data' /v1/files -d purpose=batch
ask 400 'does not begin' /v1/files -H 'Content-Type: multipart/form-data; boundary=x' --data-binary '--y--'
head -c 400000 /dev/zero >"$dir/long"
upload 400 'cannot be stored, the maximum is 393216' "$dir/long"
by "$bob"
ask 404 'does not exist' "/v1/files/$odd"
ask 404 'does not exist' "/v1/files/$odd/content"
ask 404 'does not exist' "/v1/files/$odd" -X DELETE
ask 200 '"data":\[\]' /v1/files
by "$ann"
ask 200 '"deleted":true' "/v1/files/$odd" -X DELETE
ask 404 'does not exist' "/v1/files/$odd/content"
holds "it is gone from the disk" sh -c '! find "$1" -name "*${2#file-}" | grep .' - "$dir/state/http" "$odd"

# ---- batches ----
line() {
	printf '{"custom_id":"%s","method":"POST","url":"%s","body":%s}\n' "$1" "$2" "$3"
}
opts='"model":"tiny","max_tokens":4,"temperature":0,"ignore_eos":true'
for i in 1 2 3 4 5 6 7; do
	line "r$i" /v1/completions "{$opts,\"prompt\":\"the cat $i\"}"
done >"$dir/in.jsonl"
{
	echo
	line many /v1/completions "{$opts,\"prompt\":\"a\",\"n\":2}"
	line wrong /v1/completions "{$opts,\"prompt\":\"a\",\"top_p\":7}"
	line model /v1/completions '{"prompt":"a","max_tokens":1,"ignore_eos":true,"model":"nosuch"}'
	line other /v1/embeddings "{$opts,\"input\":\"a\"}"
	echo 'no json'
} >>"$dir/in.jsonl"
upload 200 '"purpose":"batch"' "$dir/in.jsonl"
input=$id
batch 404 'does not exist' file-nosuch /v1/completions
batch 400 'endpoint' "$input" /v1/images
for window in 5m 0h 169h 8d 24 h -1h 1h1 9999h; do
	ask 400 'must be a number of hours or days from 1h to 7d.*"param":"completion_window"' /v1/batches \
		-d "{\"input_file_id\":\"$input\",\"endpoint\":\"/v1/completions\",\"completion_window\":\"$window\"}"
done
batch 200 '"object":"batch","endpoint":"/v1/completions".*"status":"in_progress".*"metadata":{"a":"b"}' \
	"$input" /v1/completions
first=$id
ends completed "$first"
holds "counts: $(cat "$dir/body")" grep -q '"request_counts":{"total":12,"completed":8,"failed":4}' "$dir/body"
out=$(member output_file_id) errors=$(member error_file_id)
ask 200 '' "/v1/files/$out/content"
cp "$dir/body" "$dir/answers"
holds "8 answers" [ "$(wc -l <"$dir/answers")" = 8 ]
for i in 1 2 3 4 5 6 7; do
	ask 200 '"text":' /v1/completions -d "{$opts,\"prompt\":\"the cat $i\"}"
	text=$(sed 's/.*\("text":"\([^"\\]\|\\.\)*"\).*/\1/' "$dir/body")
	grep "\"custom_id\":\"r$i\",\"response\":{\"status_code\":200," "$dir/answers" >"$dir/one"
	holds "answer $i: $(cat "$dir/one")" grep -qF "$text" "$dir/one"
done
ask 200 '"status_code":400.*"custom_id\|"custom_id":"many","response":{"status_code":400' "/v1/files/$errors/content"
holds "4 errors" [ "$(wc -l <"$dir/body")" = 4 ]
for pattern in '"custom_id":"many".*a request of a batch has one answer' '"custom_id":"wrong".*top_p' \
	'"custom_id":"other".*is not that of the batch' '"custom_id":null.*is not a JSON object'; do
	holds "an error: $pattern" grep -q "$pattern" "$dir/body"
done
ask 200 "\"data\":\[{\"id\":\"$first\"" /v1/batches
by "$bob"
ask 404 'does not exist' "/v1/batches/$first"
batch 404 'does not exist' "$input" /v1/completions
by "$ann"

line e /v1/embeddings '{"model":"tiny","input":["a","b"],"dimensions":2}' >"$dir/in.jsonl"
line f /v1/embeddings '{"model":"tiny"}' >>"$dir/in.jsonl"
upload 200 '' "$dir/in.jsonl"
batch 200 '' "$id" /v1/embeddings
ends completed "$id"
ask 200 '"custom_id":"e".*"embedding":\[' "/v1/files/$(member output_file_id)/content"

line c /v1/chat/completions \
	"{$opts,\"chat_template\":\"chatml\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}" >"$dir/in.jsonl"
upload 200 '' "$dir/in.jsonl"
batch 200 '' "$id" /v1/chat/completions
ends completed "$id"
ask 200 '"custom_id":"c".*"object":"chat.completion"' "/v1/files/$(member output_file_id)/content"

# cancelled: what has been answered is kept
for i in $(seq 200); do
	line "r$i" /v1/completions '{"model":"tiny","max_tokens":200,"ignore_eos":true,"prompt":"the"}'
done >"$dir/in.jsonl"
upload 200 '' "$dir/in.jsonl"
long=$id
batch 200 '' "$long" /v1/completions
ask 200 '"status":"cancelling"' "/v1/batches/$id/cancel" -X POST
ends cancelled "$id"
ask 200 '"status":"cancelled"' "/v1/batches/$id/cancel" -X POST

# a batch whose key is removed is gone
by "$bob"
upload 200 '' "$dir/in.jsonl"
batch 200 '' "$id" /v1/completions
does key rm bob
tries=0
until [ "$(find "$dir/state/http" -type f | wc -l)" -le 40 ] || [ $tries -gt 1200 ]; do
	tries=$((tries + 1))
	sleep 0.05 # looks again; nothing depends on its length
done
by "$ann"

# a batch that runs when the server stops, or is killed, goes on in the next one, where no line that was done
# runs again
completed() {
	ask 200 '"object":"batch"' "/v1/batches/$id"
	n_completed=$(sed 's/.*"completed":\([0-9]*\).*/\1/' "$dir/body")
}
# completes N: waits until at least N lines are done
completes() {
	tries=0
	while
		completed
		[ "$n_completed" -lt "$1" ] && [ $tries -lt 1200 ]
	do
		tries=$((tries + 1))
		sleep 0.05 # asks again; nothing depends on its length
	done
	holds "$1 lines are done" [ "$n_completed" -ge "$1" ]
}
batch 200 '' "$long" /v1/completions
completes 2
before=$n_completed
kill "$daemon"
ended
start_http
ask 200 '"status":"completed"' "/v1/batches/$first"
ask 200 '' "/v1/files/$out/content"
holds "the answers" cmp -s "$dir/answers" "$dir/body"
completed
holds "$n_completed lines are done, before it were $before" [ "$n_completed" -ge "$before" ]
# (all 200 may be done when the machine is busy)
completes $((n_completed < 198 ? n_completed + 2 : 200))
before=$n_completed
kill -9 "$daemon"
wait "$daemon" 2>"$dir/err"
start_http
# nobody asks for the batch: its results are found when it has ended
tries=0
while
	ask 200 '"object":"list"' '/v1/files?purpose=batch_output&limit=100'
	! grep -q "${id}_output" "$dir/body" && [ $tries -lt 1200 ]
do
	tries=$((tries + 1))
	sleep 0.05 # asks again; nothing depends on its length
done
ends completed "$id"
all=$(sed -n 's/.*"output_file_id":"\([a-zA-Z0-9_-]*\)".*/\1/p' "$dir/body")
holds "nothing failed" grep -q '"failed":0' "$dir/body"
ask 200 '' "/v1/files/$all/content"
holds "each line has one answer" [ "$(sed 's/.*"custom_id":"\([^"]*\)".*/\1/' "$dir/body" | sort -u | wc -l)" \
	-eq "$(wc -l <"$dir/in.jsonl")" ]
holds "and no more" [ "$(wc -l <"$dir/body")" -eq "$(wc -l <"$dir/in.jsonl")" ]
holds "no answer was cut off" [ "$(grep -c '"finish_reason":"length"' "$dir/body")" -eq "$(wc -l <"$dir/in.jsonl")" ]
stop
finish batch_test
