#!/bin/sh
# SPDX-License-Identifier: MIT
# Who may use the HTTP APIs: users of the machine, owners of keys, web pages; what the configuration
# refuses.
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"
command -v curl >/dev/null || {
	echo "SKIP: there is no curl"
	exit 77
}

refuses() {
	pattern=$1
	shift
	"$build/llamad" --socket "$url" --state-dir "$dir/state" "$@" >/dev/null 2>"$dir/err"
	holds "llamad $*: status" [ $? -eq 1 ]
	holds "llamad $*: '$pattern' is not in: $(cat "$dir/err")" grep -q -e "$pattern" "$dir/err"
}

# ---- configurations that are refused ----
: >"$dir/conf"
refuses 'not ADDR:PORT' --http localhost:80
refuses 'plain_tcp = yes' --http 0.0.0.0:0
refuses 'absolute path' --http unix:here
printf '[daemon]\nplain_tcp = yes\n' >"$dir/conf"
refuses 'llamactl key add' --config "$dir/conf" --http 0.0.0.0:0
printf '[daemon]\nhttp_origin = example.org\n' >"$dir/conf"
refuses 'not an origin' --config "$dir/conf" --http 127.0.0.1:0

# ---- without keys ----
printf '[daemon]\nhttp_origin = https://good.example\nplain_tcp = yes\n' >"$dir/conf"
start_http
fetch 200 '"status":"ok"' "http://$http/health"
header '^content-type: application/json'
header '^date: '
fetch 200 llamad_requests_running "http://$http/metrics"
fetch 200 . -H 'Authorization: Bearer any' "http://$http/metrics"
fetch 200 '"openapi":"3.1.0"' "http://$http/openapi.json"
if python3 -c 'import openapi_spec_validator' 2>/dev/null; then
	holds "the description is OpenAPI 3.1" python3 -c 'import json, sys
from openapi_spec_validator import validate
validate(json.load(open(sys.argv[1])))' "$dir/body"
else
	skip "the description is OpenAPI 3.1: no module openapi_spec_validator"
fi
fetch 200 'Lists the endpoints' "http://$http/"
fetch 200 ok "http://$http/readyz"
fetch 200 version --unix-socket "$dir/http.sock" http://localhost/version
fetch 404 'no endpoint /nothing' "http://$http/nothing"
fetch 405 'not allowed' -X DELETE "http://$http/health"
header '^allow: GET, HEAD, OPTIONS'
fetch 501 'not known' -X BREW "http://$http/health"

# web pages: only those of the configured origin
fetch 200 . -H 'Origin: https://good.example' "http://$http/health"
header '^access-control-allow-origin: https://good.example'
fetch 403 'http_origin' -H 'Origin: https://evil.example' "http://$http/health"
fetch 403 'http_origin' -H 'Origin: null' "http://$http/health"
fetch 403 'http_origin' -X OPTIONS -H 'Origin: https://evil.example' "http://$http/health"
fetch 204 '' -X OPTIONS -H 'Origin: https://good.example' \
	-H 'Access-Control-Request-Method: POST' "http://$http/health"
header '^access-control-allow-methods: GET'
fetch 200 . -H "Origin: http://$http" "http://$http/health"
# names that resolve to this machine (DNS rebinding)
fetch 403 'not a name of this machine' -H 'Host: evil.example' "http://$http/health"
fetch 200 . -H 'Host: localhost:99' "http://$http/health"

# ---- with keys: from the first one on they are required on TCP ----
prints . key add reader
key=$(tail -n 1 "$dir/out")
prints . key add boss --role admin
boss=$(tail -n 1 "$dir/out")
fetch 401 'API key is missing' "http://$http/metrics"
header '^www-authenticate: Bearer'
fetch 200 . "http://$http/health"
fetch 401 'unknown or has expired' -H 'Authorization: Bearer wrong' "http://$http/metrics"
fetch 200 . -H "Authorization: Bearer $key" "http://$http/metrics"
fetch 200 . -H "authorization: bearer $boss" "http://$http/metrics"
fetch 200 . -H "x-api-key: $key" "http://$http/metrics"
fetch 200 . --unix-socket "$dir/http.sock" http://localhost/metrics
fetch 401 . --unix-socket "$dir/http.sock" -H 'x-api-key: wrong' http://localhost/metrics
holds "the log names the label" grep -q 'GET /metrics; status=200 principal=reader' "$dir/log"
holds "the log has no key" sh -c '! grep -q -e "$1" "$2"' sh "$key" "$dir/log"
raw burst "$http" "$key"
fetch 403 'requires the role admin' -H "x-api-key: $key" -X POST "http://$http/props"
# one connection: the second request uses what is known of the key, until it is removed
fetch 200 . -H "x-api-key: $key" "http://$http/metrics" --next -s -o "$dir/body" \
	-H "x-api-key: $key" "http://$http/metrics"
does key rm reader
fetch 401 'unknown or has expired' -H "x-api-key: $key" "http://$http/metrics"
i=0
while [ $i -lt 12 ]; do
	i=$((i + 1))
	curl -s -o /dev/null -H 'x-api-key: wrong' "http://$http/metrics"
done
fetch 429 . -H 'x-api-key: wrong' "http://$http/metrics"
header '^retry-after: '
stop
recorded() {
	holds "the audit log has no '$1'" grep -q -e "$1" "$dir/state/audit.log"
}
recorded '"event":"access_denied","principal":"peer:127.0.0.1","subject":"/metrics","detail":"the API key is missing'
recorded '"event":"access_denied","principal":"key:reader","subject":"/props","detail":"the role admin'
recorded '"event":"login_failed","principal":"peer:127.0.0.1","subject":"","detail":".*unknown'
recorded '"event":"login_failed","principal":"uid:'

# ---- beyond loopback, with a key ----
start_http --http 0.0.0.0:0
far=$(sed -n 's,.*ready on http://0.0.0.0:\([0-9]*\)$,\1,p' "$dir/log")
fetch 401 'API key is missing' -H 'Host: any.example' "http://127.0.0.1:$far/metrics"
fetch 200 . -H "x-api-key: $boss" -H 'Host: any.example' "http://127.0.0.1:$far/metrics"
stop

# ---- TLS ----
certificate() {
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$1" \
		-addext "subjectAltName=DNS:localhost,IP:127.0.0.1" -keyout "$dir/key.pem" \
		-out "$dir/cert.pem" 2>/dev/null && chmod 600 "$dir/key.pem"
}
tls() {
	fetch "$@" --cacert "$dir/cert.pem" --connect-to "localhost:443:127.0.0.1:$port"
}
certificate first || exit 99
: >"$dir/conf"
refuses 'requires tls_cert' --http tls:127.0.0.1:0
chmod 644 "$dir/key.pem"
refuses 'lets other users access' --http tls:127.0.0.1:0 --tls-cert "$dir/cert.pem" \
	--tls-key "$dir/key.pem"
chmod 600 "$dir/key.pem"
start_http --http tls:0.0.0.0:0 --tls-cert "$dir/cert.pem" --tls-key "$dir/key.pem"
port=$(sed -n 's,.*ready on https://0.0.0.0:\([0-9]*\)$,\1,p' "$dir/log")
tls 200 '"status":"ok"' https://localhost/health
tls 401 'API key is missing' https://localhost/metrics
tls 200 llamad_requests_total -H "x-api-key: $boss" https://localhost/metrics
holds "TLS 1.1 is refused" sh -c '! curl -sk --tls-max 1.1 -o /dev/null "$1"' sh \
	"https://127.0.0.1:$port/health"
curl -s -m 30 -o "$dir/body" "http://127.0.0.1:$port/health"
holds "plain HTTP on the port of TLS" [ $? -ne 0 ]
# a reload takes another certificate, and keeps the old one if the new one cannot be used
certificate second || exit 99
does reload
tls 200 '"status":"ok"' https://localhost/health
cp "$dir/cert.pem" "$dir/good.pem"
echo none >"$dir/cert.pem"
call reload
holds "a reload without a certificate: status $got" [ $got -eq 1 ]
cp "$dir/good.pem" "$dir/cert.pem"
tls 200 '"status":"ok"' https://localhost/health
stop
holds "the unix socket is removed" [ ! -e "$dir/http.sock" ]
finish "access"
