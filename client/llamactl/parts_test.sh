#!/bin/sh
# SPDX-License-Identifier: MIT
# split, merge, hash, diff: a model stays the same however it is split.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
m=$dir/m.gguf
"$build/tests/mktiny" full 5 "$m" || exit 99

# -- split and merge --
does split "$m" "$dir/a" --split-max-tensors 7
n=$(wc -l <"$dir/out")
holds "more than one part" [ "$n" -gt 1 ]
first=$(sed -n '1s/: .*//p' "$dir/out")
holds "file names" [ "$first" = "$(printf '%s/a-00001-of-%05d.gguf' "$dir" "$n")" ]
sed -n 's/\(.*\): .* tensors, \(.*\) bytes/\2 \1/p' "$dir/out" | while read -r bytes path; do
	[ "$(wc -c <"$path")" -eq "$bytes" ] || echo "$path"
done >"$dir/wrong"
holds "printed sizes: $(cat "$dir/wrong")" [ ! -s "$dir/wrong" ]
does merge "$first" "$dir/merged.gguf"
holds "merging restores the file" cmp -s "$m" "$dir/merged.gguf"
does split "$first" "$dir/b.gguf" --split-max-tensors 11 --no-tensor-first-split
holds "a set is split anew" grep -q 'b-00001-of-.*: 0 tensors' "$dir/out"
does merge "$(sed -n '1s/: .*//p' "$dir/out")" "$dir/merged.gguf"
holds "with only keys in the first file" cmp -s "$m" "$dir/merged.gguf"
does split "$m" "$dir/c" --split-max-size 60k
sed -n 's/.*\.gguf: \(.*\) tensors, \(.*\) bytes/\1 \2/p' "$dir/out" >"$dir/sizes"
holds "no part with two tensors is larger" \
	awk '$1 > 1 && $2 > 60 * 1024 { bad = 1 } END { exit bad }' "$dir/sizes"
does merge "$(sed -n '1s/: .*//p' "$dir/out")" "$dir/merged.gguf"
holds "split by size and merged" cmp -s "$m" "$dir/merged.gguf"
does run "$m" -p Hello -n 8 --temp 0
cp "$dir/out" "$dir/want"
does run "$first" -p Hello -n 8 --temp 0
holds "a set gives the same answer as the file" cmp -s "$dir/want" "$dir/out"
prints '"tensors": 7' split "$m" "$dir/d" --split-max-tensors 7 --dry-run --json
holds "a dry run writes nothing" [ -z "$(ls "$dir" | grep '^d-')" ]
refused 1 'nothing to split' split "$m" "$dir/d" --split-max-size 1G
refused 1 'a file of the source model' merge "$first" "$first"
refused 1 'part 2 of' merge "$(echo "$first" | sed 's/00001-of/00002-of/')" "$dir/x.gguf"
refused 1 'not a regular file' merge "$first" /dev/null
refused 1 "split: $dir/no: cannot write there: No such file or directory" split "$m" "$dir/no/d" \
	--split-max-tensors 7
refused 1 "merge: $dir/no: cannot write there: No such file or directory" merge "$first" "$dir/no/d"
prints "\"path\": \"$dir/merged.gguf\"" merge "$first" "$dir/merged.gguf" --json
holds "merge --json: its size" grep -q "\"bytes\": $(wc -c <"$m")\$" "$dir/out"
refused 1 'missing.gguf' split "$dir/missing.gguf" "$dir/d"
refused 2 'PREFIX' split "$m"

# -- hash --
does hash "$m"
cp "$dir/out" "$dir/list"
holds "the line of a file is the same as with sha256sum" \
	[ "$(head -n 1 "$dir/list")" = "$(cd "$dir" && sha256sum m.gguf)" ]
does hash "$first" --no-file
sed 's/ .*:/ /' "$dir/out" >"$dir/have"
sed '1d; s/ .*:/ /' "$dir/list" >"$dir/want"
holds "tensors of a set have the same hashes" cmp -s "$dir/have" "$dir/want"
prints ': same$' hash "$m" --check "$dir/list"
sed 1d "$dir/list" >"$dir/tensors"
prints ': same$' hash "$first" --check "$dir/tensors"
prints '"differs": 0' hash "$m" --check "$dir/list" --json
sed '3s/^./x/' "$dir/list" >"$dir/bad"
refused 1 'line 3: ' hash "$m" --check "$dir/bad"
: >"$dir/bad"
refused 1 'the list is empty' hash "$m" --check "$dir/bad"
# one bit of the last byte of data
size=$(wc -c <"$m")
head -c $((size - 100)) "$m" >"$dir/bit.gguf"
tail -c 100 "$m" | tr '\000-\377' '\001-\377\000' >>"$dir/bit.gguf"
call hash "$dir/bit.gguf" --check "$dir/tensors"
holds "changed data is reported" [ $got -eq 1 ]
holds "by its name" grep -q ': differs' "$dir/out"
echo "$(head -c 64 "$dir/list")  m.gguf:nothing" >"$dir/bad"
call hash "$m" --check "$dir/bad"
holds "a missing tensor is reported" grep -q ':nothing: missing' "$dir/out"

# -- diff --
prints 'tensors: [0-9]* compared, 0 differ' diff "$m" "$m"
prints 'keys: [0-9]* compared, 0 differ' diff "$m" "$first"
prints '"same": true' diff "$m" "$first" --json
differs() {
	pattern=$1
	shift
	call diff "$@"
	holds "diff $*: status $got" [ $got -eq 1 ]
	holds "diff $*: lacks '$pattern': $(head -c 300 "$dir/out")" \
		grep -q -e "$pattern" "$dir/out"
}
differs '^  values .* max .* rms ' "$m" "$dir/bit.gguf"
prints ', 0 differ' diff "$m" "$dir/bit.gguf" --no-values
"$build/tests/mktiny" full 6 "$dir/other.gguf"
differs '^  values ' "$m" "$dir/other.gguf"
"$build/tests/mktiny" window 6 "$dir/window.gguf"
differs '^  only in A ' "$m" "$dir/window.gguf"
differs '^  differs *general.architecture: "llama"  ->  "granite_swa"' "$m" "$dir/window.gguf"
differs '"difference": "only_b"' "$m" "$dir/window.gguf" --json
refused 1 'missing.gguf' diff "$m" "$dir/missing.gguf"

finish "split, merge, hash, diff"
