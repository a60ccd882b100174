#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the headers and libllamad-arch.a into an empty folder, builds every example against only
# these, as a plugin author would, and runs examples_test on the result.
build=${LMD_TEST_BUILDDIR:-.}
src=${LMD_TEST_SRCDIR:-.}
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT

command -v pkg-config >/dev/null || {
	echo "SKIP: examples_test: pkg-config is not installed"
	exit 77
}
[ -x "$build/examples/examples_test" ] || {
	echo "SKIP: examples_test: built without the Check library (Debian: check)"
	exit 77
}
# the make that runs this test must not influence the ones below
unset MAKEFLAGS MFLAGS MAKELEVEL
make -s -C "$build" DESTDIR="$dir/root" install-dist_lmdincludeHEADERS \
	install-nodist_lmdincludeHEADERS install-archincludeHEADERS install-libLIBRARIES \
	install-pkgconfigDATA >"$dir/log" 2>&1 || {
	cat "$dir/log"
	echo "FAIL: cannot install the headers"
	exit 1
}
PKG_CONFIG_PATH=$(dirname "$(find "$dir/root" -name llamad-plugin.pc)")
PKG_CONFIG_SYSROOT_DIR=$dir/root
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
mkdir -m 755 "$dir/plugins"
for mk in "$src"/examples/*/Makefile; do
	name=$(basename "$(dirname "$mk")")
	case $name in
	client-c | library-c) continue ;; # tested by tests/clients
	backend-partial)
		if ! echo '#include <cblas.h>' | ${LMD_TEST_CC:-cc} -E - $(pkg-config --cflags cblas 2>&- ||
			pkg-config --cflags openblas 2>&-) >"$dir/log" 2>&1; then
			echo "SKIP: backend-partial: no BLAS with cblas.h (Debian: libopenblas-dev)"
			continue
		fi
		;;
	esac
	cp -r "$(dirname "$mk")" "$dir/$name"
	chmod -R u+w "$dir/$name"
	make -s -C "$dir/$name" CC="${LMD_TEST_CC:-cc}" \
		CFLAGS="-O1 -g -Wall -Wextra -Werror -pedantic" &&
		make -s -C "$dir/$name" install DESTDIR= PLUGINDIR="$dir/plugins" || {
		echo "FAIL: $name does not build against the installed headers"
		exit 1
	}
done
# a transformer outside the tree computes what the same one inside does; the names have equal lengths
"$build/tests/mktiny" full 5 "$dir/llama.gguf" || exit 99
sed 's/llama/plain/g' "$dir/llama.gguf" >"$dir/plain.gguf"
for arch in llama plain; do
	"$build/llamactl" --plugin-dir "$dir/plugins" run "$dir/$arch.gguf" --backend ref -p Hello -n 40 \
		--temp 2 --seed 3 >"$dir/$arch.txt" || {
		echo "FAIL: llamactl run $arch.gguf"
		exit 1
	}
done
cmp "$dir/llama.txt" "$dir/plain.txt" || {
	echo "FAIL: arch-plain does not compute what llama does"
	exit 1
}
# products on one backend, everything else on the cpu
if [ -e "$dir/plugins/backend-partial.so" ]; then
	for backend in cpu partial; do
		"$build/llamactl" --plugin-dir "$dir/plugins" run "$dir/llama.gguf" --backend $backend \
			--activations f32 -p Hello -n 20 --temp 0 >"$dir/$backend.txt" || {
			echo "FAIL: llamactl run --backend $backend"
			exit 1
		}
	done
	cmp "$dir/cpu.txt" "$dir/partial.txt" || {
		echo "FAIL: backend-partial does not compute what cpu does"
		exit 1
	}
	"$build/llamactl" --plugin-dir "$dir/plugins" explain "$dir/llama.gguf" --backend partial |
		grep 'attn.* on cpu0 instead of partial0' || {
		echo "FAIL: explain does not tell what runs on the cpu"
		exit 1
	}
fi
# a model made as its example says
if command -v python3 >/dev/null; then
	printf abcabcabc >"$dir/text"
	python3 "$src/examples/arch-bigram/make_model.py" "$dir/text" "$dir/bigram.gguf" &&
		"$build/llamactl" --plugin-dir "$dir/plugins" run "$dir/bigram.gguf" -p a -n 5 --temp 0 >"$dir/bigram.txt"
	[ "$(cat "$dir/bigram.txt")" = bcabc ] || {
		echo "FAIL: arch-bigram/make_model.py: $(cat "$dir/bigram.txt")"
		exit 1
	}
fi
mkdir "$dir/models"
models=
make_model=$src/examples/format-llama2c/make_model.py
if command -v python3 >/dev/null && python3 "$make_model" "$dir/models"; then
	models=$dir/models
else
	echo "SKIP: examples_test: no python3, the format is only built"
fi
"$build/examples/examples_test" "$dir/plugins" ${models:+"$models"}
