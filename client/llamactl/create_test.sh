#!/bin/sh
# SPDX-License-Identifier: MIT
# Names that are made from a Modelfile: what the file may have, that every kind of client meets its
# values, that they outlive the daemon, and that they go with their alias.
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"
command -v curl >/dev/null || {
	echo "SKIP: there is no curl"
	exit 77
}

mkdir "$dir/work"
"$build/tests/mktiny" greedy 5 "$dir/work/greedy.gguf" || exit 99 # recommends the temperature 0
printf 'Quote "this"' >"$dir/quotes"
printf ' two blanks  ' >"$dir/blanks"
printf 'a"""b' >"$dir/three"
cat >"$dir/conf" <<EOF
[model quotes]
system_file = $dir/quotes
[model blanks]
system_file = $dir/blanks
top_k = 2147483646
top_p = 0.12345678901234568
[model three]
system_file = $dir/three
EOF
start_http
u=http://$http
cd "$dir/work" || exit 99
case $build in /*) ;; *) build=$OLDPWD/$build ;; esac

# a file is added under its own name, which FROM then has
cat >Modelfile <<'EOF'
# a pirate
FROM ./greedy.gguf
TEMPLATE chatml
SYSTEM """You are a "pirate".
Be brief."""
PARAMETER num_predict 3
PARAMETER num_ctx 4096
PARAMETER top_k 7
MESSAGE user Who are you?
MESSAGE assistant Arr, a pirate.
EOF
does create pirate
does list
holds "the base: $(cat "$dir/out")" grep -q '^greedy  *.*pirate' "$dir/out"
prints '^FROM greedy$' show pirate --modelfile
holds "the rest of the Modelfile" grep -q '^Be brief."""$' "$dir/out"
prints '^  top_k 7$' show pirate
prints '^top_k 7$' show pirate --parameters
prints '^Be brief.$' show pirate --system
prints '"modelfile": "# a pirate' show pirate --json
prints '^FROM greedy$' show greedy --modelfile
prints '^PARAMETER temperature 0$' show greedy --modelfile

# a preset in TOML says the same
cat >pirate.toml <<'EOF'
# a pirate
base = "./greedy.gguf"
template = "chatml"
system = """
You are a "pirate".
Be brief."""
[parameters]
num_predict = 3
top_k = 7
[[messages]]
role = "user"
content = "Who are you?"
[[messages]]
role = "assistant"
content = "Arr, a pirate."
EOF
does create second -f pirate.toml
for name in pirate second; do
	for part in --parameters --system --template; do
		does show $name $part
		cat "$dir/out"
	done >"$dir/$name.shown"
	does show $name --modelfile
	grep '^MESSAGE' "$dir/out" | tr -d '"' >>"$dir/$name.shown"
done
sed -i '/num_ctx/d' "$dir/pirate.shown" # of the Modelfile alone
holds "TOML: $(diff "$dir/pirate.shown" "$dir/second.shown")" cmp -s "$dir/pirate.shown" "$dir/second.shown"
holds "TOML: the base" grep -q '^FROM greedy$' "$dir/out"
printf 'base = "greedy"\ntop_k = 7\n' >wrong.toml
refused 1 "wrong.toml: line 2: 'top_k' is not a key" create other -f wrong.toml
printf 'base = "greedy"\n\n[parameters]\nwarmth = 1\n' >wrong.toml
refused 1 "line 4: there is no parameter 'warmth'" create other -f wrong.toml
does rm second

# errors name the file, the line and what is allowed; nothing is changed
wrong() {
	printf '%b' "$2" >wrong
	refused 1 "$1" create other -f wrong
}
wrong 'wrong: .*no FROM' 'SYSTEM x\n'
wrong "wrong: line 2: 'RUN' is not a command" 'FROM greedy\nRUN x\n'
wrong "line 2: there is no parameter 'warmth'" 'FROM greedy\nPARAMETER warmth 1\n'
wrong "line 2: temperature: 'hot' is not a number from 0 to" 'FROM greedy\nPARAMETER temperature hot\n'
wrong "line 2: top_k: '1.5' is not a whole number" 'FROM greedy\nPARAMETER top_k 1.5\n'
wrong 'wrong is not valid UTF-8' 'FROM greedy\nSYSTEM \0377\n'
wrong 'ADAPTER: ./a.gguf: No such file' 'FROM greedy\nADAPTER ./a.gguf\n'
wrong 'ADAPTER occurs twice' 'FROM greedy\nADAPTER /a\nADAPTER /b\n'
wrong 'none.gguf: No such file' 'FROM ./none.gguf\n'
wrong "'other' is not in the catalogue" 'FROM other\n'
printf 'FROM greedy\n' >plain
refused 1 "'greedy' cannot be made from itself" create greedy -f plain
does add second greedy.gguf
refused 1 "'second' is already the name of a model" create second -f plain
refused 1 "'..'" create a..b -f plain
refused 1 'Modelfile' create x -f none/Modelfile

# every API meets its values: a conversation has as many tokens as with all of it in the request
printf 'FROM pirate\nTEMPLATE chatml\n' >plain
does create plain -f plain # the base of an alias is its model
chat() {
	curl -s -m 60 -d "{\"model\":\"$1\",\"stream\":false,\"messages\":[$2{\"role\":\"user\",\"content\":\"hi\"}]$3}" \
		"$u/api/chat" >"$dir/body"
	sed -n "s/.*\"$4\":\([0-9]*\).*/\1/p" "$dir/body"
}
all='{"role":"system","content":"You are a \"pirate\".\nBe brief."},
	{"role":"user","content":"Who are you?"},{"role":"assistant","content":"Arr, a pirate."},'
want=$(chat plain "$all" ',"options":{"num_predict":1}' prompt_eval_count)
have=$(chat pirate "" "" prompt_eval_count)
holds "tokens of the conversation: $have, not $want" [ -n "$want" ] && holds "$have, not $want" [ "$have" = "$want" ]
holds "the length of the preset" [ "$(chat pirate "" "" eval_count)" -le 3 ]
own='{"role":"system","content":"You are a \"pirate\".\nBe brief."},'
have=$(chat pirate "$own" "" prompt_eval_count)
holds "a system prompt of the request stays the first: $have, not $want" [ "$have" = "$want" ]
answer() {
	ctl generate "$@" -p 'the cat' --raw --ignore-eos 2>"$dir/err"
}
holds "the length: $(answer pirate)" [ "$(answer pirate | wc -m)" -le 4 ]
holds "a length of the request: $(answer pirate -n 9)" [ "$(answer pirate -n 9 | wc -m)" -gt 4 ]
fetch 200 '"content":' -d '{"model":"pirate","messages":[{"role":"user","content":"hi"}]}' "$u/v1/chat/completions"
holds "OpenAI: $(cat "$dir/body")" grep -q '"completion_tokens":[0-3][,}]' "$dir/body"
fetch 200 '"modelfile":"# a pirate' -d '{"model":"pirate"}' "$u/api/show"

# a stop sequence: the fourth character of the answer
text=$(answer greedy -n 9)
stop=$(printf '%s' "$text" | cut -c4)
case $stop in
'"' | '' | '\') skip "the fourth character is '$stop'" ;;
*)
	printf 'FROM greedy\nPARAMETER stop """%s"""\n' "$stop" >stop
	does create stops -f stop
	have=$(answer stops -n 9)
	holds "stopped before '$stop': '$have'" [ "$have" = "${text%%"$stop"*}" ]
	;;
esac

# the endpoint of Ollama: members or a whole Modelfile; for administrators
fetch 403 'requires the role admin' -d '{"model":"b","from":"greedy"}' "$u/api/create"
fetch 200 '^{"status":"success"}$' -d '{"model":"brief","from":"greedy","system":"Be brief.","template":"chatml",
	"parameters":{"temperature":0.5,"stop":["User:","end"]},"license":["MIT"],
	"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}' --unix-socket "$dir/http.sock" http://localhost/api/create
prints '^SYSTEM """Be brief."""$' show brief --modelfile
prints '^temperature 0.5$' show brief --parameters
fetch 200 '^{"status":"success"}' -d '{"name":"brief","modelfile":"FROM greedy\nSYSTEM Be long.","stream":false}' \
	--unix-socket "$dir/http.sock" http://localhost/api/create
prints '^Be long.$' show brief --system
fetch 400 'from: ' -d '{"model":"brief"}' --unix-socket "$dir/http.sock" http://localhost/api/create
fetch 400 'files: not supported' -d '{"model":"b","from":"greedy","files":{"a":"sha256:0"}}' --unix-socket "$dir/http.sock" http://localhost/api/create
fetch 400 "no parameter 'warmth'" -d '{"model":"b","from":"greedy","parameters":{"warmth":1}}' --unix-socket "$dir/http.sock" http://localhost/api/create
fetch 404 "none" -d '{"model":"b","from":"none"}' --unix-socket "$dir/http.sock" http://localhost/api/create
create() {
	fetch "$1" "$2" -d "$3" --unix-socket "$dir/http.sock" http://localhost/api/create
}
create 200 success '{"model":"free","from":"greedy","license":["MIT","","a \"b\""],"stream":false}'
prints '^LICENSE """MIT$' show free --modelfile
prints '^a "b""""$' show free --modelfile
create 200 success '{"model":"free","from":"greedy","license":[]}'
create 400 'system: .*string' '{"model":"free","from":"greedy","system":["a","b"]}'
create 400 'template: .*string' '{"model":"free","from":"greedy","template":[]}'
LC_ALL=C awk 'BEGIN {
	line = sprintf("%2000s", "x")
	printf "{\"model\":\"free\",\"from\":\"greedy\",\"messages\":["
	for (i = 0; i < 600; i++)
		printf "%s{\"role\":\"user\",\"content\":\"%s\"}", i ? "," : "", line
	print "]}"
}' >long
create 400 'the Modelfile has more than 1048576 bytes' @long
fetch 400 'three double quotes' -d '{"model":"b","from":"greedy","system":"a\"\"\"b"}' --unix-socket "$dir/http.sock" http://localhost/api/create

# the same values are read back: quotes at the end of a text, blanks around it, and long numbers
fetch 200 '' -d '{"model":"says","from":"greedy","system":"Say \"hi\"","stream":false}' \
	--unix-socket "$dir/http.sock" http://localhost/api/create
prints '^Say "hi"$' show says --system
does alias greedy quotes
does alias greedy blanks
does alias greedy three
again() {
	ctl show "$1" --modelfile >again && does create again -f again
	holds "$1: $(cat again)" [ "$(ctl show again --system; ctl show again --parameters)" = \
		"$(ctl show "$1" --system; ctl show "$1" --parameters)" ]
}
again quotes
again blanks
prints '^ two blanks  $' show blanks --system
prints '^top_k 2147483646$' show blanks --parameters
prints '^top_p 0.12345678901234568$' show blanks --parameters
refused 1 "prompt of 'three' contains three double quotes" show three --modelfile

# the values belong to the name, whatever FROM was called and wherever the name leads now
printf 'FROM a\nSYSTEM kept\n' >from_alias
printf 'FROM m\nSYSTEM kept\n' >from_model
does add m greedy.gguf
does alias m a
does create p -f from_alias
does rm a # another name of the model
prints '^kept$' show p --system
does rm m
refused 1 "'p'" show p
does alias greedy p
holds "no values after the model's removal: $(ctl show p --system)" [ -z "$(ctl show p --system)" ]
does rm p
does add m greedy.gguf
does create p -f from_model
does alias greedy p
does rm m # not the model of p any more
prints '^kept$' show p --system

# rows of the registry: they outlive the daemon, are part of a backup, and go with their alias
does registry backup kept.backup
does create older -f plain
stop
if python3 -c 'import sqlite3' 2>/dev/null; then # what an older or newer release may have accepted
	python3 - "$dir/state" <<'EOF'
import pathlib, sqlite3, sys
for file in pathlib.Path(sys.argv[1]).glob("*.db"):
    with sqlite3.connect(file) as db:
        db.execute("UPDATE kv SET value = CAST('FROM greedy\nRUN x' AS BLOB) WHERE key = 'older'")
EOF
	start_http
	holds "a row that cannot be read is logged: $(cat "$dir/log")" \
		grep -q "the Modelfile of 'older' is not used: line 2: 'RUN' is not a command" "$dir/log"
else
	start_http
fi
u=http://$http
prints '^  top_k 7$' show pirate
does rm pirate
does alias greedy pirate
does show pirate --parameters
holds "the values are gone: $(cat "$dir/out")" sh -c "! grep -q top_k '$dir/out'"
does registry restore kept.backup
prints '^  top_k 7$' show pirate
does rm greedy
refused 1 "pirate" show pirate
does add greedy greedy.gguf
does alias greedy brief
holds "the values went with the model: $(ctl show brief --system)" [ -z "$(ctl show brief --system)" ]
stop

# without a daemon: the user's own store has them, and a run applies them
STATE_DIRECTORY=$dir/own XDG_RUNTIME_DIR=$dir
export STATE_DIRECTORY XDG_RUNTIME_DIR
if [ ! -S /run/llamad/llamad.sock ]; then
	"$build/llamactl" create mine >"$dir/out" 2>"$dir/err" || bad "create: $(cat "$dir/err")"
	"$build/llamactl" show mine --modelfile >"$dir/out" 2>"$dir/err"
	holds "show: $(cat "$dir/out" "$dir/err")" grep -q '^FROM greedy$' "$dir/out"
	"$build/llamactl" show mine >"$dir/out" 2>"$dir/err"
	holds "show: $(cat "$dir/out" "$dir/err")" grep -q '^  name  *greedy$' "$dir/out"
	run_mine() {
		"$build/llamactl" run mine x --json --raw "$@" >"$dir/out" 2>"$dir/err" </dev/null ||
			bad "run: $(cat "$dir/err")"
	}
	run_mine
	holds "the Modelfile applies to a run: $(cat "$dir/out" "$dir/err")" grep -q '"n_out": 3' "$dir/out"
	run_mine -n 2
	holds "an option takes precedence: $(cat "$dir/out")" grep -q '"n_out": 2' "$dir/out"
	printf '[limits]\nnonsense = 1\n[model greedy]\ntemp = 0\nctx = 7\n' >"$dir/own.conf"
	"$build/llamactl" run greedy xxxxxxxxxxxxxxxx --raw --config "$dir/own.conf" >"$dir/out" 2>"$dir/err" </dev/null
	holds "a section of the configuration applies: $(cat "$dir/err")" \
		grep -q 'available context size of 7' "$dir/err"
	"$build/llamactl" run greedy xxxxxxxxxxxxxxxx --raw -n 1 -c 64 --config "$dir/own.conf" >"$dir/out" 2>"$dir/err" \
		</dev/null || bad "run: $(cat "$dir/err")"
	printf '[model greedy]\ntemp = hot\n' >"$dir/own.conf"
	"$build/llamactl" run greedy x --raw --config "$dir/own.conf" >"$dir/out" 2>"$dir/err" </dev/null
	holds "a wrong value: $(cat "$dir/err")" grep -q "own.conf:2: key 'temp': 'hot' is not a number" "$dir/err"
else
	skip "this machine has a daemon"
fi
finish create
