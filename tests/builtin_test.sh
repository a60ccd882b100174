#!/bin/sh
# SPDX-License-Identifier: MIT
# In a build with --enable-builtin=all: every plugin that configure lists is in the program, none is a
# file, and a model runs.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"

list=$(sed -n 's/LMD_BUILTIN(llamad_plugin_\([a-z]*\)_\([a-z0-9]*\))/\1 \2\n/gp' "$build/core/plugin/builtin.inc" | grep .)
[ -n "$list" ] || {
	echo "SKIP: builtin_test: the plugins of this build are files (--enable-builtin=no)"
	exit 77
}
holds "no plugin is a file" [ -z "$(find "$build" -name 'backend-*.so' -o -name 'arch-*.so')" ]
ctl plugins --json >"$dir/plugins" || bad "llamactl plugins"
n=0
while read -r kind name; do
	n=$((n + 1))
	grep -q "\"name\": \"$kind-$name\"" "$dir/plugins" && ok || bad "llamactl plugins does not list $kind-$name"
done <<EOF
$list
EOF
# and the formats, which are part of every build
holds "all plugins are loaded" [ "$(grep -c '"state": "loaded"' "$dir/plugins")" -eq $((n + 1)) ]
holds "configure lists plugins of all kinds" [ $n -ge 4 ]
"$build/tests/mktiny" full 5 "$dir/m.gguf" || exit 99
prints . run "$dir/m.gguf" --raw -n 4 --temp 0 -p A
prints . run "$dir/m.gguf" --raw -n 4 --temp 0 -p A --backend cpu
finish "plugins linked in"
