#!/bin/sh
# SPDX-License-Identifier: MIT
# Exit statuses, messages and texts of the program as a user meets them.
ctl=${LMD_TEST_BUILDDIR:-.}/llamactl
src=${LMD_TEST_SRCDIR:-.}
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
failed=0 passed=0

bad() {
	echo "FAIL: $*"
	failed=$((failed + 1))
}

# expect STATUS STDERR-PATTERN ARGUMENT...: status, one line on stderr, nothing on stdout
expect() {
	want=$1 pattern=$2
	shift 2
	"$ctl" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	got=$?
	if [ $got -ne "$want" ]; then
		bad "llamactl $*: exit status $got, not $want"
	elif [ "$(wc -l <"$dir/err")" -ne 1 ] || ! grep -q -e "$pattern" "$dir/err"; then
		bad "llamactl $*: stderr is '$(cat "$dir/err")', not like '$pattern'"
	elif [ -s "$dir/out" ]; then
		bad "llamactl $*: something on stdout"
	else
		passed=$((passed + 1))
	fi
}

# prints PATTERN ARGUMENT...: status 0, nothing on stderr, pattern on stdout
prints() {
	pattern=$1
	shift
	if ! "$ctl" "$@" >"$dir/out" 2>"$dir/err" </dev/null; then
		bad "llamactl $*: exit status is not 0: $(cat "$dir/err")"
	elif [ -s "$dir/err" ]; then
		bad "llamactl $*: something on stderr: $(cat "$dir/err")"
	elif ! grep -q -e "$pattern" "$dir/out"; then
		bad "llamactl $*: stdout lacks '$pattern'"
	else
		passed=$((passed + 1))
	fi
}

expect 2 '^llamactl: a command is missing'
expect 2 "unknown command 'versoin' (did you mean 'version'?)" versoin
expect 2 "unknown option '--jsno' (did you mean '--json'?)" version --jsno
expect 2 "unknown option '-q'" version -q
expect 2 "unexpected argument 'x'" version x
expect 2 "option '--log' needs a value" --log
expect 2 "option '--log': 'loud' is not one of" version --log loud
expect 2 "option '--json' takes no value" version --json=1
expect 2 "no command 'nothing'" help nothing
prints '^Usage: llamactl' --help
prints '^  version ' help
prints '^llamactl [0-9]' --version
prints '^plugin ABI [0-9]' version
prints '"abi": \[' version --json
prints 'Options:' version --help
prints 'Options:' help version
prints '^\.TH LLAMACTL 1' --emit-man
prints '^complete .* llamactl$' --emit-completion

# every command describes itself, and refuses an unknown option by name
"$ctl" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z].*\)$/\1/p' | sed 's/   *.*//' >"$dir/commands"
while read -r words; do
	# shellcheck disable=SC2086 # a command may be two words
	prints "^Usage: llamactl $words" $words --help
	# shellcheck disable=SC2086
	expect 2 "^llamactl $words: unknown option '--no-such-option'" $words --no-such-option
done <"$dir/commands"
[ "$(wc -l <"$dir/commands")" -ge 2 ] || bad "no commands in --help"

# plugins: a file that is none, a folder that is not there, a folder that others may write
mkdir -m 755 "$dir/plugins" && echo "no plugin" >"$dir/plugins/x.so"
prints '^? .* refused *.*/plugins/x.so$' plugins --no-default-plugins --plugin-dir "$dir/plugins" \
	--log error
prints 'not an ELF file' plugins --no-default-plugins --plugin-dir "$dir/plugins" --log error
prints '"reason": "not an ELF file"' plugins --json --no-default-plugins \
	--plugin-dir="$dir/plugins" --log error
prints '^\[\]$' plugins --json --no-default-plugins --plugin-dir "$dir/nothing"
chmod 777 "$dir/plugins"
prints 'its folder is writable by everybody (mode 0777)' plugins --no-default-plugins \
	--plugin-dir "$dir/plugins" --log error
if command -v python3 >/dev/null; then
	"$ctl" plugins --json --plugin-dir "$dir/plugins" --log error | python3 -c '
import json, sys
rows = json.load(sys.stdin)
keys = {"file", "name", "kinds", "version", "abi", "state", "reason"}
assert rows and all(keys <= set(r) for r in rows), rows
assert any(r["state"] == "refused" for r in rows)' || bad "plugins --json is not as documented"
fi

if [ -w /dev/full ]; then
	"$ctl" version >/dev/full 2>"$dir/err"
	[ $? -eq 1 ] && grep -q 'standard output' "$dir/err" || bad "a full disk goes unnoticed"
fi
"$ctl" --emit-completion >"$dir/completion"
if command -v bash >/dev/null; then
	bash -n "$dir/completion" || bad "the completion is no bash"
	words=$(bash -c '. "$1"; COMP_WORDS=(llamactl ver); COMP_CWORD=1; _llamactl
		echo "${COMPREPLY[@]}"' bash "$dir/completion")
	[ "$words" = version ] || bad "completion of 'ver' is '$words'"
	words=$(bash -c '. "$1"; COMP_WORDS=(llamactl --log de); COMP_CWORD=2; _llamactl
		echo "${COMPREPLY[@]}"' bash "$dir/completion")
	[ "$words" = debug ] || bad "completion of '--log de' is '$words'"
fi

"$ctl" --emit-man | cmp -s - "$src/docs/man/llamactl.1" ||
	bad "docs/man/llamactl.1 is not what the table says; run: make update-man"

echo "CASES: llamactl command line: $passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
