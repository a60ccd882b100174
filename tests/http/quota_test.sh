#!/bin/sh
# SPDX-License-Identifier: MIT
# Quotas and usage of keys as a client and an operator see them; and that a daemon that is killed loses
# at most the usage of a second.
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"
command -v curl >/dev/null || {
	echo "SKIP: there is no curl"
	exit 77
}
"$build/tests/mktiny" full 5 "$dir/tiny.gguf" || exit 99

: >"$dir/conf"
start_http
does add tiny "$dir/tiny.gguf"
does add other "$dir/tiny.gguf"
does add third "$dir/tiny.gguf"
# two in memory, so that none is the default for unknown names
does load tiny
does load third
refused 1 "models: 'fourth' is neither a model nor an alias" key add app --models tiny,fourth
refused 1 'a name is empty' key add app --models tiny,,third
refused 1 'a name is empty' key add app --models tiny,
prints . key add app --rpm 2 --models ' tiny , third'
app=$(tail -n 1 "$dir/out")
refused 1 "models: 'fourth' is neither" key set app --models fourth
prints ' tiny,third' key list
prints . key add free
free=$(tail -n 1 "$dir/out")
prints . key add boss --role admin
boss=$(tail -n 1 "$dir/out")

# ask CODE PATTERN KEY PATH BODY
ask() {
	fetch "$1" "$2" -H "Authorization: Bearer $3" -H 'Content-Type: application/json' -d "$5" \
		"http://$http$4"
}
body='{"model":"tiny","prompt":"hello","max_tokens":3}'

ask 200 text_completion "$app" /v1/completions "$body"
ask 404 "model 'other' does not exist" "$app" /v1/completions '{"model":"other","prompt":"hello","max_tokens":3}'
fetch 200 '"id":"tiny"' -H "x-api-key: $app" "http://$http/v1/models"
holds "/v1/models lists a model that is not allowed" sh -c '! grep -q other "$1"' sh "$dir/body"
ask 200 text_completion "$app" /v1/completions "$body"
ask 429 rate_limit_exceeded "$app" /v1/completions "$body"
header '^retry-after: [1-6][0-9]*'
ask 429 rate_limit_error "$app" /v1/messages \
	'{"model":"tiny","max_tokens":3,"messages":[{"role":"user","content":"a"}]}'
header '^retry-after: [1-6][0-9]*'
ask 429 'quota of the key' "$app" /api/generate '{"model":"tiny","prompt":"a","raw":true}'
ask 200 text_completion "$free" /v1/completions "$body"

# a change holds at once, for what was used before as well
does key set app --rpm 5 --models tiny,other
ask 200 text_completion "$app" /v1/completions "$body"
does key set app --rpm 0 --tpd 1 --models ''
ask 429 'tokens today' "$app" /v1/completions "$body"
prints '^app  *user  .*  1  *all' key list
refused 1 'does not exist' key set nobody --rpm 1
refused 2 'nothing to set' key set app

# usage: one's own, or all
fetch 200 '"principal":"key:app"' -H "x-api-key: $app" "http://$http/v1/usage"
holds "a user sees others" sh -c '! grep -q key:free "$1"' sh "$dir/body"
fetch 403 'only admins' -H "x-api-key: $app" "http://$http/v1/usage?principal=key:free"
fetch 400 'is not a day' -H "x-api-key: $app" "http://$http/v1/usage?since=2026-02-30"
fetch 200 '"principal":"key:free"' -H "x-api-key: $boss" "http://$http/v1/usage"
prints '^date,principal,model,requests,prompt_tokens,' usage --csv
prints ',key:free,tiny,1,5,0,3,' usage --csv
prints ',key:app,tiny,3,' usage --csv --key app
holds "--key shows others" sh -c '! grep -q key:free "$1"' sh "$dir/out"
prints '"n_out": *3' usage --json --key free --model tiny
prints '^DATE  *PRINCIPAL  *MODEL' usage

# what was counted is in the registry soon, without a request for it
count() {
	python3 -c 'import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("SELECT sum(n_request) FROM usage").fetchone()[0])' \
		"$dir/state/registry.db" 2>/dev/null
}
if python3 -c 'import sqlite3' 2>/dev/null; then
	ask 200 text_completion "$free" /v1/completions "$body"
	tries=0
	# asks again; nothing depends on the length of the pause
	while [ "$(count)" != 5 ] && [ $tries -lt 600 ]; do
		tries=$((tries + 1))
		sleep 0.1
	done
	holds "usage is not written: $(count)" [ "$(count)" = 5 ]
fi
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
daemon=
start_http
prints ',key:free,tiny,' usage --csv
ask 429 'tokens today' "$app" /v1/completions "$body"

# keys of a backup hold at once: without a key nobody gets in any more, and its usage counts
does registry backup keys.backup
for label in app free boss; do
	does key rm $label
done
holds "a removed key is listed" sh -c '! "$1" --socket "$2" key list | grep -q app' sh "$build/llamactl" "$url"
fetch 200 . "http://$http/v1/models"
does registry restore keys.backup
prints '^app ' key list
fetch 401 'API key is missing' "http://$http/v1/models"
ask 429 'tokens today' "$app" /v1/completions "$body"
stop
finish quota
