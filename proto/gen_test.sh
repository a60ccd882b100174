#!/bin/sh
# SPDX-License-Identifier: MIT
# Generated files are what the schema says, the session in docs/protocol.md is what the codec
# writes, and Python reads and writes the same messages.
set -eu
top=${LMD_TEST_SRCDIR:-.}
wire=${LMD_TEST_BUILDDIR:-.}/proto/wire

session=$(mktemp)
trap 'rm -f "$session"' EXIT
"$wire" session >"$session"
if command -v python3 >/dev/null; then
	python3 "$top/build-aux/gen-proto" --check --session "$session" "$top"
else
	echo "SKIP: generated files: there is no python3"
fi
for python in /usr/bin/python3 python3; do
	if "$python" -c 'import msgpack, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
		exec "$python" "$top/proto/cross.py" "$wire" "$top/bindings/python/llamad"
	fi
done
echo "SKIP: messages across languages: there is no python3 with msgpack"
