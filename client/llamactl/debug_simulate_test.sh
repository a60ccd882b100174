#!/bin/sh
# SPDX-License-Identifier: MIT
# The command debug simulate: the same options give the same output, traces are read, policies differ
# as they should, errors name what is wrong.
build=${LMD_TEST_BUILDDIR:-.}
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
failed=0 passed=0

ctl() {
	"$build/llamactl" debug simulate "$@"
}

ok() {
	if "$@"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL: $*"
		head -c 2000 "$dir/out" "$dir/err"
	fi
}

# says PATTERN ARGUMENT...: a line of the output matches
says() {
	pattern=$1
	shift
	ctl "$@" >"$dir/out" 2>"$dir/err" && grep -q -e "$pattern" "$dir/out"
}

# refused STATUS PATTERN ARGUMENT...
refused() {
	want=$1 pattern=$2
	shift 2
	ctl "$@" >"$dir/out" 2>"$dir/err"
	[ $? -eq "$want" ] && [ ! -s "$dir/out" ] && grep -q -e "$pattern" "$dir/err"
}

# a whole number from the JSON of the last run: number KEY
number() {
	sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" "$dir/out" | head -n 1
}

same() {
	ctl --requests 50 --seed 7 --json >"$dir/one" && ctl --requests 50 --seed 7 --json >"$dir/two" &&
		cmp -s "$dir/one" "$dir/two" && ctl --requests 50 --seed 8 --json >"$dir/three" &&
		! cmp -s "$dir/one" "$dir/three"
}

# of a client beside one with many requests: the good requests of the fair policy and of the other one
fair_is_better() {
	ctl --requests 50 --many 200 --json >"$dir/out" && fair=$(number good) &&
		ctl --requests 50 --many 200 --in-order --target-itl 0 --json >"$dir/out" &&
		[ "$fair" -gt $((5 * $(number good) + 5)) ]
}

cat >"$dir/trace" <<END
# milliseconds, client, class, prompt, answer
0 1 normal 600 3
0.5 2 batch 10 2

10000 3 interactive 2 1
END

printf "1 1 normal 5 5\n1 1 urgent 5 5\n" >"$dir/bad"
printf "1 1 normal 9000 5\n" >"$dir/long"
ok same
ok fair_is_better
ok says '^3 requests in 10.0 s: ' --trace "$dir/trace"
ok says '^all  *p50  *p90  *p95  *p99  *max$' --trace "$dir/trace"
ok says '^late steps: [0-9]* of [0-9]* with a target$'
ok says '"preemptions": [1-9]' --kv-tokens 2k --ctx-size 2k --rate 20 --json
ok refused 1 'line 2 is not: milliseconds' --trace "$dir/bad"
ok refused 1 'no.such: No such file' --trace "$dir/no.such"
ok refused 1 'there are no requests' --requests 0
ok refused 1 'request 1: a sequence of up to' --trace "$dir/long"
ok refused 1 'a row for each of 64 sequences' --seqs 64 --batch 32
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
