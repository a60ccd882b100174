#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks that each plugin of the build exports only llamad_plugin, has its ELF note, uses no symbols
# of core, and needs only the libraries that plugins may use.
build=${LMD_TEST_BUILDDIR:-.}
passed=0 failed=0

bad() {
	echo "FAIL: $*"
	failed=$((failed + 1))
}

for tool in nm readelf; do
	command -v $tool >/dev/null && continue
	echo "SKIP: exports_test: $tool not found"
	exit 77
done
for so in "$build"/plugins/.libs/*.so; do
	[ -e "$so" ] || continue
	before=$failed
	name=${so##*/}
	exports=$(nm -D --defined-only "$so" | awk '{print $3}' | grep -v '^__\(asan\|ubsan\|tsan\|odr\)')
	[ "$exports" = llamad_plugin ] || bad "$name exports:" $exports
	taken=$(nm -D --undefined-only "$so" | awk '{print $2}' | grep '^lm[di]_')
	[ -z "$taken" ] || bad "$name needs from core:" $taken
	needed=$(readelf -dW "$so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
		grep -v '^\(libc\|libm\|libpcre2-8\|libutf8proc\|libasan\|libubsan\|libtsan\|libgcc_s\|ld-linux.*\)\.so')
	[ -z "$needed" ] || bad "$name needs the libraries:" $needed
	readelf -SW "$so" | grep -q '\.note\.llamad .*NOTE.* 000074 ' || bad "$name has no proper note"
	[ $failed -ne $before ] || passed=$((passed + 1))
done
echo "CASES: exports of plugins: $passed passed, $failed failed, 0 skipped"
if [ $passed -eq 0 ] && [ $failed -eq 0 ]; then
	echo "SKIP: exports_test: this build has no plugin files"
	exit 77
fi
[ $failed -eq 0 ]
