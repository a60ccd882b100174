#!/bin/sh
# SPDX-License-Identifier: MIT
# The unix socket at which HTTP is served without any configuration: who may use it, what moves it and
# what turns it off.
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"
command -v curl >/dev/null || {
	echo "SKIP: there is no curl"
	exit 77
}
at=$dir/sock-http.sock
: >"$dir/conf"

# places PATTERN NUMBER: the log names so many places of HTTP, and one with that pattern
places() {
	n=$(grep -c 'http: ready on' "$dir/log")
	holds "$n places instead of $2: $(cat "$dir/log")" [ "$n" -eq "$2" ]
	[ "$2" -eq 0 ] || holds "no place '$1': $(cat "$dir/log")" grep -q "http: ready on $1\$" "$dir/log"
}

# ---- without configuration ----
start --config "$dir/conf"
places "unix:$at" 1
fetch 200 '"status":"ok"' --unix-socket "$at" http://localhost/health
fetch 200 llamad_requests_running --unix-socket "$at" http://localhost/metrics
fetch 200 '"openapi":"3.1.0"' --unix-socket "$at" http://localhost/openapi.json
fetch 200 '"openapi":"3.1.0"' --unix-socket "$at" http://localhost/openapi.json
rights='%a %u %g %F'
holds "rights: $(stat -c "$rights" "$at" "$dir/sock")" \
	[ "$(stat -c "$rights" "$at")" = "$(stat -c "$rights" "$dir/sock")" ]
holds "mode: $(stat -c %a "$at")" [ "$(stat -c %a "$at")" = 660 ]
# the daemon's own user is an administrator: its request is refused for its contents, not for its role
fetch 501 . --unix-socket "$at" -X POST -d '{}' http://localhost/props
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$dir" && touch "$dir/head" "$dir/body" && chmod 666 "$dir/head" "$dir/body"
	# another user in the socket's group has the role user, one outside does not get in
	# as GROUP METHOD PATH: prints the status
	as() {
		setpriv --reuid 65534 --regid "$1" --clear-groups curl -s -m 30 -o "$dir/body" -w '%{http_code}' \
			--unix-socket "$at" -X "$2" "http://localhost$3"
	}
	group=$(stat -c %g "$at")
	holds "a member of the group" [ "$(as "$group" GET /metrics)" = 200 ]
	holds "a member is no administrator" [ "$(as "$group" POST /props)" = 403 ]
	holds "the reason: $(cat "$dir/body")" grep -q 'requires the role admin' "$dir/body"
	holds "another user" [ "$(as 65534 GET /health)" = 000 ]
else
	skip "other users: this test is not run by root, or there is no setpriv"
fi
# a process that died leaves its socket behind
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
holds "the file is left behind" [ -S "$at" ]
start --config "$dir/conf"
fetch 200 . --unix-socket "$at" http://localhost/health
stop
holds "the socket is removed" [ ! -e "$at" ]

# ---- off ----
start --config "$dir/conf" --http off
places none 0
holds "there is no socket" [ ! -e "$at" ]
stop
printf '[daemon]\nhttp = off\n' >"$dir/conf"
start --config "$dir/conf"
places none 0
# a reload that would turn it on is refused
: >"$dir/conf"
call reload
holds "a reload: status $got: $(cat "$dir/err")" grep -q "'http' in .daemon. has changed" "$dir/err"
stop

# ---- with addresses ----
start --config "$dir/conf" --http 127.0.0.1:0
places "unix:$at" 2
fetch 200 . --unix-socket "$at" http://localhost/health
stop
start --config "$dir/conf" --http "unix:$dir/other.sock"
places "unix:$dir/other.sock" 1
holds "the other place replaces it" [ ! -e "$at" ]
stop

# ---- what is in the way ----
echo data >"$at"
"$build/llamad" --socket "$url" --state-dir "$dir/state" --config "$dir/conf" 2>"$dir/err"
holds "a file that is no socket: $(cat "$dir/err")" grep -q "$at: exists and is not a socket" "$dir/err"
holds "the file is kept" [ "$(cat "$at")" = data ]
rm "$at"
# a path for the daemon's socket that leaves no room for the longer one beside it
room=$((107 - ${#dir} - 1))
url=ipc://$dir/$(printf "%0${room}d" 0)
start --config "$dir/conf"
places none 0
holds "the log says so: $(cat "$dir/log")" grep -q 'there is no unix socket beside .* 117 bytes' "$dir/log"
stop
finish "the default socket of HTTP"
