#!/bin/sh
# SPDX-License-Identifier: MIT
# make lint passes on this tree, and build-aux/includes-check finds what was planted for it to find.
build=${LMD_TEST_BUILDDIR:-.}
src=${LMD_TEST_SRCDIR:-.}
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
passed=0 failed=0 skipped=0

ok() { passed=$((passed + 1)); }
bad() {
	echo "FAIL: $*"
	failed=$((failed + 1))
}

# finds WHAT FILE TEXT: the check of FILE fails and its message contains TEXT
finds() {
	if "$src/build-aux/includes-check" "$1" "$dir/tree" "$2" >"$dir/out" 2>&1; then
		bad "$1 $2: nothing was found"
	elif ! grep -qF -- "$3" "$dir/out"; then
		bad "$1 $2: the message lacks '$3': $(cat "$dir/out")"
	else
		ok
	fi
}

# clean WHAT FILE
clean() {
	if "$src/build-aux/includes-check" "$1" "$dir/tree" "$2" >"$dir/out" 2>&1; then
		ok
	else
		bad "$1 $2: $(cat "$dir/out")"
	fi
}

# put FILE HEADER...: a file with these includes
put() {
	file=$dir/tree/$1
	shift
	mkdir -p "$(dirname "$file")"
	for header; do
		case $header in
		"<"*) echo "#include $header" ;;
		*) echo "#  include \"$header\"" ;;
		esac
	done >"$file"
}

put core/a.h
put core/good.c core/a.h '<stdio.h>'
put core/direct.c core/a.h tests/fixture.h
put core/beside.c kern_data_test.h
put core/fixture.c tiny_fixture.h
put core/check.c '<check.h>'
put core/builder.h core/deeper.h
put core/deep.h core/builder.h
put core/deeper.h tests/support.h
put core/deep.c deep.h
put core/helper.c tests/support.h
put core/checked.c tests/support.h tests/lmd_check.h
put plugins/common/unicode.h check.h
put plugins/x.c common/unicode.h

clean product core/good.c
finds product core/direct.c 'core/direct.c:2: a part of the product may not include tests/fixture.h'
finds product core/beside.c 'may not include kern_data_test.h'
finds product core/fixture.c 'may not include tiny_fixture.h'
finds product core/check.c 'may not include check.h'
finds product core/deep.c 'core/deeper.h:1: a part of the product may not include tests/support.h'
finds product plugins/x.c 'plugins/common/unicode.h:1: a part of the product may not include check.h'
clean helper core/helper.c
finds helper core/checked.c 'core/checked.c:2: a program without Check may not include tests/lmd_check.h'

# the tree itself: the lists of the build, and the directions of includes where there is git
if git -C "$src" rev-parse HEAD >/dev/null 2>&1; then
	unset MAKEFLAGS MFLAGS MAKELEVEL
	if make -s -C "$build" lint >"$dir/out" 2>&1; then ok; else bad "make lint: $(cat "$dir/out")"; fi
	[ "$(make -s -C "$build" lint-files | grep -c '\.c$')" -gt 300 ] && ok ||
		bad "make lint-files names too few files: the lists of the build are not found"
else
	echo "SKIP: make lint: needs a git checkout"
	skipped=1
fi
echo "CASES: lint: $passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
