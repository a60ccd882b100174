#!/bin/sh
# SPDX-License-Identifier: MIT
# A private daemon and every client there is: llamactl, C against the installed library, Python and
# Go.  All get the same tokens as `llamactl run`, alone and eight at a time.
build=${LMD_TEST_BUILDDIR:-.}
src=${LMD_TEST_SRCDIR:-.}
dir=$(mktemp -d) || exit 99
daemon=
trap '[ -z "$daemon" ] || kill "$daemon" 2>/dev/null; wait; rm -rf "$dir"' EXIT
passed=0 failed=0
url=ipc://$dir/sock

ok() {
	passed=$((passed + 1))
}
bad() {
	echo "FAIL: $*"
	failed=$((failed + 1))
}
ctl() {
	"$build/llamactl" --socket "$url" "$@"
}

"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
"$build/llamad" --socket "$url" --state-dir "$dir/state" 2>"$dir/log" &
daemon=$!
n=0
until ctl ping >"$dir/ping" 2>"$dir/err"; do
	n=$((n + 1))
	if ! kill -0 $daemon 2>/dev/null || [ $n -gt 200 ]; then
		cat "$dir/log" "$dir/err"
		echo "FAIL: the daemon does not get ready"
		exit 1
	fi
	sleep 0.05 # asks again; nothing depends on its length
done
ctl add full "$dir/full.gguf" || { cat "$dir/log"; exit 1; }

prompt='the cat sat on'
n=24
"$build/llamactl" run "$dir/full.gguf" -p "$prompt" -n $n --temp 0 --ignore-eos >"$dir/want" ||
	exit 99

# same NAME FILE: is it what `run` wrote?
same() {
	if cmp -s "$dir/want" "$2"; then
		ok
	else
		bad "$1: '$(cat "$2")', not '$(cat "$dir/want")'"
	fi
}

# ---- llamactl ----
ctl generate full -p "$prompt" -n $n --temp 0 --ignore-eos >"$dir/got" || bad "generate: status $?"
same "llamactl generate" "$dir/got"
ctl generate full -p "$prompt" -n $n --temp 0 --ignore-eos --hold 0ms >"$dir/got"
same "llamactl generate, every token alone" "$dir/got"
printf %s "$prompt" | ctl generate full -n $n --temp 0 --ignore-eos >"$dir/got"
same "llamactl generate, prompt on standard input" "$dir/got"
# samplers: the options mean to the daemon what they mean to `run`
"$build/llamactl" run "$dir/full.gguf" -p "$prompt" -n $n --seed 3 >"$dir/plain"
for how in "--temp 2" "--top-k 2" "--top-p 0.3" "--min-p 0.6" "--typical 0.2" "--top-n-sigma 0.5" \
	"--min-keep 3 --min-p 0.9" "--repeat-penalty 3 --repeat-last-n 4" "--frequency-penalty 9" \
	"--presence-penalty 9" "--dynatemp-range 2 --dynatemp-exponent 2" \
	"--xtc-probability 1 --xtc-threshold 0.01" \
	"--dry-multiplier 9 --dry-base 3 --dry-allowed-length 1 --dry-last-n -1 --dry-breaker q" \
	"--mirostat 1" "--mirostat 2 --mirostat-tau 1 --mirostat-eta 0.5" \
	"--logit-bias 30=90 --logit-bias 31=-inf"; do
	# shellcheck disable=SC2086
	"$build/llamactl" run "$dir/full.gguf" -p "$prompt" -n $n --seed 3 $how >"$dir/wantc" ||
		bad "run $how"
	# shellcheck disable=SC2086
	ctl generate full -p "$prompt" -n $n --seed 3 $how >"$dir/got" || bad "generate $how"
	cmp -s "$dir/wantc" "$dir/got" && ok || bad "generate $how: another text than run"
	cmp -s "$dir/wantc" "$dir/plain" && bad "run $how: the text of the defaults" || ok
done
# conversations: the daemon renders what `run` renders
for how in "--template chatml" "--template chatml --system Short." "--template chatml -j {}" \
	"--template chatml --template-arg add_generation_prompt=false" "--order temperature-first"; do
	# shellcheck disable=SC2086
	"$build/llamactl" run "$dir/full.gguf" -p "$prompt" -n $n --temp 0.5 --seed 3 $how >"$dir/wantc" ||
		bad "run $how"
	# shellcheck disable=SC2086
	ctl generate full -p "$prompt" -n $n --temp 0.5 --seed 3 $how >"$dir/got" || bad "generate $how"
	cmp -s "$dir/wantc" "$dir/got" && ok || bad "generate $how: another text than run"
done
"$build/llamactl" run "$dir/full.gguf" -p "$prompt" -n $n --temp 1 --seed 7 --ignore-eos >"$dir/want7"
ctl generate full -p "$prompt" -n $n --temp 1 --seed 7 --ignore-eos >"$dir/got"
cmp -s "$dir/want7" "$dir/got" && ok || bad "a seed gives another text in the daemon"

pids=
for i in 1 2 3 4 5 6 7 8; do
	ctl generate full -p "$prompt" -n $n --temp 0 --ignore-eos >"$dir/got$i" &
	pids="$pids $!"
done
# shellcheck disable=SC2086
wait $pids
for i in 1 2 3 4 5 6 7 8; do
	same "client $i of eight" "$dir/got$i"
done

# shows PATTERN ARGUMENT...: status 0 and a line of stdout like PATTERN
shows() {
	want=$1
	shift
	if ! ctl "$@" >"$dir/out" 2>"$dir/err"; then
		bad "llamactl $*: $(cat "$dir/err")"
	elif ! grep -q -e "$want" "$dir/out"; then
		bad "llamactl $*: no line like '$want' in '$(cat "$dir/out")'"
	else
		ok
	fi
}
# refused PATTERN ARGUMENT...: status 1, nothing on stdout, a last line of stderr like PATTERN
refused() {
	want=$1
	shift
	ctl "$@" >"$dir/out" 2>"$dir/err"
	if [ $? -ne 1 ] || [ -s "$dir/out" ] || ! tail -n 1 "$dir/err" | grep -q -e "$want"; then
		bad "llamactl $*: '$(cat "$dir/err" "$dir/out")', not like '$want'"
	else
		ok
	fi
}
shows '^full  *llama  ' list
shows '"name": "full"' list --json
shows '^full  *ready' ps
shows 'ready' status
shows '"state": "ready"' status --json
shows . stats
shows 'arch-dense' plugins
shows . plugins reload
shows '"state": "ready"' load full --json
shows '^{}$' alias other full --json
shows '"alias": true' rm other --json
shows '^{}$' reload --json
refused 'nothere' generate nothere -p x
refused 'nothere' load nothere
refused 'nothere' rm nothere
refused 'token 999999' generate full -p x --logit-bias 999999=1
refused 'ID=X' generate full -p x --logit-bias 30
refused '00000000000000000000000000000000' cancel 00000000000000000000000000000000
ctl alias cat full && shows . generate cat -p "$prompt" -n 2
ctl reload full && ok || bad "reload full"
ctl reload && ok || bad "reload"
ctl unload full && ok || bad "unload full"
ctl load full --ctx 32k --pin && shows ' 32768 .*never' ps
ctl rm cat && ok || bad "rm cat"

# ---- C, against what is installed ----
if command -v pkg-config >/dev/null; then
	unset MAKEFLAGS MFLAGS MAKELEVEL
	make -s -C "$build" DESTDIR="$dir/root" install-libLTLIBRARIES \
		install-dist_lmdincludeHEADERS install-nodist_lmdincludeHEADERS \
		install-pkgconfigDATA >"$dir/make" 2>&1 || { cat "$dir/make"; bad "make install"; }
	PKG_CONFIG_PATH=$(dirname "$(find "$dir/root" -name llamad-client.pc)")
	PKG_CONFIG_SYSROOT_DIR=$dir/root
	export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
	libdir=$(dirname "$(find "$dir/root" -name libllamad-client.so | head -n 1)")
	cp -r "$src/examples/client-c" "$dir/client-c" && chmod -R u+w "$dir/client-c"
	make -s -C "$dir/client-c" CC="${LMD_TEST_CC:-cc}" \
		CFLAGS="-O1 -g -Wall -Wextra -Werror -pedantic ${LMD_TEST_SAN:-}" &&
		LD_LIBRARY_PATH=$libdir "$dir/client-c/stream" full "$prompt" $n "$url" \
			>"$dir/got" 2>"$dir/err" || bad "client-c: $(cat "$dir/err")"
	"$build/llamactl" run "$dir/full.gguf" -p "$prompt" -n $n --temp 0 >"$dir/want"
	echo >>"$dir/got"
	same "the example in C" "$dir/got"
else
	echo "SKIP: client in C: there is no pkg-config"
fi

# ---- Python, Go ----
LMD_TEST_URL=$url LMD_TEST_WANT=$dir/want LMD_TEST_PROMPT=$prompt LMD_TEST_N=$n
export LMD_TEST_URL LMD_TEST_WANT LMD_TEST_PROMPT LMD_TEST_N
python=
for p in /usr/bin/python3 python3; do
	"$p" -c 'import msgpack, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && python=$p && break
done
if [ -n "$python" ]; then
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$src/bindings/python \
		"$python" "$src/bindings/python/tests/live_test.py" || bad "Python"
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$src/bindings/python \
		"$python" "$src/bindings/python/examples/stream.py" full "$prompt" $n "$url" \
		>"$dir/got" 2>"$dir/err" || bad "the example in Python: $(cat "$dir/err")"
	echo >>"$dir/got"
	same "the example in Python" "$dir/got"
else
	echo "SKIP: client in Python: there is no Python 3.10 with msgpack"
fi
if command -v go >/dev/null && (cd "$src/bindings/go" && go build -o "$dir/example" ./example) \
	>"$dir/err" 2>&1; then
	(cd "$src/bindings/go" && go test -count=1 ./...) >"$dir/out" 2>&1 && ok ||
		bad "Go: $(cat "$dir/out")"
	"$dir/example" full "$prompt" $n "$url" >"$dir/got" 2>"$dir/err" ||
		bad "the example in Go: $(cat "$dir/err")"
	echo >>"$dir/got"
	same "the example in Go" "$dir/got"
else
	echo "SKIP: client in Go: there is no go, or its module cannot be fetched"
fi

ctl shutdown && ok || bad "shutdown"
wait $daemon || bad "the daemon's exit status: $?"
daemon=
echo "CASES: clients: $passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
