#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs everything into an empty folder: the program must find its plugins relative to itself, no
# libtool files may be installed, and uninstalling must leave no file behind.
build=${LMD_TEST_BUILDDIR:-.}
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
failed=0

bad() {
	echo "FAIL: $*"
	failed=1
}

# keep the settings of the make that runs this test away from the ones below
unset MAKEFLAGS MFLAGS MAKELEVEL
make -s -C "$build" install DESTDIR="$dir/root" >"$dir/log" 2>&1 || {
	cat "$dir/log"
	echo "FAIL: make install"
	exit 1
}
ctl=$(find "$dir/root" -name llamactl -path '*/bin/*')
man=$(find "$dir/root" -name llamactl.1)
for file in bash-completion/completions/llamactl zsh/site-functions/_llamad \
	fish/vendor_completions.d/llamactl.fish; do
	[ -n "$(find "$dir/root" -path "*/share/$file")" ] || bad "$file is not installed"
done
[ -x "$ctl" ] && [ -n "$man" ] || bad "no program or no manual page is installed"
found=$(find "$dir/root" -name '*.la')
[ -z "$found" ] || bad "libtool files are installed:" $found
plugins=$(find "$dir/root" -path '*/llamad/plugins/*.so' | wc -l)
if [ "$plugins" -gt 0 ]; then
	"$ctl" plugins --json >"$dir/json" || bad "llamactl plugins fails"
	n=$(grep -c "\"file\": \"$dir/root/.*/llamad/plugins/.*\.so\"" "$dir/json")
	[ "$n" -eq "$plugins" ] || bad "$n of $plugins installed plugins are found"
	grep -q '"state": "refused"' "$dir/json" && bad "an installed plugin is refused"
fi
[ -n "$(find "$dir/root" -path '*/doc/*' -name operations.md)" ] || bad "the documentation is not installed"
[ -n "$(find "$dir/root" -path '*/doc/*' -name COPYING)" ] || bad "the licence is not installed"
# the example of the library, linked with the installed libllamad.a
if [ -n "$(find "$dir/root" -name libllamad.a)" ] && command -v pkg-config >/dev/null; then
	src=$(cd "${LMD_TEST_SRCDIR:-.}" && pwd)
	cp -r "$src/examples/library-c" "$dir/library-c" && chmod -R u+w "$dir/library-c"
	PKG_CONFIG_PATH=$(dirname "$(find "$dir/root" -name libllamad.pc)") PKG_CONFIG_SYSROOT_DIR=$dir/root \
		make -s -C "$dir/library-c" CC="${LMD_TEST_CC:-cc}" CFLAGS="-O1 -g -Wall ${LMD_TEST_SAN:-}" \
		generate-static >"$dir/log" 2>&1 || bad "library-c with libllamad.a: $(cat "$dir/log")"
	ldd "$dir/library-c/generate-static" | grep libllamad && bad "libllamad.a: the program needs libllamad.so"
	"$build/tests/mktiny" full 5 "$dir/full.gguf" || bad "mktiny"
	"$build/llamactl" run "$dir/full.gguf" -p 'the cat sat on' -n 9 --temp 0 --ignore-eos >"$dir/want" ||
		bad "llamactl run"
	PLUGIN_DIR=$build/plugins/.libs "$dir/library-c/generate-static" "$dir/full.gguf" \
		'the cat sat on' 9 >"$dir/got" 2>"$dir/log" || bad "generate-static: $(cat "$dir/log")"
	echo >>"$dir/got"
	cmp "$dir/want" "$dir/got" || bad "generate-static: another text than llamactl run"
fi
make -s -C "$build" install-strip DESTDIR="$dir/stripped" >"$dir/log" 2>&1 || bad "make install-strip"
ctl=$(find "$dir/stripped" -name llamactl -path '*/bin/*')
"$ctl" plugins --json >"$dir/json" || bad "llamactl plugins fails after install-strip"
grep -q '"state": "refused"' "$dir/json" && bad "a stripped plugin is refused"
[ "$(grep -c '"state": "loaded"' "$dir/json")" -ge "$plugins" ] || bad "a stripped plugin is not found"
make -s -C "$build" uninstall DESTDIR="$dir/root" >"$dir/log" 2>&1 || bad "make uninstall"
found=$(find "$dir/root" -type f)
[ -z "$found" ] || bad "uninstall leaves behind:" $found
exit $failed
