#!/bin/sh
# SPDX-License-Identifier: MIT
# A private daemon with all clients: llamactl, C with the installed library, Python and Go.  They all
# must get the same tokens as `llamactl run`, one client alone and eight at a time.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"

"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
"$build/tests/mktiny" suppress 5 "$dir/suppress.gguf" || exit 99
start
ctl add full "$dir/full.gguf" || { cat "$dir/log"; exit 1; }
ctl add suppress "$dir/suppress.gguf" || { cat "$dir/log"; exit 1; }

prompt='the cat sat on'
n=24
"$build/llamactl" run "$dir/full.gguf" -p "$prompt" -n $n --temp 0 --ignore-eos >"$dir/want" ||
	exit 99

# as_run NAME FILE: checks that FILE equals the output of `run`
as_run() {
	holds "$1: '$(cat "$2")', not '$(cat "$dir/want")'" cmp -s "$dir/want" "$2"
}

# ---- llamactl ----
ctl generate full -p "$prompt" -n $n --temp 0 --ignore-eos >"$dir/got" || bad "generate: status $?"
as_run "llamactl generate" "$dir/got"
ctl generate full -p "$prompt" -n $n --temp 0 --ignore-eos --hold 0ms >"$dir/got"
as_run "llamactl generate, every token alone" "$dir/got"
printf %s "$prompt" | ctl generate full -n $n --temp 0 --ignore-eos >"$dir/got"
as_run "llamactl generate, prompt on standard input" "$dir/got"
"$build/llamactl" run "$dir/full.gguf" -p "$prompt" -n $n --seed 3 --ignore-eos \
	--chain '[{"sampler": "top_k", "k": 3}, {"sampler": "temp", "t": 2}, "dist"]' >"$dir/wantc"
ctl generate full -p "$prompt" -n $n --seed 3 --ignore-eos \
	--chain '[{"sampler": "top_k", "k": 3}, {"sampler": "temp", "t": 2}, "dist"]' >"$dir/got"
holds "generate --chain is as run --chain" cmp -s "$dir/wantc" "$dir/got"
refused 2 'chain and --top-k exclude' generate full -p x --chain '["dist"]' --top-k 2
refused 1 '^llamactl generate: --chain: .*must be a list' generate full -p x --chain '{}'
refused 1 'no chat template.*(--template chatml, or --raw)$' generate full -p x --system y
refused 1 "; to run a file without the daemon: llamactl run $dir/full.gguf$" \
	generate "$dir/full.gguf" -p x
# samplers: the options have the same effect in the daemon as in `run`
"$build/llamactl" run "$dir/full.gguf" -p "$prompt" -n $n --seed 3 >"$dir/plain"
for how in "--temp 2" "--top-k 2" "--top-p 0.3" "--min-p 0.6" "--typical 0.2" "--top-n-sigma 0.5" \
	"--min-keep 3 --min-p 0.9" "--repeat-penalty 3 --repeat-last-n 4" "--frequency-penalty 9" \
	"--presence-penalty 9" "--dynatemp-range 2 --dynatemp-exponent 2" \
	"--xtc-probability 1 --xtc-threshold 0.01" \
	"--dry-multiplier 9 --dry-base 3 --dry-allowed-length 1 --dry-last-n -1 --dry-breaker q" \
	"--mirostat 1" "--mirostat 2 --mirostat-tau 1 --mirostat-eta 0.5" \
	"--logit-bias 30=90 --logit-bias 31=-inf" "$(for t in $(seq 0 80); do printf -- "--suppress-token $t "; done)"; do
	# shellcheck disable=SC2086
	"$build/llamactl" run "$dir/full.gguf" -p "$prompt" -n $n --seed 3 $how >"$dir/wantc" ||
		bad "run $how"
	# shellcheck disable=SC2086
	ctl generate full -p "$prompt" -n $n --seed 3 $how >"$dir/got" || bad "generate $how"
	holds "generate $how: another text than run" cmp -s "$dir/wantc" "$dir/got"
	cmp -s "$dir/wantc" "$dir/plain" && bad "run $how: the text of the defaults" || ok
done
# a model whose file suppresses all tokens but one, and an empty list in its place
for how in "" "--suppress-token ''"; do
	eval "ctl generate suppress -p '$prompt' -n 9 --temp 0 --ignore-eos $how" >"$dir/got" ||
		bad "generate $how: status $?"
	eval "'$build/llamactl' run '$dir/suppress.gguf' -p '$prompt' -n 9 --temp 0 --ignore-eos $how" \
		>"$dir/wantc" || bad "run $how: status $?"
	holds "generate $how of a model with suppressed tokens: another text than run" cmp -s "$dir/wantc" "$dir/got"
	if [ -z "$how" ]; then
		holds "only one token is allowed: '$(cat "$dir/got")'" grep -qx 'A*' "$dir/got"
	else
		holds "all tokens are allowed: '$(cat "$dir/got")'" grep -qv '^A*$' "$dir/got"
	fi
done
dry="--temp 0 --dry-multiplier 9 --dry-base 3 --dry-allowed-length 1 --dry-last-n -1"
for how in "" "--dry-breaker ' '" "--dry-breaker ''"; do
	eval "'$build/llamactl' run '$dir/full.gguf' -p '$prompt' -n $n $dry $how" >"$dir/wantc" ||
		bad "run $how: status $?"
	eval "ctl generate full -p '$prompt' -n $n $dry $how" >"$dir/got" || bad "generate $how: status $?"
	holds "generate $how: another text than run" cmp -s "$dir/wantc" "$dir/got"
done
# conversations: the daemon renders the same prompt as `run`
for how in "--template chatml" "--template chatml --system Short." "--template chatml -j {}" \
	"--template chatml --template-arg add_generation_prompt=false" "--order temperature-first"; do
	# shellcheck disable=SC2086
	"$build/llamactl" run "$dir/full.gguf" -p "$prompt" -n $n --temp 0.5 --seed 3 $how >"$dir/wantc" ||
		bad "run $how"
	# shellcheck disable=SC2086
	ctl generate full -p "$prompt" -n $n --temp 0.5 --seed 3 $how >"$dir/got" || bad "generate $how"
	holds "generate $how: another text than run" cmp -s "$dir/wantc" "$dir/got"
done
# reasoning and tool calls: a grammar forces the answer
echo '[]' >"$dir/tools.json"
printf '%s' '{{ messages[0].content }}<tool_call>' >"$dir/apart.jinja"
cat >"$dir/apart.gbnf" <<'EOF'
root ::= "<think>hm</think>So.<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>"
EOF
apart="-p x --temp 0 --template $dir/apart.jinja --grammar $dir/apart.gbnf"
printf 'So.\n{"name":"f","arguments":{"a": 1}}\n' >"$dir/want_said"
printf 'hm\n\n' | cat - "$dir/want_said" >"$dir/want_shown"
for how in run generate; do
	what=$dir/full.gguf
	test $how = run || what=full
	# shellcheck disable=SC2086
	ctl $how "$what" $apart --tools "$dir/tools.json" >"$dir/got" || bad "$how, parsed"
	holds "$how: '$(cat "$dir/got")' with reasoning and tool calls" cmp -s "$dir/want_said" "$dir/got"
	# shellcheck disable=SC2086
	for show in --show-reasoning --show-thinking; do # the second one is its old name
		ctl $how "$what" $apart --tools "$dir/tools.json" $show >"$dir/got"
		holds "$how $show: '$(cat "$dir/got")'" cmp -s "$dir/want_shown" "$dir/got"
	done
	# shellcheck disable=SC2086
	ctl $how "$what" $apart --tools "$dir/tools.json" --json >"$dir/got"
	holds "$how --json" grep -q '"thinking": "hm"' "$dir/got"
	holds "$how --json" grep -q '"arguments": "{\\"a\\": 1}"' "$dir/got"
	holds "$how --json: tokens without a choice" grep -q '"n_forced": [1-9]' "$dir/got"
	# shellcheck disable=SC2086
	ctl $how "$what" $apart >"$dir/got" # an answer constrained by a grammar is not parsed
	holds "$how: a constrained answer was parsed" grep -q '^<think>hm</think>So' "$dir/got"
done
"$build/llamactl" run "$dir/full.gguf" -p "$prompt" -n $n --temp 1 --seed 7 --ignore-eos >"$dir/want7"
ctl generate full -p "$prompt" -n $n --temp 1 --seed 7 --ignore-eos >"$dir/got"
holds "a seed gives another text in the daemon" cmp -s "$dir/want7" "$dir/got"

# ---- embeddings: the same from the file and the daemon ----
"$build/llamactl" embed "$dir/full.gguf" Hello 'another text' >"$dir/want_e" || bad "embed, file"
ctl embed full Hello 'another text' >"$dir/got"
holds "embed: $(diff "$dir/want_e" "$dir/got")" cmp -s "$dir/want_e" "$dir/got"
printf 'Hello\n\nanother text\n' | ctl embed full >"$dir/got"
holds "embed, lines of standard input" cmp -s "$dir/want_e" "$dir/got"
prints '^ 1.0000  *-*[0-9.]*$' embed full Hello other --similarity
prints '"n_prompt": [0-9]' embed full Hello --json
holds "one vector per token" [ "$(ctl embed full Hello --pooling none | wc -l)" -gt 1 ]
refused 1 'dimensions: 5000, the vectors of the model have' embed full Hello --dimensions 5000
refused 2 "pooling" embed full Hello --pooling most
refused 1 'nothere' embed nothere Hello
"$build/tests/mktiny" rank 7 "$dir/rank.gguf" || exit 99
"$build/llamactl" rerank "$dir/rank.gguf" ab cd efg >"$dir/want_r" || bad "rerank, file"
holds "rerank prints the texts" [ "$(wc -l <"$dir/want_r")" -eq 2 ]
printf 'cd\n\nefg\n' | "$build/llamactl" rerank "$dir/rank.gguf" ab >"$dir/got"
holds "rerank, lines of standard input" cmp -s "$dir/want_r" "$dir/got"
"$build/llamactl" rerank "$dir/rank.gguf" ab cd efg --top 1 >"$dir/got"
holds "rerank, the best" [ "$(cat "$dir/got")" = "$(head -n 1 "$dir/want_r")" ]
refused 1 'classifier' rerank full ab cd
pids=
for i in 1 2 3 4 5 6 7 8; do
	ctl generate full -p "$prompt" -n $n --temp 0 --ignore-eos >"$dir/got$i" &
	pids="$pids $!"
done
# shellcheck disable=SC2086
wait $pids
for i in 1 2 3 4 5 6 7 8; do
	as_run "client $i of eight" "$dir/got$i"
done

prints '^full  *llama  ' list
prints '"name": "full"' list --json
prints '^full  *ready' ps
prints 'ready' status
prints '"state": "ready"' status --json
prints . stats
prints 'arch-dense' plugins
prints . plugins reload
refused 1 'no plugin folder has a file nothere.so' plugins reload nothere.so
prints '"state": "ready"' load full --json
prints '^{}$' alias full other --json
prints '"alias": true' rm other --json
prints '^{}$' reload --json
refused 1 'nothere' generate nothere -p x
refused 1 'nothere' load nothere
refused 1 'nothere' rm nothere
refused 1 'token 999999' generate full -p x --logit-bias 999999=1
refused 1 'ID=X' generate full -p x --logit-bias 30
refused 1 '00000000000000000000000000000000' cancel 00000000000000000000000000000000
refused 1 "'cat' is not known, but 'full' is: .*llamactl alias full cat" alias cat full
holds "alias full cat" ctl alias full cat
prints . generate cat -p "$prompt" -n 2
holds "reload full" ctl reload full
holds "reload" ctl reload
holds "unload full" ctl unload full
holds "load full --ctx 32k" ctl load full --ctx 32k --pin
prints ' 32768 .*never' ps
holds "rm cat" ctl rm cat

# ---- C, with the installed library ----
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
	as_run "the example in C" "$dir/got"
	LD_LIBRARY_PATH=$libdir "$dir/client-c/stream" full "$prompt" $n embedded: 2>"$dir/err" &&
		bad "a client without an engine opens one"
	holds "a client without an engine says so" grep -q 'link libllamad instead' "$dir/err"

	# ---- the library: one program, the engine in the process and in the daemon ----
	cp -r "$src/examples/library-c" "$dir/library-c" && chmod -R u+w "$dir/library-c"
	make -s -C "$dir/library-c" CC="${LMD_TEST_CC:-cc}" \
		CFLAGS="-O1 -g -Wall -Wextra -Werror -pedantic ${LMD_TEST_SAN:-}" ||
		bad "library-c does not compile"
	for how in "$dir/full.gguf" "full $url"; do
		# shellcheck disable=SC2086
		set -- $how
		want='^forward: token [0-9]* of 96$'
		[ $# -eq 1 ] || want="^forward: $url is a server; only the engine in this process"
		LD_LIBRARY_PATH=$libdir PLUGIN_DIR=$build/plugins/.libs "$dir/library-c/generate" "$1" \
			"$prompt" $n ${2:+"$2"} >"$dir/got" 2>"$dir/err" ||
			bad "library-c: $(cat "$dir/err")"
		echo >>"$dir/got"
		as_run "the example of the library with $how" "$dir/got"
		holds "its logits: $(cat "$dir/err")" grep -q "$want" "$dir/err"
		holds "its tokens: $(cat "$dir/err")" grep -q '^tokenize: .*"tokens": *\[' "$dir/err"
	done
	if command -v nm >/dev/null; then
		nm -D --defined-only "$libdir/libllamad.so" | awk '$2 ~ /[TDBR]/ {print $3}' |
			grep -v '^__\(asan\|ubsan\|tsan\|odr\)\|^_\(init\|fini\)$' | sort >"$dir/got"
		holds "exports of libllamad: $(diff "$src/tests/abi/libllamad.txt" "$dir/got")" \
			cmp -s "$src/tests/abi/libllamad.txt" "$dir/got"
	fi
else
	skip "client in C: pkg-config is missing"
fi

# ---- Python, Go ----
# the examples loaded the model with its own context of 256 tokens, which a generation fills before a
# client can cancel it
holds "load full --ctx 32k" ctl load full --ctx 32k --pin
LMD_TEST_URL=$url LMD_TEST_WANT=$dir/want LMD_TEST_PROMPT=$prompt LMD_TEST_N=$n
export LMD_TEST_URL LMD_TEST_WANT LMD_TEST_PROMPT LMD_TEST_N
if [ -n "$python" ]; then
	holds "Python" py tests/params_test.py
	holds "Python" py tests/live_test.py
	py examples/stream.py full "$prompt" $n "$url" >"$dir/got" 2>"$dir/err" ||
		bad "the example in Python: $(cat "$dir/err")"
	echo >>"$dir/got"
	as_run "the example in Python" "$dir/got"
else
	skip "client in Python: Python 3.10 with msgpack is missing"
fi
if [ -n "$python" ] && "$python" -m mypy --version >/dev/null 2>&1; then
	(cd "$src/bindings/python" && "$python" -m mypy --cache-dir "$dir/mypy" llamad \
		examples/stream.py) >"$dir/out" 2>&1
	holds "types of Python: $(cat "$dir/out")" [ $? -eq 0 ]
else
	skip "types of Python: mypy is missing"
fi
if go_has ./... && (cd "$src/bindings/go" && go build -o "$dir/example" ./example); then
	(cd "$src/bindings/go" && go test -count=1 ./...) >"$dir/out" 2>&1
	holds "Go: $(cat "$dir/out")" [ $? -eq 0 ]
	"$dir/example" full "$prompt" $n "$url" >"$dir/got" 2>"$dir/err" ||
		bad "the example in Go: $(cat "$dir/err")"
	echo >>"$dir/got"
	as_run "the example in Go" "$dir/got"
else
	skip "client in Go: go is missing, or its module cannot be fetched"
fi
if node_is_new; then
	node "$src/bindings/js/examples/stream.js" full "$prompt" $n "$url" >"$dir/got" 2>"$dir/err" ||
		bad "the example in JavaScript: $(cat "$dir/err")"
	echo >>"$dir/got"
	as_run "the example in JavaScript" "$dir/got"
	node "$src/bindings/js/test/live.js" >"$dir/out" 2>&1
	holds "JavaScript: $(cat "$dir/out")" [ $? -eq 0 ]
else
	skip "client in JavaScript: there is no Node 18"
fi
stop
finish clients
