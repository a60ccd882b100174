#!/bin/sh
# SPDX-License-Identifier: MIT
# What `plugins new` writes builds with the installed headers alone, and passes `plugins test`.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"

command -v pkg-config >/dev/null || {
	echo "SKIP: plugins new: pkg-config is not installed"
	exit 77
}
# the make that runs this test must not influence the ones below
unset MAKEFLAGS MFLAGS MAKELEVEL
make -s -C "$build" DESTDIR="$dir/root" install-dist_lmdincludeHEADERS \
	install-nodist_lmdincludeHEADERS install-pkgconfigDATA >"$dir/log" 2>&1 || {
	cat "$dir/log"
	echo "FAIL: cannot install the headers"
	exit 1
}
PKG_CONFIG_PATH=$(dirname "$(find "$dir/root" -name llamad-plugin.pc)")
PKG_CONFIG_SYSROOT_DIR=$dir/root
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
cd "$dir" || exit 99
umask 002 # as on Ubuntu: what the group may write is refused

for row in arch:bigram backend:tiny format:llama2c sampler:margin tokenizer:bytes; do
	kind=${row%:*} old=${row#*:}
	does plugins new $kind mine_2
	make -s -C "$kind-mine_2" CC="${LMD_TEST_CC:-cc}" CFLAGS="-O1 -Wall -Wextra -Werror -pedantic" \
		>"$dir/out" 2>&1 && ok || bad "$kind: it does not compile: $(cat "$dir/out")"
	make -s -C "$kind-mine_2" check LLAMACTL="$build/llamactl" >"$dir/out" 2>&1 && ok ||
		bad "$kind: make check: $(cat "$dir/out")"
	grep -q "[\"-]$old\|\<${old}_" "$kind-mine_2"/* && bad "$kind: it has the name $old" || ok
	holds "$kind: it is not tested" grep -q "ok *$kind mine_2\|[0-9] passed, 0 failed" "$dir/out"
done
prints '"folder": "sampler-b"' plugins new sampler b --json
prints '"verdict": "pass"' plugins test "./sampler-mine_2/sampler-mine_2.so" --json
refused 1 'sampler-mine_2: File exists' plugins new sampler mine_2
refused 1 "'Mine' is not a name" plugins new sampler Mine
refused 1 "'../x' is not a name" plugins new sampler ../x
refused 2 "'frobnicator' is not a kind" plugins new frobnicator x
finish "plugins new"
