#!/bin/sh
# SPDX-License-Identifier: MIT
# Each promise of docs/security.md names a test: the file exists, and has the test cases in brackets.
src=${LMD_TEST_SRCDIR:-.}
failed=0 n=0
rows=$(sed -n '/^## Promises/,/^## What is not/p' "$src/docs/security.md" | grep '^| ' |
	grep -v '^| promise\|^|---')
while IFS='|' read -r _ promise tests _; do
	n=$((n + 1))
	file=
	for word in $(printf '%s\n' "$tests" | grep -o '`[^`]*`' | tr -d '`'); do
		case $word in
		*/*)
			file=$word
			[ -f "$src/$file" ] || {
				echo "FAIL: $file does not exist:$promise"
				failed=1
			}
			;;
		*)
			grep -q "START_TEST($word)" "$src/$file" || {
				echo "FAIL: $file has no test $word:$promise"
				failed=1
			}
			;;
		esac
	done
	[ -n "$file" ] || {
		echo "FAIL: no test:$promise"
		failed=1
	}
done <<ROWS
$rows
ROWS
echo "CASES: promises: $n"
[ $n -gt 20 ] && [ $failed -eq 0 ]
