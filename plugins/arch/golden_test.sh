#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares the plans of small models with the recorded ones, so that a change of an architecture is
# visible as a change of text.  golden_test.sh --update [CASE...] rewrites
# plugins/arch/golden/CASE.plan for all existing cases, or for those named.
ctl=${LMD_TEST_BUILDDIR:-.}/llamactl
src=${LMD_TEST_SRCDIR:-.}
golden=$src/plugins/arch/golden
parity=$LLAMAD_PARITY_DIR/arch
update=
[ "$1" = --update ] && update=1 && shift

if [ ! -f "$parity/make_models.py" ] || ! command -v python3 >/dev/null; then
	echo "SKIP: golden plans: no parity pack (LLAMAD_PARITY_DIR) or no python3"
	exit 77
fi
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT

cases=$*
[ -n "$cases" ] || cases=$(cd "$golden" && ls ./*.plan | sed 's,^\./,,;s,\.plan$,,')
[ -n "$cases" ] || exit 99
# shellcheck disable=SC2086 # names of cases
python3 "$parity/make_models.py" "$dir" $cases >"$dir/log" || { cat "$dir/log"; exit 1; }

passed=0 failed=0
for name in $cases; do
	if ! "$ctl" --no-default-plugins --plugin-dir "${LMD_TEST_BUILDDIR:-.}/plugins/.libs" \
		debug plan --every "$dir/$name.gguf" >"$dir/$name.plan" 2>"$dir/err"; then
		echo "FAIL: $name: $(cat "$dir/err")"
		failed=$((failed + 1))
	elif [ -n "$update" ]; then
		cp "$dir/$name.plan" "$golden/$name.plan"
		passed=$((passed + 1))
	elif diff -u "$golden/$name.plan" "$dir/$name.plan" >"$dir/diff"; then
		passed=$((passed + 1))
	else
		echo "FAIL: $name: $(grep -c '^[-+][^-+]' "$dir/diff") lines differ"
		head -n 40 "$dir/diff" | cut -c 1-200
		failed=$((failed + 1))
	fi
	rm -f "$dir/$name.gguf"
done
echo "CASES: golden plans: $passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
