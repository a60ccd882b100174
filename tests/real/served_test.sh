#!/bin/sh
# SPDX-License-Identifier: MIT
# Serves real models with a private daemon and checks that the Python and Go clients, one at a time and
# eight at once, get the same results as `llamactl run` for the greedy cases of the parity pack
# (LLAMAD_PARITY_DIR/real).  The models are those cached by scripts/fetch-model; missing ones are
# reported as skipped.  LMD_TEST_LONG=1: all cases of all models, in full length.
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
echo "SKIP: served models: no Python 3.10 with msgpack found"
exit 77
