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
for f in "$cache/clients/bin/python3" "$cache/clients-frameworks/bin/python3" "$node" \
	"$cache/clients-go/ollama"; do
	holds "there is no $f: run scripts/deps all-clients" [ -x "$f" ]
done

start_for_packages "$model"
export PYTHONDONTWRITEBYTECODE=1
# run NAME COMMAND...: the output is kept for the table
run() {
	name=$1
	shift
	"$@" "http://$http" smollm2 "$key" "$poor" >"$dir/checks" 2>"$dir/warnings"
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

# the program of Ollama sends no key, which is not needed while there is none
does key rm client
does key rm poor
export HOME="$dir/home" OLLAMA_HOST="http://$http" OLLAMA_NOHISTORY=1
mkdir "$HOME"
# ollama WHAT PATTERN ARGUMENT...: its output has the pattern
ollama() {
	what=$1 pattern=$2
	shift 2
	if "$cache/clients-go/ollama" "$@" </dev/null >"$dir/out" 2>&1 && grep -q "$pattern" "$dir/out"; then
		echo "ok: ollama.go $what" >>"$dir/all"
	else
		echo "FAIL: ollama.go $what: $(head -c 300 "$dir/out")" | tee -a "$dir/all"
		holds "ollama $*" false
	fi
}
# becomes COMMAND...: it holds within a minute
becomes() {
	tries=0
	until "$@"; do
		tries=$((tries + 1))
		[ $tries -lt 1200 ] || return 1
		sleep 0.05 # asks again; nothing depends on its length
	done
}
ollama models '^smollm2 ' list
ollama models 'architecture' show smollm2
ollama chat . run smollm2 "Name a colour." --verbose
ollama stream 'eval rate' run smollm2 "Name a colour." --verbose
ollama models '^smollm2 ' ps
ollama "structured output" '{' run smollm2 "Name a colour as JSON." --format json
"$cache/clients-go/ollama" show nosuch </dev/null >"$dir/out" 2>&1
holds "ollama: a model that does not exist: $(cat "$dir/out")" grep -q 'not found\|does not exist' "$dir/out"
echo "ok: ollama.go errors, no model" >>"$dir/all"
"$cache/clients-go/ollama" rm smollm2 </dev/null >"$dir/out" 2>&1
holds "ollama: what only an administrator may do: $(cat "$dir/out")" grep -q 'role admin' "$dir/out"
# 32 programs at once, and one that ends in the middle of an answer
i=0 programs=
while [ $i -lt 32 ]; do
	i=$((i + 1))
	"$cache/clients-go/ollama" run smollm2 "Say $i." </dev/null >"$dir/run.$i" 2>&1 &
	programs="$programs $!"
done
rc=0
for i in $programs; do
	wait "$i" || rc=$?
done
cat "$dir"/run.* >"$dir/out"
holds "ollama: 32 at once: $(tail -n 3 "$dir/out")" [ $rc -eq 0 ]
[ $rc -ne 0 ] || echo "ok: ollama.go 32 at once" >>"$dir/all"
before=$(wc -l <"$dir/log")
"$cache/clients-go/ollama" run smollm2 "Tell me a long story." </dev/null >"$dir/out" 2>&1 &
program=$!
holds "ollama: an answer is computed" becomes sh -c 'curl -s "$1" | grep -q "server_load.:[1-9]"' sh "http://$http/load"
kill -9 $program
wait $program 2>/dev/null
becomes sh -c 'tail -n "+$1" "$2" | grep -q "POST /api/generate; .* end=gone"' sh "$before" "$dir/log"
rc=$?
holds "ollama: the answer to a client that was killed is cancelled" [ $rc -eq 0 ]
[ $rc -ne 0 ] || echo "ok: ollama.go cancellation" >>"$dir/all"
ollama unload '' stop smollm2
stop
holds "the table in docs/http-apis.md is that of these checks" \
	/usr/bin/env python3 "$src/tests/http/matrix.py" "$src" "$dir/all"
finish clients_test
