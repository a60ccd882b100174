#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks that each installed header compiles on its own, as C11 and C++17, without warnings.
src=${LMD_TEST_SRCDIR:-.}
build=${LMD_TEST_BUILDDIR:-.}
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
passed=0 failed=0 skipped=0

# check NAME COMPILER... : compiles all headers with one compiler
check() {
	name=$1
	ext=$2
	shift 2
	if ! command -v "${1}" >/dev/null; then
		echo "SKIP: headers alone with $name: $1 not found"
		skipped=$((skipped + 1))
		return
	fi
	for h in "$src"/include/llamad/*.h "$build"/include/llamad/*.h; do
		printf '#include "llamad/%s"\nextern int not_empty;\n' "${h##*/}" >"$dir/one.$ext"
		if "$@" -Wall -Wextra -Werror -pedantic -fsyntax-only -I"$build/include" \
			-I"$src/include" "$dir/one.$ext" 2>"$dir/err"; then
			passed=$((passed + 1))
		else
			failed=$((failed + 1))
			echo "FAIL: ${h##*/} with $name:"
			cat "$dir/err"
		fi
	done
}

check "gcc, C11" c gcc -std=c11
check "clang, C11" c clang -std=c11
check "g++, C++17" cc g++ -std=c++17
check "clang++, C++17" cc clang++ -std=c++17
echo "CASES: headers alone: $passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
