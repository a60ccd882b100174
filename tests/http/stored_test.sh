#!/bin/sh
# SPDX-License-Identifier: MIT
# Stored responses: who sees them, what a restart leaves of them, and that deleted ones are gone.
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"
command -v curl >/dev/null || {
	echo "SKIP: there is no curl"
	exit 77
}

"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
opts='"model":"tiny","chat_template":"chatml","max_output_tokens":4,"ignore_eos":true,"temperature":0'

# by KEY: the requests that follow are sent with it
by() {
	auth="Authorization: Bearer $1"
}
# post CODE PATTERN PATH BODY
post() {
	fetch "$1" "$2" -H "$auth" -H 'Content-Type: application/json' -d "$4" "http://$http$3"
}
# ask CODE PATTERN PATH [CURL-ARGUMENT...]
ask() {
	code=$1 pattern=$2 path=$3
	shift 3
	fetch "$code" "$pattern" -H "$auth" "$@" "http://$http$path"
}
# id: of the last response
id() {
	sed -n 's/^{"id":"\([a-zA-Z0-9_]*\)".*/\1/p' "$dir/body"
}
n_stored() {
	find "$dir/state/http" -type f | wc -l
}
# stored N: so many objects are on the disk, now or soon
stored() {
	tries=0
	until [ "$(n_stored)" = "$1" ] || [ $tries -gt 1200 ]; do
		tries=$((tries + 1))
		sleep 0.05 # looks again; nothing depends on its length
	done
	holds "objects: $(n_stored), not $1" [ "$(n_stored)" = "$1" ]
}

# nothing is stored by default
: >"$dir/conf"
start_http
ctl add tiny "$dir/full.gguf" >/dev/null || { cat "$dir/log"; exit 1; }
by none
post 200 '"store":false' /v1/responses "{$opts,\"input\":\"hi\",\"store\":true}"
ask 404 'stores none' "/v1/responses/$(id)"
post 400 'not stored here' /v1/responses "{$opts,\"input\":\"hi\",\"background\":true}"
post 400 'not stored here' /v1/responses "{$opts,\"input\":\"hi\",\"previous_response_id\":\"resp_a\"}"
holds "no folder" [ ! -e "$dir/state/http" ]
stop

printf '[limits]\nhttp_store = 64K\nhttp_store_number = 3\n' >"$dir/conf"
start_http
for who in ann bob; do
	prints . key add $who
	eval "$who=\$(tail -n 1 \"\$dir/out\")"
done
by "$ann"
post 200 '"store":true' /v1/responses "{$opts,\"input\":\"hi\"}"
first=$(id)
ask 200 "^{\"id\":\"$first\"" "/v1/responses/$first"
ask 200 '"text":"hi"' "/v1/responses/$first/input_items"
ask 400 '0 is not in the range 1 to 100' "/v1/responses/$first/input_items?limit=0"
by "$bob"
for path in "" /input_items; do
	ask 404 'does not exist' "/v1/responses/$first$path"
done
post 404 'does not exist' "/v1/responses/$first/cancel" '{}'
ask 404 'does not exist' "/v1/responses/$first" -X DELETE
post 400 'does not exist' /v1/responses "{$opts,\"input\":\"hi\",\"previous_response_id\":\"$first\"}"
post 200 '"store":true' /v1/responses "{$opts,\"input\":\"hi\"}"
stored 2

# a request in the background that the daemon cannot finish, and what a restart leaves
by "$ann"
post 200 '"status":"queued"' /v1/responses \
	"{$opts,\"input\":\"hi\",\"background\":true}"
later=$(id)
for _ in $(seq 600); do
	ask 200 '"status":' "/v1/responses/$later"
	grep -q '"status":"in_progress"' "$dir/body" || break
	sleep 0.1
done
ask 200 '"status":"incomplete".*"type":"output_text"' "/v1/responses/$later"
file=$(find "$dir/state/http" -name "$later")
sed -i 's/"status":"incomplete"/"status":"queued"/' "$file"
stop
start_http
ask 200 "^{\"id\":\"$first\"" "/v1/responses/$first"
ask 200 '"status":"failed".*stopped before' "/v1/responses/$later"
post 200 "\"previous_response_id\":\"$first\"" /v1/responses \
	"{$opts,\"input\":\"hi\",\"previous_response_id\":\"$first\"}"
post 400 'has the status' /v1/responses \
	"{$opts,\"input\":\"hi\",\"previous_response_id\":\"$later\"}"

# a fourth object takes the place of the oldest
post 200 '"store":true' /v1/responses "{$opts,\"input\":\"hi\"}"
last=$(id)
ask 404 'does not exist' "/v1/responses/$first"
ask 200 . "/v1/responses/$last"

# what is deleted is gone from the disk, and so is all of a key that is removed
ask 200 '"deleted":true' "/v1/responses/$later" -X DELETE
holds "the file is gone" [ ! -e "$file" ]
stored 3
holds "key rm" ctl key rm ann
stored 1
stop
finish stored_test
