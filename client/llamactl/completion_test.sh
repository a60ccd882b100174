#!/bin/sh
# SPDX-License-Identifier: MIT
# What the Tab key offers in bash, and in zsh and fish if they are installed: words of the tables, files,
# and the names that a running daemon knows.  Without a daemon there are no names.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"

for program in llamactl llamad; do
	for shell in bash zsh fish; do
		"$build/$program" --emit-completion $shell >"$dir/$program.$shell" || bad "$program, $shell"
		if command -v $shell >/dev/null; then
			holds "$program.$shell is not a valid script" $shell -n "$dir/$program.$shell"
		else
			skip "$program.$shell: there is no $shell"
		fi
	done
done
refused 2 "is not one of" --emit-completion csh

"$build/tests/mktiny" full 5 "$dir/tiny.gguf" || exit 99
mkdir "$dir/here" "$dir/here/my models" && touch "$dir/here/model.gguf"
start
does add smol "$dir/tiny.gguf"
does alias smol smart

# offers: passes the lines of standard input to completion_test.bash
program=$(cd "$build" && pwd)/llamactl
script=$(cd "$src" && pwd)/client/llamactl/completion_test.bash
offers() {
	sed "s|URL|$url|" >"$dir/lines"
	(cd "$dir/here" && bash "$script" "$dir/llamactl.bash" "$program") <"$dir/lines" >"$dir/out" 2>&1
	holds "bash: $(cat "$dir/out")" [ $? -eq 0 ]
}

if command -v bash >/dev/null; then
	offers <<'EOF'
llamactl ver|verify,version
llamactl unl|unload
llamactl --log de|debug
llamactl --log=de|debug
llamactl --socket i|ipc://
llamactl --socket=ipc|ipc://
llamactl debug pl|plan
llamactl key |add,list,rm,set
llamactl plugins |new,reload,test
llamactl debug plan --kind |draft,encode,forward,tail
llamactl help ge|generate
llamactl help key |add,list,rm,set
llamactl --socket ipc:///nonexistent run |model.gguf,my models
llamactl run -n8 mo|model.gguf
llamactl run -n 8 mo|model.gguf
llamactl run --temp |
llamactl run --tem|--temp,--template,--template-arg
llamactl run -- mo|model.gguf
llamactl run model.gguf --grammar my|my models
llamactl --plugin-dir |my models
llamactl quantize a b Q4_K|Q4_K_M,Q4_K_S
llamactl debug quant --type q8|q8_0,q8_kv
llamactl add new mo|model.gguf
llamactl detokenize model.gguf |
llamactl debug parse her|hermes
llamactl --socket URL generate sm|smart,smol
llamactl --socket URL chat sm|smart,smol
llamactl --socket=URL generate smo|smol
llamactl --socket URL info |model.gguf,my models,smart,smol
llamactl --socket URL load x|
llamactl --socket ipc:///nonexistent generate |
llamactl nothing |
EOF
	cat >"$dir/llamad.t" <<'EOF'
. "$1"
COMP_LINE='llamad --log t' COMP_WORDS=(llamad --log t) COMP_CWORD=2
_llamad
[ "${COMPREPLY[*]}" = trace ] || exit 1
COMP_LINE='llamad --check' COMP_WORDS=(llamad --check) COMP_CWORD=1
_llamad
[ "${COMPREPLY[*]}" = --check-config ]
EOF
	holds "bash: llamad" bash "$dir/llamad.t" "$dir/llamad.bash"
else
	skip "there is no bash"
fi

# fish_offers WANT LINE
fish_offers() {
	have=$(cd "$dir/here" && HOME=$dir XDG_CONFIG_HOME=$dir XDG_DATA_HOME=$dir fish -N -c \
		'source $argv[1]; complete -C $argv[2]' "$dir/llamactl.fish" "$2" | cut -f 1 | sort |
		tr '\n' ',')
	holds "fish: '$2' offers $have" [ "$have" = "$1," ]
}
if command -v fish >/dev/null; then
	fish_offers unload "$program unl"
	fish_offers add,list,rm,set "$program key "
	fish_offers generate "$program help ge"
	fish_offers Q4_K_M,Q4_K_S "$program quantize a b Q4_K"
	fish_offers model.gguf "$program run mo"
	fish_offers --temp,--template,--template-arg "$program run --tem"
	fish_offers smart,smol "$program --socket $url generate sm"
	fish_offers smol "$program --socket=$url generate smo"
fi

stop
prints . --emit-words ftypes:
does --emit-words models:
holds "no words of a stopped daemon" [ ! -s "$dir/out" ]
finish completion
