#!/bin/sh
# SPDX-License-Identifier: MIT
# A daemon that is killed, stopped and restarted while llamactl (the library in C), Python and Go use it:
# no client may hang.  LMD_TEST_LONG=1: many rounds with a random seed, which is printed.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"

if [ -z "$python" ]; then
	skip "Python 3.10 with msgpack is missing"
	finish outages
fi
"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
prompt='the cat sat on' rounds=5 seed=1 n=200
if [ -n "${LMD_TEST_LONG:-}" ]; then
	rounds=${LMD_TEST_ROUNDS:-40} seed=${LMD_TEST_SEED:-$$}
fi
set -- "llamactl=$build/llamactl --socket $url generate full -p '$prompt' -n $n --temp 0" \
	"Python=env PYTHONPATH=$src/bindings/python $python $src/bindings/python/examples/stream.py full '$prompt' $n $url"
if go_has ./... && (cd "$src/bindings/go" && go build -o "$dir/example" ./example); then
	set -- "$@" "Go=$dir/example full '$prompt' $n $url"
else
	skip "client in Go: go is missing, or its module cannot be fetched"
fi
"$python" "$src/tests/clients/outages.py" "$build" "$dir" "$rounds" "$seed" "$dir/full.gguf" "$@" >"$dir/out"
status=$?
holds "outages.py: status $status" [ $status -eq 0 ]
cat "$dir/out"
finish outages
