#!/bin/sh
# SPDX-License-Identifier: MIT
# A private daemon on tcp and tls+tcp with a certificate that has signed itself, and the clients in
# Python and Go with keys.
build=${LMD_TEST_BUILDDIR:-.}
src=${LMD_TEST_SRCDIR:-.}
dir=$(mktemp -d) || exit 99
daemon=
trap '[ -z "$daemon" ] || kill "$daemon" 2>/dev/null; wait; rm -rf "$dir"' EXIT
passed=0 failed=0 skipped=0
url=ipc://$dir/sock

ok() {
	passed=$((passed + 1))
}
bad() {
	echo "FAIL: $*"
	failed=$((failed + 1))
}
skip() {
	echo "SKIP: $*"
	skipped=$((skipped + 1))
}
ctl() {
	"$build/llamactl" --socket "$url" "$@"
}
# start OPTION...: and waits until it answers
start() {
	"$build/llamad" --socket "$url" --state-dir "$dir/state" "$@" 2>"$dir/log" &
	daemon=$!
	tries=0
	until ctl ping >"$dir/ping" 2>"$dir/err"; do
		tries=$((tries + 1))
		if ! kill -0 $daemon 2>/dev/null || [ $tries -gt 200 ]; then
			cat "$dir/log" "$dir/err"
			echo "FAIL: the daemon does not get ready"
			exit 1
		fi
		sleep 0.05 # asks again; nothing depends on its length
	done
}
stop() {
	ctl shutdown || bad "shutdown"
	wait $daemon || bad "the daemon's exit status: $?"
	daemon=
}

if ! openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=llamad \
	-addext subjectAltName=DNS:localhost -keyout "$dir/key.pem" -out "$dir/cert.pem" \
	2>"$dir/err"; then
	echo "SKIP: clients with keys: no openssl to make a certificate: $(tail -n 1 "$dir/err")"
	exit 77
fi
chmod 600 "$dir/key.pem"

"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
start
ctl add full "$dir/full.gguf" || bad "add full"
LMD_TEST_KEY=$(ctl key add tester --role user) || bad "key add"
stop
start --listen tcp://127.0.0.1:0 --listen tls+tcp://127.0.0.1:0 --tls-cert "$dir/cert.pem" \
	--tls-key "$dir/key.pem"
LMD_TEST_TCP=$(sed -n 's/.*listening on \(tcp:.*\)/\1/p' "$dir/log")
LMD_TEST_TLS=$(sed -n 's/.*listening on \(tls+tcp:.*\)127.0.0.1\(.*\)/\1localhost\2/p' "$dir/log")
LMD_TEST_CA=$dir/cert.pem LMD_TEST_WANT=$dir/want LMD_TEST_PROMPT='the cat sat on' LMD_TEST_N=24
export LMD_TEST_KEY LMD_TEST_TCP LMD_TEST_TLS LMD_TEST_CA LMD_TEST_WANT LMD_TEST_PROMPT LMD_TEST_N
"$build/llamactl" run "$dir/full.gguf" -p "$LMD_TEST_PROMPT" -n $LMD_TEST_N --temp 0 >"$dir/want" ||
	bad "run"

for at in "$LMD_TEST_TCP" "$LMD_TEST_TLS"; do
	LLAMAD_KEY=$LMD_TEST_KEY "$build/llamactl" --socket "$at" --ca "$LMD_TEST_CA" \
		generate full -p "$LMD_TEST_PROMPT" -n $LMD_TEST_N --temp 0 >"$dir/got" 2>"$dir/err"
	cmp -s "$dir/want" "$dir/got" && ok || bad "llamactl at $at: $(cat "$dir/err" "$dir/got")"
done
python=
for p in /usr/bin/python3 python3; do
	"$p" -c 'import msgpack, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && python=$p && break
done
if [ -n "$python" ]; then
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$src/bindings/python \
		"$python" "$src/bindings/python/tests/keys_test.py" >"$dir/out" 2>&1 && ok ||
		bad "Python: $(cat "$dir/out")"
else
	skip "client in Python: there is no Python 3.10 with msgpack"
fi
if command -v go >/dev/null && (cd "$src/bindings/go" && go vet .) >"$dir/err" 2>&1; then
	(cd "$src/bindings/go" && go test -count=1 -run TestLiveKeys .) >"$dir/out" 2>&1 && ok ||
		bad "Go: $(cat "$dir/out")"
else
	skip "client in Go: there is no go, or its module cannot be fetched"
fi
stop
echo "CASES: clients with keys: $passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
