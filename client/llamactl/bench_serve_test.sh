#!/bin/sh
# SPDX-License-Identifier: MIT
# llamactl bench serve: against a server of the test's own, and against a daemon.
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"
unset LLAMAD_KEY
command -v python3 >/dev/null || {
	echo "SKIP: bench serve: there is no python3"
	exit 77
}
python3 "$src/client/llamactl/bench_serve_test.py" "$build/llamactl"
holds "requests, loops, goals and failures" [ $? -eq 0 ]

# value EXPRESSION: of the last output in JSON
value() {
	python3 -c "import json, sys; r = json.load(open(sys.argv[1])); print($1)" "$dir/out"
}

"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
: >"$dir/conf"
start_http
does add tiny "$dir/full.gguf"
does bench serve tiny --url "http://$http/v1" -r 12 --clients 4 -p 10-20 -n 5 --json
holds "all are answered" [ "$(value "(r['answered'], r['failed'])")" = "(12, 0)" ]
holds "the daemon's counts: $(value "r['generation_tokens']")" [ "$(value "r['generation_tokens']")" = 60 ]
does bench serve tiny --url "unix:$dir/http.sock" -r 4 --rate 50 -p 5 --shared 20 -n 2 --json
holds "the common beginning is cached" [ "$(value "r['cached_tokens'] > 0")" = True ]
prints '^between tokens  *[0-9.]* ' bench serve tiny --url "unix:$dir/http.sock" -r 2 -p 9 -n 4
refused 1 'did not answer the first request: .*context size' bench serve tiny --url "http://$http" -p 200
stop
finish "llamactl bench serve"
