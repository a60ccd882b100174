#!/bin/sh
# SPDX-License-Identifier: MIT
# Real models served by a private daemon: the greedy cases of the pack (LLAMAD_PARITY_DIR/real) by
# the clients in Python and Go, alone and eight at once, are what `llamactl run` gives.  The models
# are those that scripts/fetch-model keeps; what is not there is skipped by name.
# LMD_TEST_LONG=1: all cases of all models, whole.
src=${LMD_TEST_SRCDIR:-.}
pack=$LLAMAD_PARITY_DIR/real
if [ ! -f "$pack/cases.json" ]; then
	echo "SKIP: served models: no parity pack"
	exit 77
fi
for python in /usr/bin/python3 python3; do
	"$python" -c 'import msgpack, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null &&
		exec "$python" "$src/tests/real/served_test.py" "$pack"
done
echo "SKIP: served models: there is no Python 3.10 with msgpack"
exit 77
