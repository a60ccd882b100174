#!/bin/sh
# SPDX-License-Identifier: MIT
# Many connections at once: idle, slow, with many requests at once, and those that leave an answer.
# make check-long has 10 000 idle ones, make check 500.
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"
[ -d /proc/self ] || {
	echo "SKIP: load_test: there is no /proc"
	exit 77
}
n=500 slow=40
[ "${LMD_TEST_LONG:-0}" != 1 ] || n=10000 slow=400
most=$(ulimit -Hn)
if [ "$most" != unlimited ] && [ "$most" -lt $((n + 200)) ]; then
	skip "$n connections: a process may have $most files (ulimit -Hn)"
	n=$((most - 200))
	if [ "$n" -lt "$slow" ]; then
		echo "SKIP: load_test: a process may have only $most files"
		exit 77
	fi
fi

load() {
	PYTHONDONTWRITEBYTECODE=1 python3 "$src/tests/http/load.py" "$1" "$http" "$daemon" "$2"
	holds "load.py $1 $2" [ $? -eq 0 ]
}

: >"$dir/conf"
start_http
load default 32
stop

cat >"$dir/conf" <<EOF
[limits]
connections = $((n + 100))
connections_per_user = $((n + 100))
idle = 10m
EOF
does debug echo-model "$dir/echo.gguf"
start_http
does add echo "$dir/echo.gguf"
does load echo
load idle "$n"
load pipelining "$slow"
load storm "$slow"
does generate echo -p "still here"
holds "an answer afterwards" grep -q 'still here' "$dir/out"

# ready is who would serve: not while an answer is the last thing that is waited for
curl -s -N -o /dev/null -D "$dir/began" -d '{"messages":[{"role":"user","content":"again"}],"stream":true,
	"ignore_eos":true,"context_shift":true,"max_tokens":100000000}' "http://$http/v1/chat/completions" &
endless=$!
until [ -s "$dir/began" ]; do
	sleep 0.05 # asks again; nothing depends on its length
done
fetch 200 ok "http://$http/readyz"
does shutdown --drain 60s
fetch 503 'shutting down' "http://$http/readyz"
header '^retry-after: '
fetch 503 'shutting down' "http://$http/health"
fetch 200 ok "http://$http/livez"
kill $endless
ended

printf 'message_time = 500ms\n' >>"$dir/conf"
start_http
load slowloris "$slow"
stop
finish load_test
