#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs scripts/boot-test in make check-long.
if [ "${LMD_TEST_LONG:-0}" != 1 ]; then
	echo "SKIP: boot test: part of make check-long"
	exit 77
fi
exec "${LMD_TEST_SRCDIR:-.}/scripts/boot-test"
