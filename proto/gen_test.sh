#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks that the generated files match the schema, that the session in docs/protocol.md matches the
# codec, and that Python encodes and decodes the same messages.
set -eu
top=${LMD_TEST_SRCDIR:-.}
wire=${LMD_TEST_BUILDDIR:-.}/proto/wire

session=$(mktemp)
trap 'rm -f "$session"' EXIT
"$wire" session >"$session"
if command -v python3 >/dev/null; then
	python3 "$top/build-aux/gen-proto" --check --session "$session" "$top"
else
	echo "SKIP: generated files: python3 is missing"
fi
for python in /usr/bin/python3 python3; do
	if "$python" -c 'import msgpack, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
		exec "$python" "$top/proto/cross.py" "$wire" "$top/bindings/python/llamad"
	fi
done
echo "SKIP: messages across languages: python3 with msgpack is missing"
