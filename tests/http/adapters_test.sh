#!/bin/sh
# SPDX-License-Identifier: MIT
# Adapters that requests choose by name: alone, together, as an alias, of names that were created, and
# their errors.
if ! command -v python3 >/dev/null; then
	echo "SKIP: adapters: no python3"
	exit 77
fi
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"

"$build/tests/mktiny" full 5 "$dir/m.gguf" || exit 99
for name in one two; do
	python3 "$src/tests/http/adapters.py" make "$src" "$dir/m.gguf" "$dir/$name.gguf" || exit 99
done
cat >"$dir/conf" <<EOF
[model base]
adapters = one=$dir/one.gguf, two=$dir/two.gguf:0.5
[model tuned]
adapter = one
[model shelf]
adapters_dir = $dir/folder
[model onshelf]
adapter = other
[model fixed]
adapters = one=$dir/one.gguf
adapter = one
[model broken]
adapters = bad=$dir/missing.gguf
EOF
start_http
does add base "$dir/m.gguf"
does alias base tuned
does add broken "$dir/m.gguf"
does add shelf "$dir/m.gguf"
does alias shelf onshelf

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
run --lora "$dir/one.gguf:0.3" >"$dir/scaled.txt"
run --lora "$dir/one.gguf" --lora "$dir/two.gguf:0.5" >"$dir/both.txt"
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

# names with an adapter of their own: the model is loaded again for the first one alone
mkdir "$dir/files"
mv "$dir/one.gguf" "$dir/two.gguf" "$dir/files"
generate base --adapter one >"$dir/out"
holds "an adapter whose file was removed stays as it was read" cmp "$dir/out" "$dir/one.txt"
does add plain "$dir/m.gguf"
# created NAME ADAPTER FROM
created() {
	printf 'ADAPTER %s\nFROM %s\n' "$2" "$3" >"$dir/Modelfile"
	does create "$1" -f "$dir/Modelfile"
}
created first ./files/one.gguf plain
run --lora "$dir/files/two.gguf" >"$dir/whole.txt"
generate first >"$dir/out"
holds "the adapter of a name" cmp "$dir/out" "$dir/one.txt"
generate plain >"$dir/out"
holds "its model without the adapter" cmp "$dir/out" "$dir/base.txt"
created second "$dir/files/two.gguf" plain
generate second >"$dir/out"
holds "another one while the model is loaded" cmp "$dir/out" "$dir/whole.txt"
generate first >"$dir/out"
holds "both are loaded" cmp "$dir/out" "$dir/one.txt"
generate first --adapter '' >"$dir/out"
holds "a name without its adapter" cmp "$dir/out" "$dir/base.txt"
created misfit ./m.gguf plain
refused 1 "m.gguf" generate misfit -p x
generate plain >"$dir/out"
holds "the model after an adapter that does not fit" cmp "$dir/out" "$dir/base.txt"
generate second >"$dir/out"
holds "another adapter after it" cmp "$dir/out" "$dir/whole.txt"
printf 'FROM plain\nADAPTER nowhere.gguf\n' >"$dir/Modelfile"
refused 1 "nowhere.gguf: No such file" create lost -f "$dir/Modelfile"
for n in $(seq 20); do
	ln "$dir/files/one.gguf" "$dir/files/$n.gguf"
	created "many$n" "./files/$n.gguf" plain
done
for n in 1 20 2 19 3 18 4 17 5 16 6 15 7 14 8 13 9 12 10 11; do
	generate "many$n" >"$dir/out"
	cmp -s "$dir/out" "$dir/one.txt" || break
done
holds "more adapters than a model has room for" cmp "$dir/out" "$dir/one.txt"
holds "the model was loaded twice: without and with adapters" \
	[ "$(grep -c 'model ready; model=plain' "$dir/log")" = 2 ]

# a folder of adapters, which are loaded when they are asked for
mkdir "$dir/folder"
for n in $(seq 30); do
	ln "$dir/files/one.gguf" "$dir/folder/a$n.gguf"
done
ln "$dir/files/two.gguf" "$dir/folder/other.gguf"
for n in 1 17 30 2; do
	generate shelf --adapter "a$n" >"$dir/out"
	cmp -s "$dir/out" "$dir/one.txt" || break
done
holds "adapters of a folder" cmp "$dir/out" "$dir/one.txt"
generate shelf --adapter other >"$dir/out"
holds "another one of the folder" cmp "$dir/out" "$dir/whole.txt"
generate shelf >"$dir/out"
holds "the model of the folder without an adapter" cmp "$dir/out" "$dir/base.txt"
generate onshelf >"$dir/out"
holds "an alias for one of the folder" cmp "$dir/out" "$dir/whole.txt"
holds "the model of the folder was loaded once" \
	[ "$(grep -c 'model ready; model=shelf' "$dir/log")" = 1 ]
refused 1 "model shelf has no adapter 'a31'" generate shelf --adapter a31 -p x
refused 1 "model shelf has no adapter" generate shelf --adapter ../files/one -p x
refused 1 "model shelf has no adapter" generate shelf --adapter .. -p x

ln "$dir/files/one.gguf" "$dir/files/two.gguf" "$dir"

# names that are given while the daemon runs
does add named "$dir/m.gguf"
refused 1 "model named has no adapter 'uno'" generate named --adapter uno -p x
does lora add named uno "$dir/one.gguf"
does lora add named dos "$dir/two.gguf:0.5"
generate named --adapter uno >"$dir/out"
holds "an adapter that was added" cmp "$dir/out" "$dir/one.txt"
generate named --adapter uno:0.3 >"$dir/out"
holds "an adapter that was added, with a scale" cmp "$dir/out" "$dir/scaled.txt"
prints '"loaded": *2' lora list named --json
prints 'one.gguf:0.3' lora list named
does lora set named uno,dos
generate named >"$dir/out"
holds "the adapters of requests that name none" cmp "$dir/out" "$dir/both.txt"
generate named --adapter '' >"$dir/out"
holds "none in place of them" cmp "$dir/out" "$dir/base.txt"
refused 1 "no adapter 'tres'; it has: uno, dos" lora set named uno,tres
does lora set named ''
generate named >"$dir/out"
holds "no adapters any more" cmp "$dir/out" "$dir/base.txt"
lora="http://localhost/lora-adapters?model=named"
fetch 200 '"success":true' --unix-socket "$dir/http.sock" -d '[{"id":0,"scale":0.3}]' "$lora"
fetch 200 '"id":0,"path":"uno","name":"uno","scale":0.3},{"id":1,.*"scale":0' "http://$http/lora-adapters?model=named"
generate named >"$dir/out"
holds "the scale of llama.cpp's endpoint" cmp "$dir/out" "$dir/scaled.txt"
fetch 403 'role admin' -d '[]' "http://$http/lora-adapters?model=named"
fetch 400 'not a JSON array' --unix-socket "$dir/http.sock" -d '{}' "$lora"
fetch 400 "no adapter '7'" --unix-socket "$dir/http.sock" -d '[{"id":7,"scale":1}]' "$lora"
fetch 200 '"success":true' --unix-socket "$dir/http.sock" -d '[]' "$lora"
generate named >"$dir/out"
holds "an empty list" cmp "$dir/out" "$dir/base.txt"
does add fixed "$dir/m.gguf"
generate fixed >"$dir/out"
holds "the adapter of the configuration" cmp "$dir/out" "$dir/one.txt"
fetch 200 '"id":0,.*"scale":1' "http://$http/lora-adapters?model=fixed"
fetch 200 '"success":true' --unix-socket "$dir/http.sock" -d '[{"id":0,"scale":0}]' "${lora%named}fixed"
generate fixed >"$dir/out"
holds "scale 0 in place of it" cmp "$dir/out" "$dir/base.txt"
fetch 200 '"id":0,.*"scale":0' "http://$http/lora-adapters?model=fixed"
fetch 200 '"success":true' --unix-socket "$dir/http.sock" -d '[]' "${lora%named}fixed"
generate fixed >"$dir/out"
holds "an empty list stands for it" cmp "$dir/out" "$dir/one.txt"
does lora rm named uno
refused 1 "no adapter the name 'uno'" lora rm named uno
refused 1 "model named has no adapter 'uno'" generate named --adapter uno -p x
refused 1 "nowhere.gguf: there is no such file" lora add named x "$dir/nowhere.gguf"
refused 1 "is not a name" lora add named 'a b' "$dir/one.gguf"
printf '%s' "$prompt" >"$dir/prompt"
python3 "$src/tests/http/adapters.py" test "$src" "$http" "$dir"
holds "over HTTP" [ $? -eq 0 ]
stop
finish "adapters"
