#!/bin/sh
# SPDX-License-Identifier: MIT
# Exit statuses, messages and texts of the program as a user sees them.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"

refused 2 '^llamactl: a command is missing'
refused 2 "unknown command 'versoin' (did you mean 'version'?)" versoin
refused 2 "unknown option '--jsno' (did you mean '--json'?)" version --jsno
refused 2 "unknown option '--temprature' (did you mean '--temperature'?)" run x --temprature 1
refused 2 "option '--temp': 9 is above 5" run x --temperature 9
refused 2 "option '--temp': 9 is above 5" chat x --temperature=9
refused 2 "option '--predict': -2 is below -1" generate x --max-tokens -2
refused 2 "unknown option '--max-tokens'" version --max-tokens 2
refused 2 "unknown option '-q'" version -q
refused 2 "unexpected argument 'x'" version x
refused 2 "option '--log' needs a value" --log
refused 2 "option '--log': 'loud' is not one of" version --log loud
refused 2 "option '--json' takes no value" version --json=1
refused 2 "no command 'nothing'" help nothing
prints '^Usage: llamactl' --help
prints '^  version ' help
prints '^llamactl [0-9]' --version
prints '^plugin ABI [0-9]' version
prints '"abi": \[' version --json
prints '"abi": \[' --json version
prints '"abi": \[' --json --log error version
refused 2 "^llamactl help: unknown option '--json'" --json help
refused 2 "a command is missing" --json
refused 2 "option '--predict' must follow the command: llamactl COMMAND --predict N" --predict 3 run
prints 'Options:' version --help
prints 'Options:' help version
prints '^\.TH LLAMACTL 1' --emit-man
prints '^complete .* llamactl$' --emit-completion bash

# options that commands share: below titles of their own in --help, once in the manual
ctl run --help >"$dir/out"
holds "run --help has titles for answers and the engine" [ "$(sed -n 's/^\([A-Z].*options\):$/\1/p' "$dir/out" |
	paste -sd,)" = "Answer options,Engine options,Common options" ]
holds "run --help has each option once" [ -z "$(sed -nE 's/^  (-., |    )(--[a-z-]*).*/\2/p' "$dir/out" |
	sort | uniq -d)" ]
ctl --emit-man >"$dir/out"
holds "the manual has --deterministic once" [ "$(grep -c 'fB.-.-deterministic' "$dir/out")" = 1 ]
holds "the manual says where the options of bench are" sh -c 'sed -n "/^\.SS \"bench \(FILE\|MODEL\)/,/^\.SS/p" "$1" |
	grep -q "^Further options: see .*ENGINE OPTIONS"' - "$dir/out"

refused 1 'smollm2: cannot open.*: .llamactl list. has' bench smollm2
refused 1 'smollm2: cannot open[^(]*$' batch smollm2 -o "$dir/results"
# llamactl may be there alone
mkdir "$dir/alone"
cp "$build/llamactl" "$dir/alone/llamactl"
PATH=/nonexistent "$dir/alone/llamactl" serve x 2>"$dir/err"
holds "serve without llamad says what is missing" grep -q 'llamad is not installed' "$dir/err"

# every command describes itself, and rejects an unknown option by its name
ctl help --all | sed -n '/^Commands:/,/^$/s/^  \([a-z].*\)$/\1/p' | sed 's/   *.*//' >"$dir/commands"
while read -r words; do
	# shellcheck disable=SC2086 # a command may be two words
	prints "^Usage: llamactl $words" $words --help
	# shellcheck disable=SC2086
	refused 2 "^llamactl $words: unknown option '--no-such-option'" $words --no-such-option
	# what a program may want to read is there as JSON; some commands are for people
	# shellcheck disable=SC2086
	case $words in
	help | chat | launch | serve | translate) ;;
	*) prints '^ *--json  ' $words --help ;;
	esac
done <"$dir/commands"
[ "$(wc -l <"$dir/commands")" -ge 48 ] || bad "$(wc -l <"$dir/commands") commands in help --all"
# the overview has all commands, those for beginners first, the debug commands on one line
does --help
for words in $(grep -v ' ' "$dir/commands"); do
	holds "--help lacks $words" grep -q "^  $words  " "$dir/out"
done
holds "--help begins with the commands for beginners" [ "$(sed -n '/^Run and chat:/,/^$/s/^  \([a-z]*\) .*/\1/p' \
	"$dir/out" | tr '\n' ' ')" = 'run chat serve launch generate embed rerank batch pull push add list ps ' ]
holds "--help has the debug commands" grep -q '^  debug WORD  *logits, plan, ' "$dir/out"
holds "--help fits in 80 columns" awk 'length > 80 { bad = 1 } END { exit bad }' "$dir/out"
prints '^  debug plan  ' debug --help
prints '^  key add  ' help key
refused 2 "omit 'run'" help run --all
# what `translate` prints can be typed: the command has the options, and words have their places
translates() { # WANT WORD...: the first line
	want=$1
	shift
	does translate "$@"
	holds "translate $*: $(head -n 1 "$dir/out")" [ "$(head -n 1 "$dir/out")" = "llamactl $want" ]
}
translates 'serve m.gguf --n-gpu-layers 9 --ctx 512' llama-server --temp 0.7 --mystery 3 -m m.gguf -ngl 9 -ts 1,1 -c 512
for note in '--temp: not with `llamactl serve`; set it in [model NAME]' '--mystery 3: not known here' '-ts: not with'; do
	holds "translate: a note: $note" grep -qF -- "# $note" "$dir/out"
done
translates 'run m.gguf --temp 0.7 --split 1,1' llama-cli -m m.gguf --temp 0.7 -ts 1,1 --mystery x
translates 'run m.gguf --threads 2 --threads-batch 4 --cpus 0xf --cpu-strict on --numa off' \
	llama-cli -m m.gguf -t 2 -tb 4 -C f --cpu-strict 1 --numa numactl --prio 2
holds "translate: a note for --prio" grep -q '^# --prio: set Nice=' "$dir/out"
translates 'serve m.gguf --cpus 0-3 --numa distribute' llama-server -m m.gguf -Cr 0-3 --numa distribute
translates "run llama3 --json-schema '{}' Hi" ollama run llama3 --format json Hi
translates 'run llama3' ollama run --mystery llama3
translates 'serve hf:a/b' vllm serve --mystery x a/b
translates 'bench m.gguf --prompt 512' llama-bench -m m.gguf -p 512
translates 'perplexity m.gguf --text w.txt' llama-perplexity -m m.gguf -f w.txt

# commands and options in the README and in the examples of the manual page exist
grep '^    .*llamactl ' "$src/README.md" >"$dir/readme"
ctl --emit-man | sed -n '/^\.SH EXAMPLES/,/^\.SH "FILES/s/\\-/-/gp' | grep 'llamactl ' |
	sed 's/--socket [^ ]* --key-file [^ ]* //' >>"$dir/readme"
grep -o 'llamactl [a-z][a-z-]*' "$dir/readme" | sed 's/.* //' | sort -u >"$dir/named"
holds "the README names commands" [ "$(wc -l <"$dir/named")" -ge 3 ]
while read -r words; do
	holds "README: '$words' is not a command" grep -q "^$words\( \|\$\)" "$dir/commands"
done <"$dir/named"
sed -n 's|.*llamactl \([a-z-]*\) \([^#]*\).*|\1 \2|p' "$dir/readme" | while read -r word rest; do
	for option in $rest; do
		case $option in
		-*) ctl "$word" --help | grep -q -e "^ *$option[ ,]\|, $option " || echo "$word $option" ;;
		esac
	done
done >"$dir/wrong"
holds "README: options that do not exist: $(cat "$dir/wrong")" [ ! -s "$dir/wrong" ]

# plugins: a file that is not a plugin, a missing folder, a folder that others can write
mkdir -m 755 "$dir/plugins" && echo "no plugin" >"$dir/plugins/x.so"
prints '^? .* refused *.*/plugins/x.so$' plugins --no-default-plugins --plugin-dir "$dir/plugins" \
	--log error
prints 'not an ELF file' plugins --no-default-plugins --plugin-dir "$dir/plugins" --log error
prints '"reason": "not an ELF file"' plugins --json --no-default-plugins \
	--plugin-dir="$dir/plugins" --log error
does plugins --json --no-default-plugins --plugin-dir "$dir/nothing"
holds "a missing folder has no plugins" [ "$(grep -c "$dir/nothing" "$dir/out")" -eq 0 ]
chmod 777 "$dir/plugins"
prints 'its folder is writable by everybody (mode 0777)' plugins --no-default-plugins \
	--plugin-dir "$dir/plugins" --log error
if command -v python3 >/dev/null; then
	ctl plugins --json --plugin-dir "$dir/plugins" --log error | python3 -c '
import json, sys
rows = json.load(sys.stdin)
keys = {"file", "name", "kinds", "version", "abi", "state", "reason"}
assert rows and all(keys <= set(r) for r in rows), rows
assert any(r["state"] == "refused" for r in rows)' || bad "plugins --json is not as documented"
fi

# without a driver of Vulkan, whose matrix is in tests/vulkan: with a software driver a table takes three seconds
VK_DRIVER_FILES=/nonexistent VK_ICD_FILENAMES=/nonexistent
export VK_DRIVER_FILES VK_ICD_FILENAMES
does plugins --matrix --log error
for row in 'OP .* ref' 'linear .* native' 'q4_k .* native' 'allreduce .* native'; do
	holds "plugins --matrix has no row '$row'" grep -q "^$row" "$dir/out"
done
refused 1 'no backend' plugins --matrix --no-default-plugins
if command -v python3 >/dev/null; then
	ctl plugins --matrix --json --log error | python3 -c '
import json, sys
rows = json.load(sys.stdin)
assert {r["op"] for r in rows} >= {"linear", "attn", "sample", "allgather"}, rows
assert any(r["weights"] == "q4_0" for r in rows)
for r in rows:
    assert {b["support"] for b in r["backends"]} <= {"native", "parts", "no"}, r
    assert all(b["support"] == "native" for b in r["backends"] if b["backend"] == "ref"), r' ||
		bad "plugins --matrix --json is not as documented"
fi

for command in --help version 'plugins --json --log error'; do
	# the reader closes the pipe before anything is written
	mkfifo "$dir/pipe" "$dir/go"
	{
		read -r go <"$dir/go"
		# shellcheck disable=SC2086
		ctl $command 2>"$dir/err"
		echo "$?$go" >"$dir/status"
	} >"$dir/pipe" &
	: <"$dir/pipe" # the only reader, which leaves before the command begins
	echo . >"$dir/go"
	wait $!
	rm "$dir/pipe" "$dir/go"
	[ "$(cat "$dir/status")" = 141. ] || bad "$command | true: status $(cat "$dir/status")"
	[ ! -s "$dir/err" ] || bad "$command | true: $(cat "$dir/err")"
done
if [ -w /dev/full ]; then
	ctl version >/dev/full 2>"$dir/err"
	[ $? -eq 1 ] && grep -q 'standard output' "$dir/err" || bad "a full disk was not reported"
fi
for title in EXAMPLES FILES ENVIRONMENT 'EXIT STATUS' 'SEE ALSO' 'RUN AND CHAT' DEBUGGING; do
	prints "^\\.SH \"\\?$title\"\\?\$" --emit-man
done
ctl --emit-man | cmp -s - "$src/docs/man/llamactl.1" ||
	bad "docs/man/llamactl.1 differs from the table; run: make update-man"

finish "llamactl command line"
