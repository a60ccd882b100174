#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks that tests/abi/members.gen.h agrees with the headers, so that no new struct or member is
# missing from the recorded ABI.
src=${LMD_TEST_SRCDIR:-.}
if ! command -v python3 >/dev/null; then
	echo "SKIP: members_test: python3 not found"
	exit 77
fi
"$src/tests/abi/members.py" "$src"/include/llamad/*.h | cmp - "$src/tests/abi/members.gen.h" || {
	echo "FAIL: members.gen.h does not agree with the headers; run: make update-abi"
	exit 1
}
