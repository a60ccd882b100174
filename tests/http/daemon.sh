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

# start_for_packages MODEL.gguf: a daemon for the packages of clients, with the models smollm2 and scripted (which
# asks for the weather and then says that it rains), a key for a client, and one whose quota is used up: $key, $poor
start_for_packages() {
	# the packages for JavaScript open a connection for each request at once
	printf '[limits]\nhttp_store = 16M\nconnections_per_user = 100\n' >"$dir/conf"
	{
		echo "{%- set replies = ['<tool_call>{\"name\": \"weather\", \"arguments\": {\"place\": \"Bern\"}}</tool_call>', \
'It rains.'] -%}"
		cat "$src/tests/http/script.jinja"
	} >"$dir/scripted.jinja"
	printf '[model scripted]\ntemplate_file = %s\n' "$dir/scripted.jinja" >>"$dir/conf"
	does debug echo-model "$dir/echo.gguf"
	start_http
	does add scripted "$dir/echo.gguf"
	prints . key add client
	key=$(tail -n 1 "$dir/out")
	prints . key add poor --tpd 1
	poor=$(tail -n 1 "$dir/out")
	ctl add smollm2 "$1" >/dev/null || { cat "$dir/log"; exit 1; }
	fetch 200 '' -H "x-api-key: $poor" -d '{"model":"smollm2","prompt":"a","n_predict":2}' \
		"http://$http/completion"
}
