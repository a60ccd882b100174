#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs scripts/package-test and scripts/upgrade-test in make check-long.
if [ "${LMD_TEST_LONG:-0}" != 1 ]; then
	echo "SKIP: packages: part of make check-long"
	exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${LMD_TEST_SRCDIR:-.}/scripts/package-test" "$dir" && "${LMD_TEST_SRCDIR:-.}/scripts/upgrade-test" "$dir"
