#!/bin/sh
# SPDX-License-Identifier: MIT
# A private daemon on tcp and tls+tcp with a self-signed certificate, and the clients in Python and Go
# with keys; then with a certificate for an address, and what llamactl says when TLS fails.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"

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
if [ -n "$python" ]; then
	holds "Python" py tests/keys_test.py
else
	skip "client in Python: Python 3.10 with msgpack is missing"
fi
if go_has .; then
	(cd "$src/bindings/go" && go test -count=1 -run TestLiveKeys .) >"$dir/out" 2>&1
	holds "Go: $(cat "$dir/out")" [ $? -eq 0 ]
else
	skip "client in Go: go is missing, or its module cannot be fetched"
fi

# asks MESSAGE URL CA: llamactl cannot use the address and says why; with "": it can
asks() {
	LLAMAD_KEY=$LMD_TEST_KEY "$build/llamactl" --socket "$2" --ca "$3" list >"$dir/got" 2>"$dir/err"
	got=$?
	if [ -z "$1" ]; then
		holds "$2: $(cat "$dir/err")" [ $got -eq 0 ]
	else
		holds "$2 says: $(cat "$dir/err")" grep -q -e "$2: $1" "$dir/err"
	fi
}
port=${LMD_TEST_TLS##*:}
asks 'the certificate is not for the address 127.0.0.1$' "tls+tcp://127.0.0.1:$port" "$LMD_TEST_CA"
asks 'the server .*TLS' "tls+$LMD_TEST_TCP" "$LMD_TEST_CA"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost \
	-addext subjectAltName=IP:127.0.0.1,IP:::1 -keyout "$dir/other.key" -out "$dir/other.pem" 2>"$dir/err" ||
	bad "a certificate for an address: $(cat "$dir/err")"
asks 'the certificate is not trusted: self-signed certificate$' "$LMD_TEST_TLS" "$dir/other.pem"
"$build/llamactl" --socket "$LMD_TEST_TLS" --ca "$dir/none.pem" list >"$dir/got" 2>"$dir/err"
holds "no file: $(cat "$dir/err")" grep -q "$dir/none.pem: cannot be read as certificates in PEM: No such file" "$dir/err"
stop
chmod 600 "$dir/other.key"
start --listen tls+tcp://127.0.0.1:0 --tls-cert "$dir/other.pem" --tls-key "$dir/other.key"
at=$(sed -n 's/.*listening on \(tls+tcp:.*\)/\1/p' "$dir/log")
asks '' "$at" "$dir/other.pem"
# its common name does not count
asks 'the certificate is not for the name localhost$' "tls+tcp://localhost:${at##*:}" "$dir/other.pem"
LLAMAD_KEY=$LMD_TEST_KEY "$build/llamactl" --socket "$at" --ca "$dir/other.pem" \
	generate full -p "$LMD_TEST_PROMPT" -n $LMD_TEST_N --temp 0 >"$dir/got" 2>"$dir/err"
cmp -s "$dir/want" "$dir/got" && ok || bad "llamactl at $at: $(cat "$dir/err" "$dir/got")"
stop
finish "clients with keys"
