#!/bin/sh
# SPDX-License-Identifier: MIT
# The HTTP APIs as all client packages of tests/http/clients.txt see them, for which
# `scripts/deps all-clients` must have installed them.  Part of make check-long.
#   LMD_HTTP_UPDATE=1 writes the table of clients in docs/http-apis.md
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"
if [ "${LMD_TEST_LONG:-0}" != 1 ]; then
	echo "SKIP: clients_test is part of make check-long"
	exit 77
fi
cache=${XDG_CACHE_HOME:-$HOME/.cache}/llamad
node=$cache/clients-js/node_modules/node/bin/node
model=$("$src/scripts/fetch-model" --folder)/SmolLM2-135M-Instruct.Q4_1.gguf
[ -f "$model" ] || {
	echo "SKIP: clients_test: there is no $model; scripts/fetch-model smollm2 fetches it"
	exit 77
}
# a package that is not installed is a failure here
for f in "$cache/clients/bin/python3" "$cache/clients-frameworks/bin/python3" "$node"; do
	holds "there is no $f: run scripts/deps all-clients" [ -x "$f" ]
done

# the packages for JavaScript open a connection for each request at once
printf '[limits]\nhttp_store = 16M\nconnections_per_user = 100\n' >"$dir/conf"
start_http
prints . key add client
key=$(tail -n 1 "$dir/out")
ctl add smollm2 "$model" >/dev/null || { cat "$dir/log"; exit 1; }
export PYTHONDONTWRITEBYTECODE=1
# run NAME COMMAND...: the output is kept for the table
run() {
	name=$1
	shift
	"$@" "http://$http" smollm2 "$key" >"$dir/checks" 2>"$dir/warnings"
	rc=$?
	cat "$dir/checks" >>"$dir/all"
	grep -v '^ok' "$dir/checks"
	[ $rc -eq 0 ] || tail -n 20 "$dir/warnings"
	holds "$name" [ $rc -eq 0 ]
}
run "packages.py" "$cache/clients/bin/python3" "$src/tests/http/packages.py"
run "frameworks.py" "$cache/clients-frameworks/bin/python3" "$src/tests/http/frameworks.py"
script=$(cd "$src" && pwd)/tests/http/clients.mjs
run "clients.mjs" sh -c 'cd "$1" && shift && exec "$@"' sh "$cache/clients-js" "$node" "$script"
stop
holds "the table in docs/http-apis.md is that of these checks" \
	/usr/bin/env python3 "$src/tests/http/matrix.py" "$src" "$dir/all"
finish clients_test
