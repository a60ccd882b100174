#!/bin/sh
# SPDX-License-Identifier: MIT
# HTTP on sockets that another process has opened, as systemd does.
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"
for program in curl python3; do
	command -v $program >/dev/null || {
		echo "SKIP: there is no $program"
		exit 77
	}
done
: >"$dir/conf"

# activate NAMES ADDRESS... -- OPTION...: starts the daemon with sockets; it is stopped after
# two minutes, so that no wait for it takes longer
activate() {
	names=$1
	shift
	addresses=
	while [ "$1" != -- ]; do
		addresses="$addresses $1"
		shift
	done
	shift
	# shellcheck disable=SC2086 # a list
	timeout -k 10 120 python3 "$src/tests/http/activate.py" "$dir/ports" "$names" $addresses -- \
		"$build/llamad" --socket "$url" --state-dir "$dir/state" --config "$dir/conf" "$@" 2>"$dir/log" &
	daemon=$!
}

# refused PATTERN: the daemon ends with that message
refused() {
	wait "$daemon"
	holds "it ends with an error" [ $? -ne 0 ]
	daemon=
	holds "the error lacks '$1': $(cat "$dir/log")" grep -q -e "$1" "$dir/log"
}

# ---- TCP and a unix socket, beside one that is not for HTTP ----
activate http:other:http 127.0.0.1 "$dir/other.sock" "$dir/http.sock" --
until ctl ping >/dev/null 2>"$dir/err"; do
	if ! kill -0 "$daemon" 2>/dev/null; then
		cat "$dir/log" "$dir/err"
		echo "FAIL: the daemon does not get ready"
		exit 1
	fi
	sleep 0.05 # asks again; nothing depends on its length
done
port=$(head -n 1 "$dir/ports")
fetch 200 . "http://127.0.0.1:$port/health"
fetch 200 . --unix-socket "$dir/http.sock" http://localhost/metrics
holds "the log names the port" grep -q "ready on http://127.0.0.1:$port\$" "$dir/log"
holds "the log names the ignored socket" grep -q \
	"inherited sockets ignored: 1, the first has the name 'other'" "$dir/log"
holds "the log names the path" grep -q "ready on unix:$dir/http.sock\$" "$dir/log"
stop
holds "the file stays, for the next start" [ -S "$dir/http.sock" ]

# ---- what the configuration may not have either is refused ----
rm "$dir/other.sock" "$dir/http.sock"
activate http 0.0.0.0 --
refused 'the inherited socket sends keys and texts without encryption'
activate https 127.0.0.1 --
refused 'the inherited socket https requires tls_cert'
activate http udp --
refused 'the inherited descriptor 3 is not a listening stream socket'
activate https "$dir/http.sock" --
refused 'the inherited descriptor 3 is a unix socket: name it http'
echo "plain_tcp = yes" | sed '1i [daemon]' >"$dir/conf"
activate http 0.0.0.0 --
refused 'clients of the inherited socket need an API key'

# ---- descriptors of another process are not touched ----
: >"$dir/conf"
LISTEN_PID=1 LISTEN_FDS=5 LISTEN_FDNAMES=http:http:http:http:http start --config "$dir/conf"
stop
finish "activation"
