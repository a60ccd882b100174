#!/bin/sh
# SPDX-License-Identifier: MIT
# build-aux/walls in a small tree of its own: it passes as it is, and finds each fault that is planted.
src=${LMD_TEST_SRCDIR:-.}
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
passed=0 failed=0

command -v python3 >/dev/null || {
	echo "SKIP: walls_test: python3 is not installed"
	exit 77
}
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

# put FILE: standard input becomes the file
put() {
	mkdir -p "$dir/$1" && rmdir "$dir/$1"
	cat >"$dir/$1"
}

# tree: two libraries, one above the other, and a test
tree() {
	rm -rf "$dir/a" "$dir/b" "$dir/tests" "$dir/plugins" "$dir/build" "$dir/docs" "$dir/build-aux"
	put a/Makefile.inc <<-'END'
		## library a: the one below
		##   interface a.h
		##   prefix lmi_a
		liba_la_SOURCES = a/a.c a/a.h a/inner.c a/inner.h
	END
	put b/Makefile.inc <<-'END'
		## library b: the one above
		##   uses a
		##   prefix lmi_b
		libb_la_SOURCES = b/b.c b/b.h
		CHECK_TESTS += b/b_test
		b_b_test_SOURCES = b/b_test.c
		check_PROGRAMS += b/make_data
		b_make_data_SOURCES = b/make_data.c
	END
	echo 'int lmi_a_one(void);' | put a/a.h
	echo 'int lmi_a_hidden(void);' | put a/inner.h
	printf '#include "a/a.h"\nint lmi_a_one(void)\n{\n\treturn 1;\n}\n' | put a/a.c
	printf '#include "a/inner.h"\nint lmi_a_hidden(void)\n{\n\treturn 2;\n}\n' | put a/inner.c
	echo 'int lmi_b_two(void);' | put b/b.h
	printf '#include "a/a.h"\n#include "b/b.h"\nint lmi_b_two(void)\n{\n\treturn lmi_a_one();\n}\n' | put b/b.c
	printf '#include "a/inner.h"\nint main(void)\n{\n\treturn lmi_a_hidden();\n}\n' | put b/b_test.c
	printf '#include "b/data.h"\nint main(void)\n{\n\treturn 0;\n}\n' | put b/make_data.c
	echo '#include "a/inner.h"' | put b/data.h
	echo '#include <check.h>' | put tests/lmd_check.h
	printf 'name riddle\nphrase riddles abound\n' | put build-aux/words
}

# compile: the objects of the product, where libtool puts them
compile() {
	for f in a/a a/inner b/b; do
		mkdir -p "$dir/build/${f%/*}/.libs"
		${CC:-cc} -I"$dir" -c "$dir/$f.c" -o "$dir/build/${f%/*}/.libs/lib${f%/*}_la-${f##*/}.o" || exit 99
	done
}

walls() { python3 "$src/build-aux/walls" check "$dir" "$@" >"$dir/out" 2>&1; }

# passes WHAT ARG...
passes() {
	what=$1
	shift
	if walls "$@" && [ ! -s "$dir/out" ]; then
		passed=$((passed + 1))
	else
		echo "FAIL: $what: $(cat "$dir/out")"
		failed=$((failed + 1))
	fi
}

# finds WHAT TEXT ARG...
finds() {
	what=$1 text=$2
	shift 2
	if walls "$@"; then
		echo "FAIL: $what: nothing was found"
		failed=$((failed + 1))
	elif ! grep -qF -- "$text" "$dir/out"; then
		echo "FAIL: $what: the message lacks '$text': $(cat "$dir/out")"
		failed=$((failed + 1))
	else
		passed=$((passed + 1))
	fi
}

tree
compile
passes 'a clean tree, whose test looks behind a wall' "$dir/build"

sed -i 's|"a/a.h"|"a/inner.h"|' "$dir/b/b.c"
finds 'a header that is not an interface' 'b/b.c:1: a/inner.h is not an interface of library a'

tree
printf '#  include "tests/lmd_check.h"\n' >>"$dir/a/a.c"
finds 'a header of the tests in the product' 'a/a.c:6: tests/lmd_check.h belongs to tests'

tree
printf '#include "b_data.h"\n' >>"$dir/b/b.h"
echo | put b/b_data.h
finds 'a header beside it that no library lists' 'b/b.h:2: b/b_data.h belongs to tests'

tree
printf '#include <check.h>\n' >>"$dir/a/a.h"
finds 'the header of Check in the product' 'a/a.h:2: check.h belongs to tests'

tree
printf '#include "x.h"\n' >>"$dir/b/b.c"
echo | put plugins/x.h
finds 'a header below plugins/' 'b/b.c:7: plugins/x.h belongs to tests'

tree
printf '#include "tests/lmd_check.h"\n' >>"$dir/b/b_test.c"
passes 'a test with Check'
printf '#include "tests/lmd_check.h"\n' >>"$dir/b/data.h"
finds 'a helper without Check that includes its header through another one' \
	'b/data.h:2: tests/lmd_check.h needs the Check library, which programs of b/make_data.c do not link'

tree
printf '#include "b/b.h"\n' >>"$dir/a/a.c"
finds 'an include that goes up' 'a/a.c:6: library a does not declare that it uses b (b/b.h)'

tree
printf 'int lmi_b_two(void);\nint lmi_a_up(void)\n{\n\treturn lmi_b_two();\n}\n' >>"$dir/a/a.c"
compile
finds 'a symbol that is taken behind a declaration of its own' \
	'a/a.c: takes lmi_b_two from library b, which library a does not declare' "$dir/build"

tree
sed -i 's/^##   interface a.h/##   uses b\n&/' "$dir/a/Makefile.inc"
finds 'a circle' 'library a uses itself through others'

tree
sed -i '/uses a/d; s/prefix lmi_b/uses a gone\n##   &/' "$dir/b/Makefile.inc"
finds 'an unknown library' "library b uses 'gone', which is not declared"

tree
printf '#include "b/b.h"\nint lmi_b_two(void)\n{\n\treturn 3;\n}\n' >"$dir/b/b.c"
compile
finds 'a use that is not one' 'library b declares that it uses a, and takes nothing from it' "$dir/build"

tree
sed -i 's/lmi_b_two/two/' "$dir/b/b.c"
finds 'a name without prefix' 'function two does not carry a prefix of library b (lmi_b)'

tree
printf 'struct lmi_a_thing {\n\tint x;\n};\n' >>"$dir/a/a.h"
printf 'struct lmi_a_thing {\n\tint y;\n};\n' >>"$dir/b/b.h"
finds 'a name with two meanings' 'lmi_a_thing has meanings in libraries a, b'

tree
sed -i 's/^##   uses a/&\n##   interface b.h/' "$dir/b/Makefile.inc"
echo '#define LMI_A_MAX 1' >>"$dir/a/a.h"
echo '#define LMI_A_MAX 2' >>"$dir/b/b.h"
finds 'a constant with two values' 'LMI_A_MAX has 2 values: 1 in a/a.h; 2 in b/b.h'

tree
printf 'int lmi_b_copy(char *p)\n{\n\treturn (int)strlen(p);\n}\n' >>"$dir/b/b.c"
finds 'a function of an absent header' 'b/b.c: uses functions of <string.h> and does not include it'

tree
printf 'static int the_riddle;\n' >>"$dir/b/b.c"
finds 'a name that is not used' 'b/b.c: the_riddle is not a name of the glossary'

tree
printf '/* Riddles\n * abound. */\n' >>"$dir/b/b.c"
finds 'a phrase that is not used' 'b/b.c:7: "Riddles * abound" is not plain English'

tree
printf '/* See a.h, b/b.c and <stdio.h>. */\n' >>"$dir/b/b.c"
passes 'files that exist'
printf '/* See\n * inner.h and a/gone.h. */\n' >>"$dir/b/b.c"
finds 'a file in a comment that does not exist' 'b/b.c:9: names a/gone.h, which is not in the tree'

tree
printf 'The files are `a.h` and\n`old.c`.\n' | put docs/page.md
finds 'a file in a page that does not exist' 'docs/page.md:2: names old.c, which is not in the tree'

tree
printf '<!-- libraries: begin -->\n<!-- libraries: end -->\n' | put docs/layout.md
finds 'an old table' 'docs/layout.md: its table of libraries is old'
python3 "$src/build-aux/walls" layout "$dir"
passes 'the table made again'

echo "CASES: walls: $passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
