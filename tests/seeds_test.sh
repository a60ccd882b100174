#!/bin/sh
# SPDX-License-Identifier: MIT
# Every test that draws random numbers, with other numbers: LMD_TEST_SEEDS runs of each, the
# seeds from LMD_TEST_SEED on.  For make check-long; alone: tests/seeds_test.sh [PROGRAM...]
n=${LMD_TEST_SEEDS:-5}
first=${LMD_TEST_SEED:-1001}
cd "${LMD_TEST_BUILDDIR:-.}" || exit 1
log=tests/seeds.$$.log
trap 'rm -f $log' EXIT
passed=0 failed=0

# a program that draws from lmd_seed holds the text that it prints
[ $# -gt 0 ] || set -- $(find core plugins client service tests -name '*_test' -type f \
	-perm -u+x -exec grep -l 'seed of %s' {} + 2>/dev/null | sort)
[ $# -gt 0 ] || {
	echo "SKIP: random tests: no program draws random numbers (built without the Check library?)"
	exit 77
}
for program; do
	i=0
	while [ $i -lt "$n" ]; do
		seed=$((first + i)) i=$((i + 1))
		if LMD_TEST_SEED=$seed "$program" >$log 2>&1; then
			passed=$((passed + 1))
		else
			failed=$((failed + 1))
			echo "FAIL: LMD_TEST_SEED=$seed $program"
			grep -aE ':[EF]:|^FAIL|not true|Sanitizer' $log | head -n 5
		fi
	done
done
echo "CASES: random tests: $passed passed, $failed failed, 0 skipped"
[ $failed = 0 ] && [ $passed -gt 0 ]
