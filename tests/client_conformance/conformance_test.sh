#!/bin/sh
# SPDX-License-Identifier: MIT
# The clients in C, Python, Go and JavaScript against the scripted exchanges of this folder.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"

if [ -z "$python" ]; then
	echo "SKIP: client conformance: Python 3.10 with msgpack is missing"
	exit 77
fi

# conforms NAME COMMAND...
conforms() {
	name=$1
	shift
	PYTHONDONTWRITEBYTECODE=1 "$python" "$src/tests/client_conformance/run.py" "$@" >"$dir/out" 2>&1
	holds "$name: $(cat "$dir/out")" [ $? -eq 0 ]
}

conforms C "$build/tests/client_conformance/driver"
PYTHONPATH=$src/bindings/python
export PYTHONPATH
conforms Python "$python" "$src/bindings/python/tests/conformance.py" sync
conforms "Python with asyncio" "$python" "$src/bindings/python/tests/conformance.py" async
if go_has ./internal/conformance &&
	(cd "$src/bindings/go" && go build -o "$dir/driver" ./internal/conformance); then
	conforms Go "$dir/driver"
else
	skip "client in Go: go is missing, or its module cannot be fetched"
fi

if node_is_new; then
	conforms JavaScript node "$src/bindings/js/test/conformance.js"
	node "$src/bindings/js/test/msgpack.js" >"$dir/out" 2>&1
	holds "messages in JavaScript: $(cat "$dir/out")" [ $? -eq 0 ]
else
	skip "client in JavaScript: there is no Node 18"
fi

# A driver that does nothing fails every case.
"$python" "$src/tests/client_conformance/run.py" echo '{}' >"$dir/out" 2>&1
holds "a driver that does nothing passes: $(cat "$dir/out")" grep -q '^0 of [1-9][0-9]* cases passed$' "$dir/out"
finish "client conformance"
