#!/bin/sh
# SPDX-License-Identifier: MIT
# A user who takes most of the work threads' processor time is refused over HTTP and over the socket,
# and told when to retry; other users and administrators are not.
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"
command -v curl >/dev/null || {
	echo "SKIP: there is no curl"
	exit 77
}

"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
printf '[limits]\nwork_percent_per_user = 1\n' >"$dir/conf"
# without keys the daemon does not listen on TCP
start
does add tiny "$dir/full.gguf"
for user in one two; do
	prints . key add "$user"
	tail -n 1 "$dir/out" >"$dir/$user"
done
stop
start_http --listen tcp://127.0.0.1:0
tcp=$(sed -n 's/.*listening on \(tcp:.*\)/\1/p' "$dir/log")
holds "the log names the TCP address" [ -n "$tcp" ]

printf '{"content":"%s","model":"tiny"}' "$(head -c 4000000 /dev/zero | tr '\0' 'a')" >"$dir/long"
printf '{"content":"%s","model":"tiny"}' "$(head -c 20000 /dev/zero | tr '\0' 'a')" >"$dir/short"

# tokenize USER FILE: the status of the response is in $got
tokenize() {
	got=$(curl -s -m 300 -o "$dir/body" -D "$dir/head" -w '%{http_code}' \
		-H "Authorization: Bearer $(cat "$dir/$1")" -H 'Content-Type: application/json' \
		--data-binary "@$dir/$2" "http://$http/tokenize")
}

n=0
got=200
while [ "$got" = 200 ] && [ $n -lt 100 ]; do
	tokenize two short
	holds "the other user's status $got: $(head -c 300 "$dir/body")" [ "$got" = 200 ]
	tokenize one long
	n=$((n + 1))
done
holds "after $n texts: status $got: $(head -c 300 "$dir/body")" [ "$got" = 503 ]
holds "the share is named: $(cat "$dir/body")" grep -q work_percent_per_user "$dir/body"
header '^retry-after: [1-9]'

# the account is the same over the socket
refused() {
	LLAMAD_KEY=$(cat "$dir/$1") "$build/llamactl" --socket "$tcp" generate tiny -p hello -n 1 \
		>"$dir/out" 2>"$dir/err" && return 1
	grep -q work_percent_per_user "$dir/err"
}
n=0
until refused one || [ $n -ge 5 ]; do # on a slow machine the time has left the window already
	tokenize one long
	n=$((n + 1))
done
holds "the socket refuses as well: $(cat "$dir/out" "$dir/err")" [ $n -lt 5 ]
tokenize two short
holds "the other user's status $got" [ "$got" = 200 ]
fetch 200 tokens -m 300 --unix-socket "$dir/http.sock" -H 'Content-Type: application/json' \
	--data-binary "@$dir/long" http://localhost/tokenize
stop
finish "shares"
