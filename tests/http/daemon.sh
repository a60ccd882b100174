# SPDX-License-Identifier: MIT
# Sourced by the tests of HTTP: a private daemon that also serves HTTP, at $http and at the unix
# socket $dir/http.sock.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"

# start_http OPTION...: the configuration is in $dir/conf
start_http() {
	start --config "$dir/conf" --http 127.0.0.1:0 --http "unix:$dir/http.sock" "$@"
	http=$(sed -n 's,.*ready on http://\(127[0-9.:]*\)$,\1,p' "$dir/log")
	holds "the log names the address" [ -n "$http" ]
}

# fetch CODE PATTERN CURL-ARGUMENT...: a request with that status and a body with that pattern
fetch() {
	code=$1 pattern=$2
	shift 2
	got=$(curl -s -m 30 -o "$dir/body" -D "$dir/head" -w '%{http_code}' "$@")
	holds "curl $*: status $got, not $code: $(head -c 300 "$dir/body")" [ "$got" = "$code" ]
	[ -z "$pattern" ] || holds "curl $*: the body lacks '$pattern': $(head -c 300 "$dir/body")" \
		grep -q -e "$pattern" "$dir/body"
}

# header PATTERN: the last response has it
header() {
	holds "the header lacks '$1': $(cat "$dir/head")" grep -qi -e "$1" "$dir/head"
}

raw() {
	holds "raw.py $1" /usr/bin/env python3 "$src/tests/http/raw.py" "$@"
}
