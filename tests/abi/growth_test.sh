#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds backends with the headers of another minor version of the ABI, in which structs that may
# grow have more members or fewer, and runs them (docs/abi.md).
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
src=$(cd "${LMD_TEST_SRCDIR:-.}" && pwd)
cc=${CC:-cc}
command -v "$cc" >/dev/null && command -v python3 >/dev/null || { echo "SKIP: no compiler or python3"; exit 77; }
[ -d "$build/plugins/.libs" ] || { echo "SKIP: plugins are linked in"; exit 77; }

# compile VARIANT NAME SOURCE... : NAME.so with these headers
compile() {
	headers=$dir/$1
	object=$dir/$2.so
	shift 2
	"$cc" -std=gnu11 -w -O1 -shared -fPIC -fvisibility=hidden -ffp-contract=off -I"$headers" \
		-I"$build/include" -I"$src/plugins" -I"$src/plugins/backend/ref" -I"$src" -o "$object" "$@" -lm
}

for v in future past; do
	python3 "$src/tests/abi/variant.py" $v "$src/include/llamad" "$dir/$v/llamad" || exit 99
done
holds "structs grow in the future" grep -q future_member "$dir/future/llamad/backend.h"
holds "members are missing in the past" [ "$(grep -c keeps_source "$dir/past/llamad/backend.h")" -lt \
	"$(grep -c keeps_source "$src/include/llamad/backend.h")" ]

# A backend that is newer than the host: the cases compare it with the one of this tree.
sources=$(ls "$src"/plugins/backend/ref/*.c "$src"/plugins/backend/common/*.c | grep -v _test.c)
# shellcheck disable=SC2086
holds "ref compiles with future headers" compile future backend-ref $sources "$src/plugins/common/lora.c"
for only in norm rope_kv sample; do
	does plugins test "$dir/backend-ref.so" --only "$only "
	holds "a newer backend computes $only" grep -q ' 0 failed, 0 skipped' "$dir/out"
done

# A backend that is older than the host: it runs a model.
mkdir "$dir/old" || exit 99
sed 's/"null"/"old"/; s/"backend-null"/"backend-old"/' "$src/plugins/backend/null/plugin.c" >"$dir/plugin.c"
holds "null compiles with past headers" compile past old/backend-old -I"$src/plugins/backend/null" \
	"$src/plugins/backend/null/null.c" "$dir/plugin.c"
chmod go-w "$dir/old" "$dir/old/backend-old.so"
"$build/tests/mktiny" full 5 "$dir/tiny.gguf" || exit 99
does run "$dir/tiny.gguf" --backend null -p Hello -n 8 --temp 0
cp "$dir/out" "$dir/want"
does run "$dir/tiny.gguf" --plugin-dir "$dir/old" --backend old -p Hello -n 8 --temp 0
holds "an older backend runs a model" cmp -s "$dir/out" "$dir/want"

# A format that is newer than the host: its probe and open get structs that are shorter than it knows.
mkdir "$dir/new" || exit 99
holds "a format compiles with future headers" compile future new/format-llama2c \
	"$src/examples/format-llama2c/llama2c.c"
chmod go-w "$dir/new" "$dir/new/format-llama2c.so"
python3 "$src/examples/format-llama2c/make_model.py" "$dir" || exit 99
does diff "$dir/tied.bin" "$dir/tied.gguf" --plugin-dir "$dir/new"

# An architecture that is newer than the host: the host's builder lacks the members that it knows.
holds "an architecture compiles with future headers" compile future new/arch-bigram \
	"$src/examples/arch-bigram/bigram.c"
chmod go-w "$dir/new/arch-bigram.so"
printf abcabcabc >"$dir/text"
python3 "$src/examples/arch-bigram/make_model.py" "$dir/text" "$dir/bigram.gguf" || exit 99
call run "$dir/bigram.gguf" --plugin-dir "$dir/new" -p a -n 5 --temp 0
holds "it generates: $(cat "$dir/out" "$dir/err")" [ "$(cat "$dir/out")" = bcabc ]
finish "plugins of other minor versions"
