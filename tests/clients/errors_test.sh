#!/bin/sh
# SPDX-License-Identifier: MIT
# Error messages of clients: a server without progress, invalid ids and addresses, a lost device.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"

"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
printf '[engine]\nbackend = null\n[limits]\nfirst_token = 100ms\n' >"$dir/conf"

# ---- a step that hangs: the client reports the server's timeout ----
LLAMAD_NULL_STEP_US=60000000
export LLAMAD_NULL_STEP_US
start --config "$dir/conf"
does add full "$dir/full.gguf"
refused 1 'no progress for 100 ms before the first token (limit first_token)' \
	generate full -p x -n 4
prints '^llamad_failed_total 1$' stats
# errors of users are counted separately
refused 1 'nothere' generate nothere -p x
prints '^llamad_failed_total 1$' stats
prints '^llamad_invalid_total 1$' stats

# ---- ids ----
refused 1 "^llamactl cancel: id: '99' is not a stream id: it must have 32 hexadecimal digits$" cancel 99

# ---- Python: the types of the protocol are a separate module ----
if [ -n "$python" ]; then
	holds "Python: $(cat "$dir/err")" env PYTHONDONTWRITEBYTECODE=1 \
		PYTHONPATH="$src/bindings/python" "$python" - "$url" 2>"$dir/err" <<'PY'
import sys
import llamad
import llamad.types
from llamad.types import GenerateRequest, StatusRequest
assert llamad.types.GenerateRequest is GenerateRequest
assert "Any" not in llamad.types.__all__ and "StatusReply" in llamad.types.__all__
with llamad.Client(sys.argv[1]) as c:
    assert c.call(StatusRequest()).models == 1
PY
else
	skip "client in Python: Python 3.10 with msgpack is missing"
fi
stop

# ---- a device that is lost ----
unset LLAMAD_NULL_STEP_US
LLAMAD_NULL_FAIL_STEP=7
export LLAMAD_NULL_FAIL_STEP
start --config "$dir/conf"
prints . generate full -p x -n 4 --ignore-eos
call generate full -p x -n 40 --ignore-eos
holds "a lost device: status $got" [ $got -eq 1 ]
holds "a lost device: $(cat "$dir/err")" grep -q 'the device was lost' "$dir/err"
holds "the log names the model: $(cat "$dir/log")" grep -q 'model lost.*model=full' "$dir/log"
prints '^full .* failed ' list
does load full
prints '^full .* ready ' list
prints . generate full -p x -n 4 --ignore-eos
stop

# ---- addresses ----
for at in http://localhost:11434 /tmp/x.sock ''; do
	"$build/llamactl" --socket "$at" ping 2>"$dir/err"
	holds "--socket '$at': $(cat "$dir/err")" grep -qF "\"$at\" is not an address: use \
ipc://PATH, tcp://HOST:PORT or tls+tcp://HOST:PORT" "$dir/err"
done
if [ ! -e /run/llamad/llamad.sock ]; then
	XDG_RUNTIME_DIR=$dir "$build/llamactl" ping 2>"$dir/err"
	holds "no address: $(cat "$dir/err")" grep -q "/run/llamad/llamad.sock .*$dir/llamad" "$dir/err"
fi
finish "errors of clients"
