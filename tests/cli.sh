# SPDX-License-Identifier: MIT
# Sourced by the tests of a command line.  Gives $build, $src and $dir (a folder that goes at the
# end), runs the program as ctl, and counts what it checks; the last line of a test is
#     finish "NAME OF THE TEST"
# A test may define ctl anew to give the program options of its own.
build=${LMD_TEST_BUILDDIR:-.}
# shellcheck disable=SC2034 # for the tests
src=${LMD_TEST_SRCDIR:-.}
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
failed=0 passed=0 skipped=0

ctl() {
	"$build/llamactl" "$@"
}

ok() {
	passed=$((passed + 1))
}

bad() {
	echo "FAIL: $*"
	failed=$((failed + 1))
}

skip() {
	echo "SKIP: $*"
	skipped=$((skipped + 1))
}

# holds TEXT COMMAND...: the command succeeds
holds() {
	text=$1
	shift
	if "$@"; then ok; else bad "$text"; fi
}

# call ARGUMENT...: leaves $dir/out, $dir/err and the exit status in $got
call() {
	ctl "$@" >"$dir/out" 2>"$dir/err" </dev/null
	got=$?
}

# does ARGUMENT...: status 0, nothing on stderr
does() {
	call "$@"
	if [ $got -ne 0 ]; then
		bad "llamactl $*: exit status $got: $(cat "$dir/err")"
	elif [ -s "$dir/err" ]; then
		bad "llamactl $*: something on stderr: $(cat "$dir/err")"
	else
		ok
	fi
}

# prints PATTERN ARGUMENT...: status 0, nothing on stderr, the pattern on stdout
prints() {
	pattern=$1
	shift
	does "$@"
	holds "llamactl $*: stdout lacks '$pattern': $(head -c 300 "$dir/out")" \
		grep -q -e "$pattern" "$dir/out"
}

# refused STATUS PATTERN ARGUMENT...: that status, one line like that on stderr, nothing on stdout
refused() {
	want=$1 pattern=$2
	shift 2
	call "$@"
	if [ $got -ne "$want" ]; then
		bad "llamactl $*: exit status $got, not $want: $(cat "$dir/err")"
	elif [ "$(wc -l <"$dir/err")" -ne 1 ] || ! grep -q -e "$pattern" "$dir/err"; then
		bad "llamactl $*: stderr is '$(cat "$dir/err")', not like '$pattern'"
	elif [ -s "$dir/out" ]; then
		bad "llamactl $*: something on stdout"
	else
		ok
	fi
}

# same WHAT WANT: the file "have" in $dir is exactly WANT, which is written for printf %b
same() {
	printf '%b' "$2" >"$dir/want"
	holds "$1: $(head -c 300 "$dir/have")" cmp -s "$dir/have" "$dir/want"
}

finish() {
	echo "CASES: $1: $passed passed, $failed failed, $skipped skipped"
	[ $failed -eq 0 ]
	exit
}
