#!/bin/sh
# SPDX-License-Identifier: MIT
# Adapters that requests choose by name: alone, together, as an alias, and their errors.
if ! command -v python3 >/dev/null; then
	echo "SKIP: adapters: no python3"
	exit 77
fi
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"

"$build/tests/mktiny" full 5 "$dir/m.gguf" || exit 99
"$build/tests/mktiny" window 6 "$dir/other.gguf" || exit 99
for name in one two wrong; do
	base=$dir/m.gguf
	[ $name != wrong ] || base=$dir/other.gguf
	python3 "$src/tests/http/adapters.py" make "$src" "$base" "$dir/$name.gguf" || exit 99
done
cat >"$dir/conf" <<EOF
[model base]
adapters = one=$dir/one.gguf, two=$dir/two.gguf:0.5
[model tuned]
adapter = one
[model broken]
adapters = bad=$dir/missing.gguf
EOF
start_http
does add base "$dir/m.gguf"
does alias base tuned
does add broken "$dir/m.gguf"

prompt="This is a prompt of more than one page of the cache, so that a second request finds it: $(seq 1 30 | tr '\n' ' ')"
generate() {
	ctl generate "$@" -p "$prompt" -n 24 --temp 0 --raw --ignore-eos </dev/null
}
run() {
	"$build/llamactl" run "$dir/m.gguf" "$@" -p "$prompt" -n 24 --temp 0 --raw --ignore-eos </dev/null
}
run >"$dir/base.txt"
run --lora "$dir/one.gguf" >"$dir/one.txt"
run --lora "$dir/two.gguf:0.5" >"$dir/two.txt"
holds "the adapters change nothing" sh -c "! cmp -s '$dir/base.txt' '$dir/one.txt' && ! cmp -s '$dir/one.txt' '$dir/two.txt'"

generate base >"$dir/out"
holds "without an adapter" cmp "$dir/out" "$dir/base.txt"
generate base --adapter one >"$dir/out"
holds "adapter one" cmp "$dir/out" "$dir/one.txt"
generate base --adapter two >"$dir/out"
holds "adapter two with its scale" cmp "$dir/out" "$dir/two.txt"
generate tuned >"$dir/out"
holds "the alias" cmp "$dir/out" "$dir/one.txt"
generate tuned --adapter '' >"$dir/out"
holds "the alias without its adapter" cmp "$dir/out" "$dir/base.txt"
refused 1 "model base has no adapter 'three'; it has: one, two" generate base --adapter three -p x
refused 1 "missing.gguf" generate broken -p x
prints '"adapters"' ps --json

printf '%s' "$prompt" >"$dir/prompt"
python3 "$src/tests/http/adapters.py" test "$src" "$http" "$dir"
holds "over HTTP" [ $? -eq 0 ]
stop
finish "adapters"
