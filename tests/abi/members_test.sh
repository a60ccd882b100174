#!/bin/sh
# SPDX-License-Identifier: MIT
# Is tests/abi/members.gen.h what the headers say?  A new struct or member must not escape the
# frozen table.
src=${LMD_TEST_SRCDIR:-.}
if ! command -v python3 >/dev/null; then
	echo "SKIP: members_test: there is no python3"
	exit 77
fi
"$src/tests/abi/members.py" "$src"/include/llamad/*.h | cmp - "$src/tests/abi/members.gen.h" || {
	echo "FAIL: members.gen.h is not what the headers say; run: make update-abi"
	exit 1
}
